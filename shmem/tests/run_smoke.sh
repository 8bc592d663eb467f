#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The smoke program on 1 to 8 PEs, more than there may be cores, and without a launcher.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
run=$oshrun smoke=$top/shmem/tests/shmem_smoke
LIMIT=120
good "$smoke"
for n in 1 2 3 4 8; do
	good "$run" -n $n "$smoke"
done
# every call goes through the checks, which find nothing
export SHMEM_DEBUG=1
good "$run" -n 3 "$smoke"
good "$run" -n 2 "${smoke}_inline"
unset SHMEM_DEBUG
good "${smoke}_inline"
for n in 1 2 4; do
	good "$run" -n $n "${smoke}_inline"
done
# under oshrun, which watches the PEs, the library starts no thread
good "$top/shmem/tests/one_thread"
good "$run" -n 3 "$top/shmem/tests/one_thread"
# linked from the archives
good "${smoke}_static"
for n in 2 4; do
	good "$run" -n $n "${smoke}_static"
done
finish
