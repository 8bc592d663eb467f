#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Large alignments under every launcher that is here: with random addresses and without, by programs that may be loaded anywhere
# and by ones that may not, with and without windows, and where there is little address space.
set -u
top=${abs_top_builddir:-.}
run=$top/boot/oshrun
align=$top/shmem/tests/align fixed=$top/shmem/tests/align_nopie
status=0
SHMEM_SYMMETRIC_SIZE=400M
export SHMEM_SYMMETRIC_SIZE
check() {
    echo "== $*"
    timeout -s KILL 300 "$@" || { echo "FAILED ($?): $*"; status=1; }
}
# whoever started us may have switched it off already: bit 0x40000 of the personality
case $(cat /proc/self/personality 2>/dev/null) in ???[4-7c-f]* | '') random= ;; *) random=--random ;; esac
# sanitizers take most of the address space for themselves, where other programs have their heap
libraries=$(ldd "$top/shmem/tests/.libs/align" 2>/dev/null)
case $libraries in *libasan* | *libtsan* | *libclang_rt*) sanitized=yes fixed=$align ;; *) sanitized= ;; esac
check "$align" $random
for n in 2 5; do
    check "$run" -n $n "$align" $random
done
check "$run" -n 3 "$fixed" $random
check "$run" -n 2 --aslr "$align" $random
check "$run" -n 3 --no-aslr "$align" --fixed
check "$run" -n 2 --no-aslr "$fixed" --fixed
SHMEM_DEBUG=1 check "$run" -n 2 "$align" $random
FI_PGAS_MAP=0 check "$run" -n 2 "$align" --no-window
FI_PGAS_MAP=0 FI_PGAS_CMA=0 check "$run" -n 2 "$align" --no-window
SHMEM_FAKE_HOSTS=2x2 check "$run" -n 3 "$align"

# by way of the loader, which puts the program at the upper end of the address space: the heap goes below it
loader=$(echo "$libraries" | sed -n 's|^[[:space:]]*\(/[^ ]*/ld-[^ ]*\).*|\1|p')
if [ -x "$loader" ] && [ -z "$sanitized" ]; then
    for how in --aslr --no-aslr; do
        LD_LIBRARY_PATH=$top/.libs check "$run" -n 3 $how "$loader" "$top/shmem/tests/.libs/align"
    done
fi
# little address space: the heap is near the static data
[ "$sanitized" ] || (ulimit -v 41943040 && check "$run" -n 2 "$align" && exit $status) || status=1

root=
[ "$(id -u)" -eq 0 ] && root=--allow-run-as-root
mpirun=$(command -v mpirun.openmpi || command -v mpirun)
if [ -n "$mpirun" ] && "$mpirun" $root --version 2>/dev/null | grep -qi 'open.\?mpi' &&
    "$run" --pmix env 2>/dev/null | grep -q '^PMIX_NAMESPACE=' && timeout -s KILL 120 "$mpirun" $root --oversubscribe -n 1 true; then
    check "$mpirun" $root --oversubscribe -n 3 "$align" $random
    check "$mpirun" $root --oversubscribe -n 2 "$fixed" $random
fi
hydra=$(command -v mpiexec.hydra)
if [ -n "$hydra" ] && timeout -s KILL 120 "$hydra" -n 1 true; then
    check "$hydra" -n 3 "$align" $random
    check "$hydra" -n 2 "$fixed" $random
fi
exit $status
