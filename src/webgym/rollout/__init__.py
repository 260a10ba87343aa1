"""Rollouts: agents act in leased browsers, and what happened becomes episodes."""
