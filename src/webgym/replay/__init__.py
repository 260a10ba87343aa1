"""From stored episodes and verdicts to samples to learn from: a pure function of what is on disk, settings and a seed."""
