# SPDX-License-Identifier: BSD-3-Clause
# python.sh: sourced by tests of the Python package after harness.sh. Sets $python, an interpreter that the package runs
# on, and $numpy_python, one that has numpy too; empty where there is none. The first python3 of PATH may be one of the
# user's own, without numpy, while the system's has it.

python= numpy_python=
for _candidate in ${PYTHON:-} python3 /usr/bin/python3; do
	"$_candidate" -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 9))' >/dev/null 2>&1 || continue
	[ -n "$python" ] || python=$_candidate
	! "$_candidate" -c 'import numpy' >/dev/null 2>&1 || { numpy_python=$_candidate; break; }
done
