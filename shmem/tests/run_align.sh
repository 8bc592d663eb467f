#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Large alignments under every launcher that is installed: with random addresses and without, in programs that may be
# loaded anywhere and in ones that may not, with and without windows, and with little address space.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
. "$(dirname "$0")/../../tests/foreign.sh"
run=$oshrun
align=$top/shmem/tests/align fixed=$top/shmem/tests/align_nopie
SHMEM_SYMMETRIC_SIZE=400M
export SHMEM_SYMMETRIC_SIZE
# the caller may have switched randomization off already: bit 0x40000 of the personality
case $(cat /proc/self/personality 2>/dev/null) in ???[4-7c-f]* | '') random= ;; *) random=--random ;; esac
[ -n "$random" ] || not_run "random addresses: they are switched off here"
# sanitizers reserve most of the address space, also where other programs have their heap
libraries=$(ldd "$top/shmem/tests/.libs/align" 2>/dev/null)
case $libraries in *libasan* | *libtsan* | *libclang_rt*) sanitized=yes ;; esac
[ -z "$sanitized" ] || fixed=$align
good "$align" $random
for n in 2 5; do
	good "$run" -n $n "$align" $random
done
good "$run" -n 3 "$fixed" $random
good "$run" -n 2 --aslr "$align" $random
good "$run" -n 3 --no-aslr "$align" --fixed
good "$run" -n 2 --no-aslr "$fixed" --fixed
SHMEM_DEBUG=1 good "$run" -n 2 "$align" $random
FI_PGAS_MAP=0 good "$run" -n 2 "$align" --no-window
FI_PGAS_MAP=0 FI_PGAS_CMA=0 good "$run" -n 2 "$align" --no-window
SHMEM_FAKE_HOSTS=2x2 good "$run" -n 3 "$align"

# through the loader, which puts the program at the upper end of the address space: the heap goes below it
loader=$(echo "$libraries" | sed -n 's|^[[:space:]]*\(/[^ ]*/ld-[^ ]*\).*|\1|p')
if [ -x "$loader" ] && [ -z "$sanitized" ]; then
	for how in --aslr --no-aslr; do
		LD_LIBRARY_PATH=$top/.libs good "$run" -n 3 $how "$loader" "$top/shmem/tests/.libs/align"
	done
elif [ -n "$sanitized" ]; then
	not_run "by way of the loader: a build with sanitizers"
else
	not_run "by way of the loader: none found"
fi
# little address space: the heap is near the static data
if [ -z "$sanitized" ]; then
	(ulimit -v 41943040 && bounded "$run" -n 2 "$align") >"$work/out" 2>&1 </dev/null
	check "40 GiB of address space"
	(ulimit -v 400000 && SHMEM_SYMMETRIC_SIZE=16M bounded "$run" -n 2 "$align") >"$work/out" 2>&1 </dev/null
	[ $? -eq 1 ] && grep -q 'it takes 4112 MiB, of which 4096 MiB are the library.s' "$work/out" &&
		grep -q '; this process may have 390 MiB (ulimit -v)' "$work/out"
	check "too little: the message says what takes how much"
else
	not_run "little address space: a build with sanitizers"
fi

for launcher in open_mpi hydra; do
	if $launcher; then
		good $launch 3 "$align" $random
		good $launch 2 "$fixed" $random
	else
		not_run "$launcher: $why"
	fi
done
finish
