"""Matrix tiles (Intel's AMX), which a virtual machine may be promised and not given.

Some hypervisors tell their guests of them and do not let them be used. A product of matrices in bfloat16 then ends the
process by an illegal instruction, and to find out beforehand takes the same risk. So torch's kernels leave them alone in
processes of ours: they matter only where weights of 16 bits are computed on a processor. Whoever sets the variable is
heeded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MOST_OF_PROCESSOR: Final = "ONEDNN_MAX_CPU_ISA"


def without_tiles(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for a process that uses torch."""
    return {MOST_OF_PROCESSOR: "AVX512_CORE_FP16", **environment}
