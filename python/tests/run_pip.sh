#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_pip.sh: pip installs the package from the source tree, without a network and without writing there, into an
# environment of its own, in which programs then run.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
. "$src/python/tests/python.sh"
src=$(cd "$src" && pwd)
[ -n "$python" ] || skip "no Python 3.9 or newer with ctypes"
[ -z "$sanitized" ] || skip "Python is not built with sanitizers"
LIMIT=120
unset PYTHONPATH PGAS_LIBSMA
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1 PIP_NO_CACHE_DIR=1 HOME="$work"
version=$(setting PACKAGE_VERSION)

# the wheel itself needs no pip
cat >"$work/wheel.py" <<'TEXT'
import os, sys, zipfile
source, folder = sys.argv[1:]
sys.path.insert(0, source)
os.chdir(source)
import pgas_wheel
name = pgas_wheel.build_wheel(folder)
with zipfile.ZipFile(os.path.join(folder, name)) as wheel:
    assert wheel.testzip() is None
    inside = set(wheel.namelist())
for file in os.listdir("pgas"):
    assert file == "__pycache__" or file == "_place.py" or f"pgas/{file}" in inside, file
print(name)
TEXT
expect 0 "^pgas-$version-py3-none-any.whl\$" "$python" "$work/wheel.py" "$src/python" "$work"

bounded "$python" -m venv "$work/env" >"$work/out" 2>&1 || {
	not_run "pip: no Python with venv and pip"
	finish
}
own=$work/env/bin/python3
listing() { (cd "$src/python" && find . ! -path '*/__pycache__*' | sort); }
listing >"$work/before"
good "$own" -m pip install "$src/python"
listing | diff "$work/before" - >"$work/out"
check "pip writes nothing into the source tree"
cd "$work" || exit 99
export LD_LIBRARY_PATH="$top/.libs"
expect 0 'checks passed' "$oshrun" -n 3 "$own" "$src/python/tests/moves.py" --no-numpy
PATH="$top/launch:$PATH" expect 0 'checks passed' "$own" -m pgas -n 2 "$src/python/tests/together.py" --no-numpy
expect 0 "^Version: $version\$" "$own" -m pip show pgas
good "$own" -m pip uninstall -y pgas
expect 1 'No module named .pgas' "$own" -c 'import pgas'
good "$own" -m pip install -e "$src/python"
expect 0 "^$version\$" "$own" -c 'import pgas; print(pgas.__version__)'
finish
