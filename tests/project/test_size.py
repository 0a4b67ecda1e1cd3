"""Files stay short, and their names say what is in them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["src", "tests", "examples", "bench", "fuzz", "python", "scripts", "tools"]
SUFFIXES = {".h", ".cpp", ".py", ".pyi"}
MOST_LINES = 500
SAYS_NOTHING = re.compile(r"(^|_)(util|helper|manager|common|impl|misc)s?(_|$)")


def sources() -> list[Path]:
    """Every source file of ours, relative to the root."""
    files = (file for folder in FOLDERS for file in (ROOT / folder).rglob("*"))
    return [file.relative_to(ROOT) for file in files if file.suffix in SUFFIXES]


def test_every_part_is_looked_at() -> None:
    parts = {"/".join(path.parts[:2]) for path in sources()}
    assert {"src/dynaflow", "src/import", "src/torch", "python/dynaflow"} <= parts


def says_nothing(path: Path) -> bool:
    """Whether the file or a folder above it has a name that fits anything."""
    return any(SAYS_NOTHING.search(part) for part in path.with_suffix("").parts)


def test_no_file_is_too_long_to_read() -> None:
    lengths = {str(path): len((ROOT / path).read_text().splitlines()) for path in sources()}
    assert {path: length for path, length in lengths.items() if length > MOST_LINES} == {}


def test_no_name_fits_anything() -> None:
    assert [str(path) for path in sources() if says_nothing(path)] == []


def test_names_that_fit_anything_are_recognised() -> None:
    assert says_nothing(Path("src/dynaflow/graph/graph_utils.h"))
    assert says_nothing(Path("src/dynaflow/common/ids.h"))
    assert not says_nothing(Path("src/dynaflow/simulate/simulate.h"))
