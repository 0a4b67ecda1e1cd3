"""The version of this package, and of the one torch that its C++ module fits."""

import torch

try:
    from dynaflow._built import TORCH_VERSION, VERSION
except ModuleNotFoundError as missing:
    raise ImportError(
        "dynaflow is not built here: `pip install --no-build-isolation .` installs it, "
        "`make python` builds it for PYTHONPATH=build/torch/python"
    ) from missing

__version__ = VERSION


def check_torch() -> None:
    """ImportError where the installed torch is not the one this package was built for."""
    installed = torch.__version__.split("+")[0]
    if installed != TORCH_VERSION:
        raise ImportError(
            f"dynaflow {VERSION} was built for torch {TORCH_VERSION}, but torch {installed} is "
            f"installed: install torch=={TORCH_VERSION}, or build dynaflow again with the torch "
            "you have (pip install --no-build-isolation --force-reinstall --no-deps .)"
        )
