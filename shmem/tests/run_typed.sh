#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every call of every type on 1 to 8 PEs, more than there are cores; in each language, inlined, and with all checks on.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
typed() { # PEs, program
	good "$oshrun" -n "$1" "$top/shmem/tests/typed_$2"
}
for family in rma amo sync; do
	for n in 1 2 3 5 8; do
		typed $n $family
	done
	typed 2 ${family}_generic
	typed 3 ${family}_cxx
	for n in 1 2 4; do
		typed $n ${family}_inline
	done
	export SHMEM_DEBUG=1
	typed 2 $family
	typed 3 ${family}_inline
	unset SHMEM_DEBUG
done
finish
