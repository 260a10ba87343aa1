"""Who acts: models behind an endpoint, and scripts.

agent      what the engine drives: one object an episode, an observation in, a decision out
settings   which model, which dialect, how much of the past it sees
policy     the client of the model's endpoint and its replicas
completion from a chat completion to a `Reply`
context    the prompt of a step: the task, lines for old rounds, the last rounds in full, the page now
wording    actions and page words as one safe line
dialects/  one file a model family: its prompt, its calls, its coordinates
model      the agent that asks a model
scripted   random, replay, and whatever drives a session by itself
"""
