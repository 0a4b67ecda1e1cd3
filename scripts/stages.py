#!/usr/bin/env python3
"""Runs make targets one after the other and says where the time went: stages.py TARGET...

All stages run even when one fails, except that test-X is skipped when its build failed. A stage
test-X leaves its reports in build/X/results, and their tests are counted. The exit status is 1
if any stage failed. build/test-summary.txt holds the line "N passed, N failed".
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

BUILD = Path(__file__).resolve().parent.parent / "build"
SUMMARY = BUILD / "test-summary.txt"
# What a test needs that is not the build of the same name.
NEEDS = {"test-project": "build-dev", "test-python": "build-torch"}


@dataclass
class Tests:
    """How many tests passed and failed."""

    passed: int = 0
    failed: int = 0

    def __add__(self, other: "Tests") -> "Tests":
        return Tests(self.passed + other.passed, self.failed + other.failed)


@dataclass
class Stage:
    """One stage that ran, or was skipped."""

    name: str
    outcome: str
    seconds: float
    tests: Tests


def cases(report: Path) -> list[tuple[str, bool]]:
    """Name and success of every test that ran in a JUnit report."""
    found = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        left_out = case.get("status") in {"notrun", "disabled"} or case.find("skipped") is not None
        if not left_out:
            failed = case.find("failure") is not None or case.find("error") is not None
            found.append((case.get("name", ""), not failed))
    return found


def tally(results: list[tuple[str, bool]]) -> Tests:
    passed = sum(success for _, success in results)
    return Tests(passed, len(results) - passed)


def count_tests(results: Path) -> Tests:
    """Sums the reports of one stage; for a gtest program its cases count, not the program."""
    total = Tests()
    if (results / "pytest.xml").exists():
        total += tally(cases(results / "pytest.xml"))
    if (results / "ctest.xml").exists():
        for name, success in cases(results / "ctest.xml"):
            report = results / f"gtest-{name}.xml"
            tests = tally(cases(report)) if report.exists() else Tests(passed=int(success))
            # A crash or a sanitizer's finding fails the program without failing a case.
            if not success and tests.failed == 0:
                tests.failed = 1
            total += tests
    return total


def run(name: str) -> Stage:
    print(f"== {name} …", flush=True)
    # The stage is a make of its own: it must not take part in our caller's job server.
    environment = {key: value for key, value in os.environ.items() if key != "MAKEFLAGS"}
    start = time.monotonic()
    status = subprocess.run(["make", "--no-print-directory", name], env=environment).returncode
    seconds = time.monotonic() - start
    kind, _, subject = name.partition("-")
    tests = count_tests(BUILD / subject / "results") if kind == "test" else Tests()
    if status != 0 and tests.failed == 0:
        tests.failed = 1
    outcome = "ok" if status == 0 else "FAILED"
    print(f"== {name} {outcome} {seconds:.1f} s", flush=True)
    return Stage(name, outcome, seconds, tests)


def run_all(names: list[str]) -> list[Stage]:
    stages: list[Stage] = []
    for name in names:
        broken = {stage.name for stage in stages if stage.outcome == "FAILED"}
        if NEEDS.get(name, name.replace("test-", "build-", 1)) in broken:
            stages.append(Stage(name, "skipped", 0.0, Tests()))
        else:
            stages.append(run(name))
    return stages


def table(stages: list[Stage]) -> str:
    total = sum((stage.tests for stage in stages), Tests())
    seconds = sum(stage.seconds for stage in stages)
    rows = [*stages, Stage("total", "", seconds, total)]
    lines = [f"{'stage':<18} {'':<8} {'seconds':>8} {'passed':>7} {'failed':>7}"]
    lines += [
        f"{row.name:<18} {row.outcome:<8} {row.seconds:>8.1f}"
        f" {row.tests.passed:>7} {row.tests.failed:>7}"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> int:
    BUILD.mkdir(exist_ok=True)
    SUMMARY.unlink(missing_ok=True)
    stages = run_all(sys.argv[1:])
    total = sum((stage.tests for stage in stages), Tests())
    SUMMARY.write_text(f"{total.passed} passed, {total.failed} failed\n")
    print(table(stages), flush=True)
    return 1 if any(stage.outcome != "ok" for stage in stages) else 0


if __name__ == "__main__":
    sys.exit(main())
