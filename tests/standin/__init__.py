"""A stand-in for a language model behind HTTP, which can misbehave."""
