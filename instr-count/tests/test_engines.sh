#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_engines.sh: engines against hand counts and against each other, and against difficult programs.
. "${srcdir:-.}/instr-count/tests/common.sh"

# Each hand-counted function, to the instruction, on every call.
expect 0 " 0 failed" "$IC" check 'hand*'
cat "$work/out"
if command -v valgrind >/dev/null 2>&1; then
	expect 0 " 0 failed" "$IC" check --agree --calls 5 'hand*'
	cat "$work/out"
else
	not_run "the other engine: no valgrind"
fi

# work() is the same however the program behaves around it.
plain=$(median --entry work -- "$PROG")
[ -n "$plain" ]
check "work() is counted"
for how in alarm fork thread; do
	got=$(median --entry work -- "$PROG" $how)
	[ "$got" = "$plain" ]
	check "work() counts $got under $how, $plain otherwise"
done
# What a child calls is not taken for the program's own calls, and that there was a child is said.
for engine in step valgrind callgrind; do
	by "$IC" count --engine $engine --calls 100 --entry work -- "$PROG" fork
	[ $rc -ne 6 ] || { not_run "fork under $engine: $(cat "$work/out")"; continue; }
	grep -q "engine $engine, 27 calls" "$work/out" && grep -q 'note: .*(fork): calls in those are not' "$work/out"
	check "$engine counts the 30 calls of the program, not those of its child, and says so"
done
expect 0 "work to return" "$IC" count --entry work -- sh -c "true & exec $PROG"
! grep -q 'fork' "$work/out"
check "what a script did before it became the program is no matter"
got=$(median --entry work -- sh -c "exec $PROG")
[ "$got" = "$plain" ]
check "work() counts $got behind exec, $plain otherwise"
expect 0 "min $plain, median $plain, max $plain" "$IC" count --entry work --calls 1000 -- "$PROG" alarm
expect 0 "only 1 calls were made" "$IC" count --entry work -- "$PROG" once
expect 0 "libm.so.6!cbrt" "$IC" count --entry cbrt -- "$PROG" dlopen
expect 0 "misbehave!faults" "$IC" count --entry faults -- "$PROG" fault

# A rank that is not chosen just becomes the program.
expect 0 "^$" sh -c "PMIX_RANK=1 '$IC' count --pe 0 --entry work -- '$PROG' && echo"
expect 0 "work to return" env PMIX_RANK=1 "$IC" count --pe 1 --entry work -- "$PROG"

# Under our launcher, on a chosen PE of a real job.
if [ -x ./launch/oshrun ] && [ -x ./instr-count/drivers/shmem_int_p ]; then
	expect 0 "shmem_int_p to return, engine step, 20 calls" ./launch/oshrun -n 2 -- \
		"$IC" count --pe 0 --entry shmem_int_p -- ./instr-count/drivers/shmem_int_p
	# without PMIx, too; the drivers need their rank for the hosts that they play
	expect 0 "shmem_int_p to return, engine step, 20 calls" ./launch/oshrun --no-pmix -n 3 -- \
		"$IC" count --pe 0 --entry shmem_int_p -- ./instr-count/drivers/shmem_int_p linked
	expect 0 "shmem_barrier_all to return" ./launch/oshrun -n 3 -- "$IC" count --pe 2 --entry shmem_barrier_all -- \
		./instr-count/drivers/shmem_int_p
else
	not_run "under oshrun: it or the driver shmem_int_p is not built"
fi

finish
