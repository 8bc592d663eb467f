#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_python.sh: OpenSHMEM from Python. binding.py loads libsma by ctypes and does what a binding does; if shmem4py can
# be imported, it runs on this library too (NOTES in shmem(7) describe how to build it); with SHMEM4PY_TESTS=FOLDER its
# own tests run as well, from the folder test of its sources.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
python_has ctypes || skip "no Python with ctypes"
python=$(command -v python3)
[ -z "$sanitized" ] || skip "Python is not built with sanitizers"
LIMIT=60
for n in 4 1 3; do
	expect 0 'checks passed$' "$oshrun" -n $n "$python" "$src/shmem/tests/binding.py" "$top/.libs/libsma.so"
done
cat >"$work/smoke.py" <<'TEXT'
import numpy
from shmem4py import shmem
me, n = shmem.my_pe(), shmem.n_pes()
box = shmem.zeros(10, dtype="i")
shmem.barrier_all()
shmem.put(box, numpy.full(10, me, dtype="i"), (me + 1) % n)
shmem.barrier_all()
assert list(box) == [(me - 1) % n] * 10
total = shmem.zeros(1, dtype="l")
shmem.atomic_add(total, me + 1, 0)
shmem.barrier_all()
if me == 0:
    assert total[0] == n * (n + 1) // 2
    print("shmem4py works")
TEXT
if "$python" -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("shmem4py"))' 2>/dev/null; then
	export LD_LIBRARY_PATH="$top/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
	expect 0 '^shmem4py works$' "$oshrun" -n 3 "$python" "$work/smoke.py"
	if [ -n "${SHMEM4PY_TESTS:-}" ]; then
		LIMIT=600
		for n in 1 2 4; do
			expect 0 '^OK' "$oshrun" -n $n "$python" -m unittest discover -s "$SHMEM4PY_TESTS"
		done
	else
		not_run "shmem4py's own tests: SHMEM4PY_TESTS does not name their folder"
	fi
else
	not_run "shmem4py: it is not installed"
fi
finish
