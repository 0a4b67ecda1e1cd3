#!/usr/bin/env bash
# Installs the package with pip into a fresh venv that sees .venv's torch, and uses it from another
# folder, as a user would. Builds everything anew, so it is no stage of `make test`.
set -euo pipefail
cd "$(dirname "$0")/.."

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
.venv/bin/python -m venv "$place/venv"
python=$place/venv/bin/python
# Packages of .venv, after those of the fresh venv.
.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
  > "$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/outer.pth"

"$python" -m pip install --no-build-isolation --no-index .

cd "$place"
"$place/venv/bin/dynaflow" --help > help.txt
"$python" - <<'PYTHON'
import importlib.metadata
from pathlib import Path

import torch

import dynaflow
from dynaflow import _C, _built

package = Path(dynaflow.__file__).parent
assert "venv" in package.parts and package.parent.name == "site-packages", package
for name in ("_C.pyi", "py.typed", "_built.py"):
    assert (package / name).is_file(), name
assert importlib.metadata.version("dynaflow") == _built.VERSION
assert _C.torch_version == torch.__version__.split("+")[0]
backends = torch._dynamo.list_backends()
assert "dynaflow" in backends, backends

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)).eval()
x = torch.randn(6, 8)
with torch.no_grad():
    scheduled = torch.compile(model, backend="dynaflow")(x)
    torch.testing.assert_close(scheduled, model(x))
print(f"dynaflow {_built.VERSION} from {package}, torch {torch.__version__}, backends {backends}")
PYTHON
