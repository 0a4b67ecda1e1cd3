"""The C++ module fits one version of torch: the one it was built with."""

import torch

BUILT_FOR = "2.13.0"


def check_torch() -> None:
    """ImportError where the installed torch is not the one this package was built for."""
    installed = torch.__version__.split("+")[0]
    if installed != BUILT_FOR:
        raise ImportError(
            f"dynaflow was built for torch {BUILT_FOR}, but torch {installed} is installed: "
            f"install torch=={BUILT_FOR}, or build dynaflow again with the torch you have "
            "(pip install --no-build-isolation --force-reinstall dynaflow)"
        )
