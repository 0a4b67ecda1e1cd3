"""Folder order is dependency order: who may include whom under src/dynaflow."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Direct permissions; what an allowed folder may include is allowed too.
MAY_INCLUDE: dict[str, set[str]] = {
    "base": set(),
    "graph": {"base"},
    "schedule": {"graph"},
    "strategies": {"schedule"},
    "plan": {"graph", "schedule"},
    "placement": {"graph", "plan"},
    "timeline": {"graph", "plan"},
    "simulate": {"graph", "plan", "placement", "timeline"},
    "device": {"base"},
    "runtime": {"plan", "placement", "timeline", "device"},
}
# The spine and the umbrella header see everything.
SPINE = {"compile.h", "compile.cpp", "dynaflow.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(dynaflow/[^>]+)>)')


def allowed(folder: str) -> set[str]:
    """The folder itself and everything it may include, directly or not."""
    result = {folder}
    for direct in MAY_INCLUDE[folder]:
        result |= allowed(direct)
    return result


def check_include(path: str, included: str) -> str | None:
    """Why `path` (relative to src/dynaflow) may not include `included`, or None if it may."""
    folder = path.split("/")[0]
    if folder in SPINE:
        return None
    if folder not in MAY_INCLUDE:
        return f"is in no folder of the include table, which are: {', '.join(MAY_INCLUDE)}"
    if not included.startswith("dynaflow/"):
        return f'includes "{included}": write project includes from src, as "dynaflow/…"'
    if included.split("/")[1] in allowed(folder):
        return None
    choice = ", ".join(sorted(allowed(folder)))
    return f'includes "{included}", but {folder} may include only: {choice}'


def violations(source: Path) -> list[str]:
    found = []
    for file in sorted([*source.rglob("*.h"), *source.rglob("*.cpp")]):
        path = file.relative_to(source).as_posix()
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            match = INCLUDE.match(line)
            complaint = check_include(path, match[1] or match[2]) if match else None
            if complaint:
                found.append(f"src/dynaflow/{path}:{number} {complaint}")
    return found


def plant(source: Path, path: str, text: str) -> None:
    (source / path).parent.mkdir(parents=True, exist_ok=True)
    (source / path).write_text(text)


def test_every_folder_includes_only_what_it_may() -> None:
    assert (ROOT / "src/dynaflow/base").is_dir()
    assert violations(ROOT / "src/dynaflow") == []


def test_an_include_against_the_order_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "graph/op.h", '#pragma once\n#include "dynaflow/plan/plan.h"\n')
    assert violations(tmp_path) == [
        'src/dynaflow/graph/op.h:2 includes "dynaflow/plan/plan.h", '
        "but graph may include only: base, graph"
    ]


def test_an_include_in_angle_brackets_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "device/cpu/cpu.cpp", "#include <vector>\n#include <dynaflow/graph/op.h>\n")
    assert len(violations(tmp_path)) == 1


def test_a_relative_include_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "runtime/run.cpp", '#include "run.h"\n')
    assert len(violations(tmp_path)) == 1


def test_a_folder_outside_the_table_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "shortcut/all.h", '#include "dynaflow/base/rule.h"\n')
    assert len(violations(tmp_path)) == 1


def test_what_an_allowed_folder_may_include_is_allowed(tmp_path: Path) -> None:
    plant(tmp_path, "runtime/run.cpp", '#include "dynaflow/schedule/schedule.h"\n')
    plant(tmp_path, "compile.cpp", '#include "dynaflow/runtime/program.h"\n')
    assert violations(tmp_path) == []
