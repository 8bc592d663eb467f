#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SHMEM_PROTO_INFO: PE 0 prints one page with the choices and their reasons; and the calls then do what the page says.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
probe=$top/shmem/profile/tests/stats_probe
[ -z "$sanitized" ] || export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"
says() { # words that are in the page
	grep -q -e "$1" "$work/out"
	check "it says: $1"
}
page() { # VARIABLE=value..., then the program's arguments behind --
	expect 0 'SHMEM choices (SHMEM_PROTO_INFO), as PE 0 of 4 sees them; started by oshrun' \
		env SHMEM_PROTO_INFO=1 "$@"
	[ "$(grep -c 'as PE 0 of' "$work/out")" = 1 ]
	check "one page"
}
page "$oshrun" -n 4 --bind-to none "$probe"
says '^  PE 0: itself$'
says '^  PE 1-3: shared memory, mapped: loads and stores of the caller$'
says '^memory: symmetric heap 512 MiB per PE, in usual pages of '
says '^  SHMEM_TEAM_WORLD: 4 PEs on 1 host$'
says '^    reduce  *any size  *direct  *on one host$'
! grep -q SHMEM_TEAM_SHARED "$work/out"
check "the shared team has nothing of its own to say"
[ "$(sed -n '/^SHMEM choices/,/^    alltoall/p' "$work/out" | wc -l)" -le 40 ]
check "it is a page"
page FI_PGAS_MAP=0 FI_PGAS_CMA=0 "$oshrun" -n 4 "$probe"
says '^  PE 1-3: shared memory, not mapped: its progress does the work (FI_PGAS_MAP=0)$'
says '^  set: FI_PGAS_MAP=0$'
page SHMEM_FAKE_HOSTS=4x1 SHMEM_BCAST_ALGORITHM=flat SHMEM_STREAM_FROM=3m "$oshrun" --stats -n 4 "$probe"
says '^    reduce  *up to 32 KiB  *recursive  *one member on each host$'
says '^  *more  *shares  *one member on each host$'
says '^    broadcast  *any size  *flat  *asked for by SHMEM_BCAST_ALGORITHM$'
says '^  SHMEM_TEAM_SHARED: 1 PEs on 1 host$'
# what the calls used, from their statistics
says '^  reduce  *recursive  *4  *256 B'
says '^  sync  *dissemination  *4 '
page SHMEM_FAKE_HOSTS=2x2 "$oshrun" --stats -n 4 "$probe"
says '^    barrier, sync  *any size  *two-level  *several hosts, with several members on some$'
says '^  sync  *two-level  *4 '
# a team with other choices: PE 1, 2 and 3 of hosts 0, 1, 1
page SHMEM_FAKE_HOSTS=2x2 "$oshrun" -n 4 "$probe" team
! grep -q 'team of PE' "$work/out"
check "a team with the same choices is not printed"
page SHMEM_FAKE_HOSTS=3x2 "$oshrun" -n 4 "$top/shmem/tests/team_life"
says '^  SHMEM choices: team of PE '
# over the link, PEs 0 and 1 on one host
# shellcheck disable=SC2016  # for the shell of each PE
expect 0 '^  PE 2: link' env SHMEM_PROTO_INFO=1 FI_PGAS_NET=auto:lo "$oshrun" -n 3 sh -c \
	'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK / 2)) exec "$0"' "$top/examples/hello"
says '^    fi_pgas://.*[?]socket='
expect 0 '' "$oshrun" -n 2 "$probe"
! grep -q 'SHMEM choices' "$work/out"
check "nothing without the variable"
expect 1 'SHMEM_PROTO_INFO: "maybe" is not yes or no' env SHMEM_PROTO_INFO=maybe "$oshrun" -n 1 "$probe"
finish
