"""Folder order is dependency order: who may include whom under src."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Direct permissions; what an allowed folder may include is allowed too.
MAY_INCLUDE: dict[str, set[str]] = {
    "dynaflow/base": set(),
    "dynaflow/graph": {"dynaflow/base"},
    "dynaflow/schedule": {"dynaflow/graph"},
    "dynaflow/strategies": {"dynaflow/schedule"},
    "dynaflow/plan": {"dynaflow/graph", "dynaflow/schedule"},
    "dynaflow/placement": {"dynaflow/graph", "dynaflow/plan"},
    "dynaflow/timeline": {"dynaflow/graph", "dynaflow/plan"},
    "dynaflow/explain": {"dynaflow/timeline"},
    "dynaflow/simulate": {"dynaflow/placement", "dynaflow/timeline"},
    "dynaflow/device": {"dynaflow/base"},
    "dynaflow/runtime": {"dynaflow/placement", "dynaflow/timeline", "dynaflow/device"},
    # The spine and the umbrella header see the whole core.
    "dynaflow": {
        "dynaflow/strategies",
        "dynaflow/simulate",
        "dynaflow/runtime",
        "dynaflow/explain",
    },
    "import/capture": {"dynaflow/graph"},
    "import/rows": {"import/capture"},
    "import/cut": {"import/rows"},
    "import/inplace": {"import/cut"},
    "torch/aten": {"dynaflow", "import/inplace"},
    "torch/collective": {"torch/aten"},
    "torch/model": {"torch/collective"},
    "torch/bindings": {"torch/model"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<((?:dynaflow|import)/[^>]+)>)')
FRAMEWORK = re.compile(r"^\s*#\s*include\s*<((?:torch|ATen|c10|pybind11)/[^>]+|Python\.h)>")


def allowed(folder: str) -> set[str]:
    """The folder itself and everything it may include, directly or not."""
    result = {folder}
    for direct in MAY_INCLUDE[folder]:
        result |= allowed(direct)
    return result


def folder_of(path: str) -> str:
    """The row of the table that a path below src belongs to."""
    parts = path.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def check_include(path: str, included: str) -> str | None:
    """Why `path` (relative to src) may not include `included`, or None if it may."""
    folder = folder_of(path)
    if folder not in MAY_INCLUDE:
        return f"is in no folder of the include table, which are: {', '.join(MAY_INCLUDE)}"
    if "/" not in included:
        return f'includes "{included}": write project includes from src, as "dynaflow/…"'
    if folder_of(included) in allowed(folder):
        return None
    choice = ", ".join(sorted(allowed(folder)))
    return f'includes "{included}", but {folder} may include only: {choice}'


def check_line(path: str, line: str) -> str | None:
    """Why this line of `path` breaks the order, or None if it does not."""
    if match := INCLUDE.match(line):
        return check_include(path, match[1] or match[2])
    if (match := FRAMEWORK.match(line)) and not path.startswith("torch/"):
        return f"includes <{match[1]}>, but only src/torch knows PyTorch and Python"
    return None


def violations(source: Path) -> list[str]:
    found = []
    for file in sorted([*source.rglob("*.h"), *source.rglob("*.cpp")]):
        path = file.relative_to(source).as_posix()
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            if complaint := check_line(path, line):
                found.append(f"src/{path}:{number} {complaint}")
    return found


def plant(source: Path, path: str, text: str) -> None:
    (source / path).parent.mkdir(parents=True, exist_ok=True)
    (source / path).write_text(text)


def test_every_folder_includes_only_what_it_may() -> None:
    assert all((ROOT / "src" / folder).is_dir() for folder in MAY_INCLUDE)
    assert violations(ROOT / "src") == []


def test_an_include_against_the_order_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "dynaflow/graph/op.h", '#pragma once\n#include "dynaflow/plan/plan.h"\n')
    assert violations(tmp_path) == [
        'src/dynaflow/graph/op.h:2 includes "dynaflow/plan/plan.h", '
        "but dynaflow/graph may include only: dynaflow/base, dynaflow/graph"
    ]


def test_an_include_in_angle_brackets_is_found(tmp_path: Path) -> None:
    text = "#include <vector>\n#include <dynaflow/graph/op.h>\n"
    plant(tmp_path, "dynaflow/device/cpu/cpu.cpp", text)
    assert len(violations(tmp_path)) == 1


def test_a_relative_include_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "dynaflow/runtime/run.cpp", '#include "run.h"\n')
    assert len(violations(tmp_path)) == 1


def test_a_folder_outside_the_table_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "dynaflow/shortcut/all.h", '#include "dynaflow/base/rule.h"\n')
    assert len(violations(tmp_path)) == 1


def test_a_core_that_knows_the_import_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "dynaflow/compile.cpp", '#include "import/cut/cut.h"\n')
    assert len(violations(tmp_path)) == 1


def test_rows_that_know_the_cut_are_found(tmp_path: Path) -> None:
    plant(tmp_path, "import/rows/rows.cpp", '#include "import/cut/views.h"\n')
    assert len(violations(tmp_path)) == 1


def test_pytorch_outside_its_folder_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "import/cut/cut.cpp", "#include <ATen/core/Tensor.h>\n")
    plant(tmp_path, "torch/aten/values.cpp", "#include <ATen/core/Tensor.h>\n")
    assert violations(tmp_path) == [
        "src/import/cut/cut.cpp:1 includes <ATen/core/Tensor.h>, "
        "but only src/torch knows PyTorch and Python"
    ]


def test_what_an_allowed_folder_may_include_is_allowed(tmp_path: Path) -> None:
    plant(tmp_path, "dynaflow/runtime/run.cpp", '#include "dynaflow/schedule/schedule.h"\n')
    plant(tmp_path, "dynaflow/compile.cpp", '#include "dynaflow/runtime/program.h"\n')
    plant(tmp_path, "torch/model/model.h", '#include "dynaflow/compile.h"\n')
    assert violations(tmp_path) == []
