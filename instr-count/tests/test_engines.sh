#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_engines.sh: compares engines with hand counts and with each other, and tries difficult programs.
. "${srcdir:-.}/instr-count/tests/common.sh"

# Each hand-counted function matches to the instruction, on every call.
expect 0 " 0 failed" "$IC" check 'hand*'
cat "$work/out"
if command -v valgrind >/dev/null 2>&1; then
	expect 0 " 0 failed" "$IC" check --agree --calls 5 'hand*'
	cat "$work/out"
else
	not_run "the other engine: no valgrind"
fi

# The count of work() does not depend on what else the program does.
plain=$(median --entry work -- "$PROG")
[ -n "$plain" ]
check "work() is counted"
for how in alarm fork thread; do
	got=$(median --entry work -- "$PROG" $how)
	[ "$got" = "$plain" ]
	check "work() counts $got under $how, $plain otherwise"
done
# A child's calls are not counted as the program's own, and the output says that there was a child.
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

# A rank that is not selected simply executes the program.
expect 0 "^$" sh -c "PMIX_RANK=1 '$IC' count --pe 0 --entry work -- '$PROG' && echo"
expect 0 "work to return" env PMIX_RANK=1 "$IC" count --pe 1 --entry work -- "$PROG"

# Under our launcher, on a selected PE of a real job.
if [ -x ./launch/oshrun ] && [ -x ./instr-count/drivers/shmem_int_p ]; then
	expect 0 "shmem_int_p to return, engine step, 20 calls" ./launch/oshrun -n 2 -- \
		"$IC" count --pe 0 --entry shmem_int_p -- ./instr-count/drivers/shmem_int_p
	# also without PMIx; the drivers need their rank for the hosts that they simulate
	expect 0 "shmem_int_p to return, engine step, 20 calls" ./launch/oshrun --no-pmix -n 3 -- \
		"$IC" count --pe 0 --entry shmem_int_p -- ./instr-count/drivers/shmem_int_p linked
	expect 0 "shmem_barrier_all to return" ./launch/oshrun -n 3 -- "$IC" count --pe 2 --entry shmem_barrier_all -- \
		./instr-count/drivers/shmem_int_p
else
	not_run "under oshrun: it or the driver shmem_int_p is not built"
fi

finish
