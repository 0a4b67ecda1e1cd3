"""The same versions everywhere: of this project, of torch, of what builds it."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PIN = re.compile(r"^([\w-]+)==([\w.]+)$")


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def requirements(name: str) -> list[str]:
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return [line for line in lines if line]


def test_the_version_is_the_one_of_cmake() -> None:
    source = pyproject()["tool"]["scikit-build"]["metadata"]["version"]
    assert pyproject()["project"]["dynamic"] == ["version"]
    found = re.search(source["regex"], (ROOT / source["input"]).read_text())
    assert found is not None
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["value"])


def test_torch_is_the_same_in_the_package_and_in_the_venv() -> None:
    assert pyproject()["project"]["dependencies"] == requirements("requirements-torch.txt")


def test_torch_is_no_build_requirement() -> None:
    assert not any("torch" in need for need in pyproject()["build-system"]["requires"])


def test_build_requirements_are_those_of_the_venv() -> None:
    assert set(pyproject()["build-system"]["requires"]) <= set(requirements("requirements-dev.txt"))


def test_every_requirement_is_pinned() -> None:
    files = ("requirements-torch.txt", "requirements-dev.txt")
    loose = [line for name in files for line in requirements(name) if not PIN.match(line)]
    assert loose == []
