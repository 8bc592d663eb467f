#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every mini-app in every variant, on partitions of host memory and of an emulated device; each checks its own result.
# They are meant to be copied, so each compiles without a warning as plain C99 and C11.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
apps=$top/examples/apps
export SHMEM_SYMMETRIC_PARTITION0=32M:KIND=emulated SHMEM_SYMMETRIC_PARTITION1=32M

# expects one line that repeats what was requested and reports no error
app() { # PEs words program arguments...
	_pes=$1 _words=$2
	shift 2
	_name=$1
	shift
	expect 0 "^$_name $_words pes=$_pes .* wrong=0\$" "$oshrun" -n "$_pes" "$apps/$_name" "$@"
}
for n in 1 4; do
	for name in gups fft2d cannon heat3d; do
		app $n 'variant=host kind=heap' $name
		for variant in staged partition; do
			app $n "variant=$variant kind=emulated" $name --variant $variant
		done
	done
done
for name in gups cannon heat3d; do
	app 3 'variant=partition kind=host' $name --variant partition --partition 1
done
app 3 'variant=host kind=heap' cannon 100 # rows that cannot be dealt evenly
app 2 'variant=host kind=heap' gups --method signal 64 500
# all words occur more than once in a bulk; some do; none does, and the last bulk is not full
app 3 'variant=partition kind=emulated' gups --variant partition --method bulk 9 1000
app 2 'variant=host kind=heap' gups --method bulk 512 3000
app 2 'variant=partition kind=emulated' gups --variant partition --method bulk 65536 200
app 4 'variant=partition kind=host' heat3d --variant partition --partition 1 4 30 # blocks of one or two points
# two PEs on each of two hosts, with every call checked
for name in gups fft2d cannon heat3d; do
	# shellcheck disable=SC2016  # each PE finds its own host
	expect 0 "^$name variant=partition kind=emulated pes=4 .* wrong=0\$" \
		env FI_PGAS_NET=auto:lo SHMEM_DEBUG=1 "$oshrun" -n 4 \
		sh -c 'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK / 2)) exec "$0" "$@"' "$apps/$name" --variant partition
done

expect 2 'usage' "$oshrun" -n 3 "$apps/fft2d" 128
expect 2 'usage' "$oshrun" -n 1 "$apps/fft2d" 100
expect 2 'usage' "$oshrun" -n 3 "$apps/heat3d" 20
expect 2 'usage' "$oshrun" -n 2 "$apps/cannon" 1
expect 2 'usage' "$oshrun" -n 1 "$apps/cannon" 12x
expect 2 'usage' "$oshrun" -n 1 "$apps/gups" --variant staged --method get
expect 2 'usage' "$oshrun" -n 1 "$apps/gups" --variant staged --method bulk
expect 2 'usage' "$oshrun" -n 1 "$apps/gups" --variant gpu
expect 2 'there is no such partition' "$oshrun" -n 2 "$apps/gups" --variant partition --partition 5
expect bad 'bytes left' "$oshrun" -n 2 "$apps/cannon" --variant partition 4000

scaling=$src/examples/apps/scaling
good "$scaling" --programs "$apps" --oshrun "$oshrun" --apps gups,gups-bulk,heat3d --pes 1,2 \
	--repeat 1 --updates 400 --svg "$work/svg"
test "$(grep -cE '^(gups|heat3d) +(strong|weak) +[12] +(host|staged|partition) +[0-9.e-]+ ' "$work/out")" = 24
check "a rate of both apps in each variant on 1 and 2 PEs"
test "$(grep -cE '^gups-bulk +(strong|weak) +[12] +(host|partition) +[0-9.e-]+ ' "$work/out")" = 8
check "a rate of gups in bulk, which has no staged variant"
test "$(grep -c '<polyline' "$work/svg")" = 32 && grep -q '</svg>' "$work/svg" && ! grep -q 'nan\|inf' "$work/svg"
check "the plot is complete"
good "$scaling" --programs "$apps" --oshrun "$oshrun" --apps gups-bulk --pes 1 --repeat 100000 \
	--limit "$SLOW"
test "$(grep -c '^gups-bulk' "$work/out")" -gt 0
check "what was measured before the limit"
for wrong in '--limit x' '--updates 0' '--pes 0' '--pes x' '--apps none' '--variants gpu' '--nonsense' '--svg'; do
	# shellcheck disable=SC2086  # two words
	expect 2 'scaling: ' "$scaling" --programs "$apps" --oshrun "$oshrun" $wrong
done
for file in "$src"/examples/apps/*.c; do
	for standard in c99 c11; do
		${GASNET_TEST_CC:-cc} -std=$standard -pedantic-errors -Wall -Wextra -Werror ${PGAS_TEST_INCLUDES:-} \
			-fsyntax-only "$file"
		check "${file##*/} compiles with -std=$standard"
	done
done
finish
