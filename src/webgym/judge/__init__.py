"""Turns an episode and its rubric into a verdict."""
