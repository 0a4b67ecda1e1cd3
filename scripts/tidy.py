#!/usr/bin/env python3
"""Runs clang-tidy over src/**/*.cpp, in parallel, and only where something changed.

A file that came out clean leaves a stamp in build/tidy, named by a hash of all that decides the
outcome: the tool, its settings, the compile command, the file and the project headers it includes.
"""

import functools
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
# The preset that builds a part of src; the first that fits.
DATABASES = {SOURCE / "torch": ROOT / "build/torch", SOURCE: ROOT / "build/dev"}
STAMPS = ROOT / "build/tidy"
TOOL = ROOT / ".venv/bin/clang-tidy"  # newer than Debian's, and three times as fast
CLANG_IGNORES = ["unknown-warning-option", "deprecated-declarations"]
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def with_headers(file: Path) -> list[Path]:
    """The file and every header under src that it includes, directly or not."""
    found: set[Path] = set()
    open_files = [file]
    while open_files:
        current = open_files.pop()
        if current in found or not current.exists():
            continue
        found.add(current)
        open_files += [SOURCE / name for name in INCLUDE.findall(current.read_text())]
    return sorted(found)


def database(file: Path) -> Path:
    """The build folder whose preset compiles this file."""
    return next(build for part, build in DATABASES.items() if file.is_relative_to(part))


def compile_commands() -> dict[Path, str]:
    """How each file is compiled, by the preset that is responsible for it."""
    commands = {}
    for build in DATABASES.values():
        for entry in json.loads((build / "compile_commands.json").read_text()):
            file = Path(entry["file"])
            if file.is_relative_to(SOURCE) and database(file) == build:
                commands[file] = str(entry["command"])
    return commands


def stamp(file: Path, command: str, version: str) -> Path:
    settings = [ROOT / ".clang-tidy", Path(__file__)]
    parts = [version, command, *(setting.read_text() for setting in settings)]
    parts += [f"{part}\n{part.read_text()}" for part in with_headers(file)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return STAMPS / f"{file.stem}-{digest[:32]}"


@functools.cache
def gcc_headers() -> str:
    """Where g++ keeps headers of its own."""
    command = ["g++", "-print-file-name=include"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def lint(file: Path) -> str:
    """What clang-tidy has to say about the file; empty when it is clean."""
    command = [str(TOOL), "--quiet", "-p", str(database(file)), str(file)]
    # The database is g++'s: cmake/warnings.cmake says what clang must not warn about.
    command += [f"--extra-arg=-Wno-{name}" for name in CLANG_IGNORES]
    command += [f"--extra-arg=-idirafter{gcc_headers()}"]  # omp.h
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode == 0:
        return ""
    return done.stdout.strip() or done.stderr.strip() or f"clang-tidy failed on {file}"


def main() -> int:
    asked = subprocess.run([str(TOOL), "--version"], capture_output=True, text=True, check=True)
    version = asked.stdout
    commands = compile_commands()
    files = sorted(SOURCE.rglob("*.cpp"))
    if unknown := [str(file) for file in files if file not in commands]:
        print("error: neither the dev nor the torch preset builds", *unknown)
        return 1
    stamps = {file: stamp(file, commands[file], version) for file in files}
    changed = [file for file, mark in stamps.items() if not mark.exists()]
    print(f"clang-tidy: {len(changed)} of {len(stamps)} files", flush=True)

    STAMPS.mkdir(parents=True, exist_ok=True)
    findings = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, finding in zip(changed, pool.map(lint, changed), strict=True):
            if finding:
                findings += 1
                print(finding, flush=True)
            else:
                stamps[file].touch()
    for old in set(STAMPS.iterdir()) - set(stamps.values()):
        old.unlink()
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
