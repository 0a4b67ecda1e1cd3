"""Prints "version;folder" of the installed torch for cmake/torch.cmake, without importing it."""

import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

found = find_spec("torch")
if found is None or found.origin is None:
    sys.exit("torch is not installed")
print(version("torch").split("+")[0], Path(found.origin).parent, sep=";")
