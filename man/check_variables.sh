#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Test: pgas_variables.def, by which misspelt variables are found, names what the libraries read: the tables of SHMEM
# and of the provider, and what the launcher's part asks for; each name stands in a manual page, and shmem-info has
# those of SHMEM. And a job says once which variable is misspelt.
. "$(dirname "$0")/../tests/harness.sh"
cd "$(dirname "$0")" || exit 99
table=$(sed -n 's/^OURS(\(.*\))$/\1/p' ../counters/include/pgas/pgas_variables.def | sort)
{
	sed -n 's/^ENV_[A-Z]*([a-z_]*, \([A-Z_]*\),.*/SHMEM_\1/p' ../shmem/src/shmem_env.def
	grep -o '"SMA_[A-Z_]*"' ../shmem/src/shmem_env.def | grep -v '"SMA_\.\.\."' | tr -d '"'
	sed -n 's/^PGAS_PARAM("\([a-z_]*\)".*/FI_PGAS_\1/p' ../prov/pgas/src/pgas_params.def |
		tr '[:lower:]' '[:upper:]'
	grep -q 'from_environment("net")' ../prov/pgas/src/pgas_params.cpp && echo FI_PGAS_NET
	grep -rhoE '"PGAS_[A-Z_]+"' ../boot/boot*.cpp ../boot/boot*.hpp ../devices/src/*.cpp | tr -d '"' | sort -u
} | sort -u >"$work/read"
echo "$table" >"$work/table"
diff "$work/table" "$work/read" >"$work/out"
check "the table has the variables that are read, and no others"
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
