#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Test: the list used to detect misspelt variables (base/gen_variables.sh) names all environment variables that the
# libraries read; each of them occurs in a manual page, and shmem-info lists those of SHMEM. And a job reports once
# which variable is misspelt.
. "$(dirname "$0")/../tests/harness.sh"
cd "$(dirname "$0")" || exit 99
table=$(sh ../base/gen_variables.sh .. | sed -n 's/^OURS(\(.*\))$/\1/p' | sort)
echo "$table" >"$work/table"
# names in calls of getenv, except for tests of the sources themselves and for what oshrun passes to its own agents
grep -rhoE 'getenv\("(SHMEM|SMA|FI_PGAS|PGAS)_[A-Z_]+"' ../base ../boot ../counters ../devices/src ../prov/pgas/src \
	../shmem/src ../shmem/profile ../shmem/race ../gasnet-conduit/src ../teams/src --include='*.[ch]*' |
	cut -d'"' -f2 | sort -u | comm -23 - "$work/table" >"$work/out"
[ ! -s "$work/out" ]
check "the list has the variables that are read by name"
# as many as the tables have entries: no entry is written in a way that the script does not read
[ "$(grep -c '^ENV_[A-Z]*(' ../shmem/src/core/shmem_env.def)" = "$(grep -c '^SHMEM_' "$work/table")" ] &&
	[ $(($(grep -c '^PGAS_PARAM(' ../prov/pgas/src/support/pgas_params.def) + 1)) = \
		"$(grep -c '^FI_PGAS_' "$work/table")" ]
check "and each entry of the tables (FI_PGAS_NET is read apart)"
[ "$(wc -l <"$work/table")" -gt 30 ]
check "it can be read"
for name in $table; do
	case $name in SMA_*) continue ;; esac # shmem.7 describes all of these by one sentence
	grep -qs -e "$name" man*/*.[137] || echo "$name is in no manual page"
done >"$work/out"
[ ! -s "$work/out" ]
check "each has a manual page"

if [ -x "$top/shmem-info" ]; then
	"$top/shmem-info" >"$work/info"
	for name in $(echo "$table" | grep '^SHMEM_'); do
		grep -q "$name[=:<0]" "$work/info" || echo "shmem-info does not show $name"
	done >"$work/out"
	[ ! -s "$work/out" ]
	check "shmem-info shows those of SHMEM"
	expect 0 'PE 0: SHMEM_SYMETRIC_SIZE is set, but there is no such variable; did you mean SHMEM_SYMMETRIC_SIZE?' \
		env SHMEM_SYMETRIC_SIZE=1g FI_PGAS_EAGERSIZE=1 SHMEM_COLLECT_ALGORITHM=auto PGAS_HOME=/ \
		"$oshrun" -n 3 "$top/examples/hello"
	grep -q 'PE 0: FI_PGAS_EAGERSIZE is set, .*; did you mean FI_PGAS_EAGER_SIZE?' "$work/out"
	check "so is one of the provider"
	[ "$(grep -c 'did you mean' "$work/out")" = 2 ]
	check "once per job, and variables of others are left alone"
	expect 0 '' "$oshrun" -n 2 "$top/examples/hello"
	! grep -q 'did you mean' "$work/out"
	check "nothing is said where nothing is wrong"
	expect 0 'node 0: FI_PGAS_RXSLOTS is set, .*; did you mean FI_PGAS_RX_SLOTS?' env FI_PGAS_RXSLOTS=64 \
		SHMEM_STAT=1 "$oshrun" -n 2 "$top/gasnet-conduit/tests/gasnet_job"
	[ "$(grep -c 'did you mean' "$work/out")" = 1 ]
	check "a GASNet job says it once, and nothing of SHMEM"
else
	not_run "what jobs say: nothing is built"
fi
finish
