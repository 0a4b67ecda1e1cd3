"""The package knows which torch it was built for, and loads with no other."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch

import dynaflow
from dynaflow import _C, _built, _version

ROOT = Path(__file__).resolve().parents[2]

# Another torch, as its version says; _C must not be touched.
IMPORT_UNDER_ANOTHER_TORCH = """
import sys, torch
torch.__version__ = "2.12.1+cpu"
try:
    import dynaflow
except ImportError as error:
    print(error)
    sys.exit("_C was loaded" if "dynaflow._C" in sys.modules else 0)
sys.exit("dynaflow was loaded")
"""


def test_what_was_built_is_what_the_compiler_saw() -> None:
    assert _C.torch_version == _built.TORCH_VERSION


def test_the_torch_that_pip_installs_is_the_one_built_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == [f"torch=={_built.TORCH_VERSION}"]


def test_another_torch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.14.0+cu130")
    with pytest.raises(ImportError, match=r"built for torch 2\.13\.0, but torch 2\.14\.0 is"):
        _version.check_torch()


def test_another_build_of_the_same_torch_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", f"{_built.TORCH_VERSION}+another")
    _version.check_torch()


def test_another_torch_is_refused_before_the_module_is_loaded() -> None:
    package = Path(dynaflow.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_UNDER_ANOTHER_TORCH],
        env={"PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "install torch==2.13.0" in done.stdout
