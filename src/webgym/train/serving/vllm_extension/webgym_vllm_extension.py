"""What we add to vLLM's worker (`--worker-extension-cls`), so that a live swap of weights is a whole one.

This file is found by vLLM's own environment, which has no WebGym: it imports nothing.

vLLM 0.32 packs the weights of linear layers for the CPU when it loads them. Its reload packs again whatever a checkpoint
holds, but a head that shares its weights with the embedding is in no checkpoint, and goes on answering with the old weights,
packed before: hidden states of the new model, words of the old one. So the head is packed again here.
"""

from __future__ import annotations

from typing import Any


class WeightSwap:
    """Mixed into the worker: `model_runner` is the worker's."""

    model_runner: Any

    def refresh_head(self) -> int:
        """Pack the heads' weights again, where they were packed; returns how many there are."""
        heads = [layer for layer in self.model_runner.get_model().modules() if type(layer).__name__ == "ParallelLMHead"]
        packed = [head for head in heads if hasattr(head, "cpu_linear")]
        for head in packed:
            head.quant_method.process_weights_after_loading(head)
        return len(packed)
