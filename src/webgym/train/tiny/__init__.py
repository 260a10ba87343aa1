"""A Qwen3-VL of about a million parameters: the same architecture, processor, chat template and code path as the 8 B.

tokenizer  byte-level BPE learned from given texts, with Qwen's special tokens
model      configuration, weights, processor, all written as one ordinary checkpoint folder
warmup     training on demonstrations

It exists so that everything that serves or trains a model can be run for real on a CPU, in tests and in the proof.
"""

from webgym.train.tiny.model import TinySize, make_tiny
from webgym.train.tiny.warmup import warm_up

__all__ = ["TinySize", "make_tiny", "warm_up"]
