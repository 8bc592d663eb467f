#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_pgas.sh: the Python package pgas on 1, 3 and 4 PEs, with numpy and without; wrong use; jobs that end early; its
# own launcher, another one, and the tools of oshrun. $PYTHON names another interpreter.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
. "$src/tests/foreign.sh"
. "$src/python/tests/python.sh"
src=$(cd "$src" && pwd)
tests=$src/python/tests
[ -n "$python" ] || skip "no Python 3.9 or newer with ctypes"
[ -z "$sanitized" ] || skip "Python is not built with sanitizers"
LIMIT=60
executable=$("$python" -c 'import sys; print(sys.executable)') # not a script of pyenv's
export PYTHONPATH="$src/python" PGAS_LIBSMA="$top/.libs/libsma.so" PYTHONDONTWRITEBYTECODE=1
[ -n "$numpy_python" ] || not_run "arrays of numpy: no Python with numpy"

for n in 4 1 3; do
	for program in arrays moves together wrong; do
		expect 0 'checks passed, without numpy$' "$oshrun" -n $n "$python" "$tests/$program.py" --no-numpy
		[ -z "$numpy_python" ] ||
			expect 0 'checks passed, with numpy$' "$oshrun" -n $n "$numpy_python" "$tests/$program.py"
	done
done
expect 0 'checks passed' env SHMEM_DEBUG=1 "$oshrun" -n 3 "$python" "$tests/moves.py" --no-numpy
expect 0 'checks passed' env SHMEM_DEBUG=1 "$oshrun" -n 3 "$python" "$tests/together.py" --no-numpy
expect 0 'checks passed' env SHMEM_FAKE_HOSTS=2x2 "$oshrun" -n 4 "$python" "$tests/together.py" --no-numpy
expect 0 'checks passed' "$python" "$tests/moves.py" --no-numpy
for program in moves together; do # two hosts, on the loopback interface
	expect 0 'checks passed' env FI_PGAS_NET=socket:lo "$oshrun" -n 4 sh -c \
		'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK / 2)) exec "$0" "$@"' "$python" "$tests/$program.py" --no-numpy
done

expect 0 '^ring: 4 PEs, 10 turns, the last message is 16$' "$oshrun" -n 4 "$python" "$src/examples/ring.py"
[ -z "$numpy_python" ] || expect 0 '^heat: 3 PEs agree with one' "$oshrun" -n 3 "$numpy_python" "$src/examples/heat.py"

# A script that fails ends the job, whatever the others wait for; one that ends well needs no finalize().
cat >"$work/ends.py" <<'TEXT'
import sys
import pgas
pgas.init()
word = pgas.zeros(1, "int64")
if pgas.my_pe() == 1:
    if sys.argv[1] == "raise":
        raise ValueError("on purpose")
    if sys.argv[1] == "exit":
        sys.exit(7)
    if sys.argv[1] == "global":
        pgas.global_exit(9)
elif sys.argv[1] != "well":
    word.wait_until("==", 1)
print("the end")
TEXT
expect 1 '^ValueError: on purpose$' "$oshrun" -n 3 "$python" "$work/ends.py" raise
expect 7 'PE 1' "$oshrun" -n 3 "$python" "$work/ends.py" exit
expect 9 '' "$oshrun" -n 3 "$python" "$work/ends.py" global
expect 0 '^the end$' "$oshrun" -n 3 "$python" "$work/ends.py" well

# the library: none, and another one
expect 1 'LibraryError: PGAS_LIBSMA=/nowhere/libsma.so: ' env PGAS_LIBSMA=/nowhere/libsma.so \
	"$python" -c 'import pgas; pgas.init()'
