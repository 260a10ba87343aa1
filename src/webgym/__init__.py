"""WebGym: a training environment for visual web agents."""

__version__ = "0.1.0"
