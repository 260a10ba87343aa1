"""Lets torchvision and torchaudio load beside a build of torch that their binary parts do not fit.

The released torchvision is built for CUDA. Beside a CPU build of torch its library does not load, and its import dies of a
missing operator, although an image processor needs nothing but its Python. `activate` hooks the import: where the library
loads, nothing happens; where it does not, the two operators are declared without a body and images are decoded by Pillow.
torchaudio likewise is told that it has no extension instead of dying of it.

This file imports only the standard library, for it is also copied as it is into other environments: `install_shim` puts it
beside a `.pth` line that activates it in every process there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

_NAME = "webgym_torch_shim"
_BOXES = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def activate() -> None:
    """Hook the imports of this process. Call it before anything imports transformers; twice is once."""
    if not any(type(finder).__name__ == _Finder.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def install_shim(site_packages: Path) -> Path:
    """Activate the shim in every process of an environment; returns the `.pth` file."""
    (site_packages / f"{_NAME}.py").write_text(Path(__file__).read_text("utf-8"), "utf-8")
    line = site_packages / f"{_NAME}.pth"
    line.write_text(f"import {_NAME}; {_NAME}.activate()\n", "utf-8")
    return line


class _Finder(MetaPathFinder):
    """Wraps the loaders of the modules that need help; everything else is none of its business."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in _HELP:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Helped(spec.loader, *_HELP[name])
        return spec


class _Helped(Loader):
    def __init__(self, loader: Loader, before: Callable[[ModuleType], None], after: Callable[[ModuleType], None]) -> None:
        self._loader, self._before, self._after = loader, before, after

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._before(module)
        self._loader.exec_module(module)
        self._after(module)

    def __getattr__(self, name: str) -> Any:  # resources and sources are the real loader's
        return getattr(self._loader, name)


def _declare_operators(torchvision: ModuleType) -> None:
    import torch

    library = next(Path(str(torchvision.__file__)).parent.glob("_C*.so"), None)
    try:
        if library is not None:
            torch.ops.load_library(library)
            return
    except OSError:
        pass
    if not hasattr(torch.ops.torchvision, "nms"):
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", _BOXES)


def _decode_with_pillow(image: ModuleType) -> None:
    import torch

    if hasattr(torch.ops.image, "decode_image"):
        return

    def decode_image(given: Any, mode: Any = None, apply_exif_orientation: bool = False) -> Any:
        import io

        import numpy
        from PIL import Image, ImageOps

        source = given if isinstance(given, str) else io.BytesIO(given.numpy().tobytes())
        with Image.open(source) as opened:
            turned = ImageOps.exif_transpose(opened) if apply_exif_orientation else opened
            wanted = {"RGB": "RGB", "GRAY": "L", "RGB_ALPHA": "RGBA", "GRAY_ALPHA": "LA"}
            pixels = numpy.array(turned.convert(wanted.get(getattr(mode, "name", ""), "RGB")))
        return torch.from_numpy(pixels.reshape(*pixels.shape[:2], -1)).permute(2, 0, 1).contiguous()

    image.decode_image = decode_image  # type: ignore[attr-defined]


def _forgive_extension(utils: ModuleType) -> None:
    load = utils._load_lib

    def load_if_it_fits(library: str) -> bool:
        try:
            return bool(load(library))
        except OSError:
            return False

    utils._load_lib = load_if_it_fits  # type: ignore[attr-defined]


def _nothing(_: ModuleType) -> None:
    return


_HELP: dict[str, tuple[Callable[[ModuleType], None], Callable[[ModuleType], None]]] = {
    "torchvision": (_declare_operators, _nothing),
    "torchvision.io.image": (_nothing, _decode_with_pillow),
    "torchaudio._extension.utils": (_nothing, _forgive_extension),
}