echo 'void shmem_info_get_name(char *name) { __builtin_strcpy(name, "Another"); }' >"$work/other.c"
if ${CC:-cc} -shared -fPIC "$work/other.c" -o "$work/libsma.so.0" 2>/dev/null; then
	expect 1 'is another OpenSHMEM' env PGAS_LIBSMA="$work/libsma.so.0" "$python" -c 'import pgas; pgas.init()'
	expect 0 '^0$' env -u PGAS_LIBSMA LD_LIBRARY_PATH="$work:$top/.libs" "$python" -c \
		'import pgas; pgas.init(); print(pgas.my_pe())'
else
	not_run "a libsma of others: no C compiler"
fi
expect 0 '^0$' env -u PGAS_LIBSMA LD_LIBRARY_PATH="$top/.libs" "$python" -c \
	'import pgas; pgas.init(); print(pgas.my_pe())'
expect 1 'name it by PGAS_LIBSMA=' env -u PGAS_LIBSMA PATH=/nowhere LD_LIBRARY_PATH= "$executable" -c \
	'import pgas; pgas.init()'

# arrays are in memory that Python can read
expect 1 'Error: symmetric memory is that of a device (emulated)' env SHMEM_DEFAULT_SPACE=GPU SHMEM_ENABLE_GPU_SPACE=1 \
	SHMEM_SYMMETRIC_PARTITION0=16M:KIND=emulated "$oshrun" -n 2 "$python" -c \
	'import pgas; pgas.init(); pgas.zeros(3)'

# python3 -m pgas
expect 0 'checks passed' "$python" -m pgas -n 3 --bind-to none "$tests/moves.py" --no-numpy
expect 0 '^\[1,1\]<stdout>:the end$' "$python" -m pgas -n 2 --tag-output "$work/ends.py" well
expect 7 '' "$python" -m pgas --timeout=60 -n 3 "$work/ends.py" exit
expect 0 '^usage: python3 -m pgas' "$python" -m pgas --help
expect 2 'no script' "$python" -m pgas -n 3
mkdir "$work/none"
printf '#!/bin/sh\necho "Open MPI"\n' >"$work/none/oshrun"
chmod +x "$work/none/oshrun"
expect 127 "oshrun was not found; $work/none/oshrun is another one" env -u PGAS_LIBSMA PATH="$work/none:/bin" \
	"$executable" -m pgas -n 2 "$work/ends.py" well
expect 0 'put  *' "$python" -m pgas -n 2 --stats "$tests/moves.py" --no-numpy
grep -q 'SHMEM statistics of .*: 2 PEs' "$work/out"
check "--stats sees the calls of a Python program"
cat >"$work/racy.py" <<'TEXT'
import pgas
pgas.init()
x = pgas.zeros(1, "int64")
if pgas.my_pe() == 0:
    x.p(5, 1)
else:
    x.at(1).g()
pgas.barrier_all()
TEXT
expect 66 '^  PE 0 writes: shmem_int64_p ' "$python" -m pgas -n 2 --check=race "$work/racy.py"

if open_mpi; then
	expect 0 'checks passed' $launch 2 "$python" "$tests/moves.py" --no-numpy
else
	not_run "mpirun: $why"
fi

# What it costs, as one line to read; the bound is only for a call that went wrong altogether.
cat >"$work/speed.py" <<'TEXT'
import time
import pgas
pgas.init()
there = pgas.zeros(1, "int64").at(pgas.n_pes() - 1)
best = 1e9
if pgas.my_pe() == 0:
    for _ in range(50):
        begin = time.perf_counter_ns()
        for i in range(1000):
            there.p(i)
        best = min(best, (time.perf_counter_ns() - begin) / 1000)
    print(f"p of 8 bytes: {best:.0f} ns")
    assert best < 20000, best
TEXT
expect 0 '^p of 8 bytes: ' "$oshrun" -n 2 "$python" "$work/speed.py"
note "$(grep '^p of' "$work/out")"

if command -v mypy >/dev/null; then
	(cd "$work" && MYPYPATH="$src/python" expect 0 '^Success' mypy --cache-dir="$work/mypy" -p pgas)
else
	not_run "types: no mypy"
fi
finish
