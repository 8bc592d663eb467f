#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# About a minute of tests/stress/run_many: programs whose PEs wait for each other without mapped memory, in random
# order, idle and loaded; and checks that run_many reports what failed and what hung.
set -u
. "$(dirname "$0")/../harness.sh"
# shellcheck disable=SC2154  # harness.sh
many=$src/tests/stress/run_many
if ! command -v bash || ! command -v taskset; then skip "bash and taskset are needed"; fi >/dev/null
LIMIT=200
stress() { bounded env TMPDIR="$work" "$many" --build "$top" --limit $((20 * SLOW)) "$@" >"$work/out" 2>&1; }

stress --seconds 20 --runs 2 --settings nomap-idle,neither-idle help_near coll_sets gasnet_job gex_coll_random
check "programs that wait without mapped memory"
sed 's/^/# /' "$work/out"
stress --seconds 15 --runs 2 --settings plain-loaded,neither-loaded help_near tests/meet gex_rma
check "the same beside busy loops"
sed 's/^/# /' "$work/out"
grep -q '^[1-9][0-9]* runs: 0 failed, 0 hung' "$work/out"
check "the last line sums up"

# programs made here: one fails, one hangs
mkdir -p "$work/lists/launch"
ln -s "$top/launch/oshrun" "$work/lists/launch/oshrun"
printf '#!/bin/sh\nexit ${1:-3}\n' >"$work/lists/fails"
printf '#!/bin/sh\nsleep 1000\n' >"$work/lists/hangs"
chmod +x "$work/lists/fails" "$work/lists/hangs"
cp "$many" "$work/lists/run_many"
printf '%s\n' 'any|-|fails' 'any|-|fails 77' 'any|-|fails 0' 'plain|-|hangs # a remark' 'nocma|-|fails 4' \
	'any|-|STATUS=5 fails 5' 'any|-|STATUS=6 fails 0' 'never|-|fails 9 # a reason' >"$work/lists/programs.def"
bounded "$work/lists/run_many" --build "$work/lists" --limit 1 --runs 1 --settings plain-idle --keep "$work/kept" \
	>"$work/out" 2>&1
[ $? -eq 1 ]
check "what fails or hangs makes the status 1"
grep -q '^fails  *plain-idle  *1  *1  *0 ' "$work/out" && grep -q '^fails 0  *plain-idle  *1  *0  *0 ' "$work/out" &&
	grep -q '^fails 77  *plain-idle  *1  *0  *0 ' "$work/out" &&
	grep -q '^hangs  *plain-idle  *1  *0  *1  *[1-9]' "$work/out"
check "the table: runs, failed, hung, slowest"
grep -q '^STATUS=5 fails 5  *plain-idle  *1  *0  *0 ' "$work/out" &&
	grep -q '^STATUS=6 fails 0  *plain-idle  *1  *1  *0 ' "$work/out"
check "the status that a line wants"
grep -q '^6 runs: 2 failed, 1 hung, 1 cannot run here$' "$work/out"
check "the sum, and no run in a setting that is not the program's"
ls "$work"/kept/*.stacks >/dev/null 2>&1
check "stacks of what hung are kept"
! grep -qs "$work/lists/[h]angs" /proc/[0-9]*/cmdline
check "nothing of it is left"

# The programs that make check builds, and the libraries they are linked with: each program of several processes must
# have a line in programs.def. Works on a copy: make may remake a Makefile that is included.
cp "$top/Makefile" "$work/Makefile"
printf 'include %s/Makefile\nprograms:; @:$(foreach p,$(check_PROGRAMS:$(EXEEXT)=),$(info $p %s))\n' "$work" \
	'$($(subst -,_,$(subst .,_,$(subst /,_,$p)))_LDADD)' >"$work/programs.mk"
(cd "$top" && MAKEFLAGS='' MAKELEVEL='' make -s -f "$work/programs.mk" programs) >"$work/programs" 2>"$work/err"
[ "$(wc -l <"$work/programs")" -gt 50 ]
check "what make check builds"
sed 's/[[:space:]]*#.*//; s/^[^|]*|[^|]*|//; s/^\([A-Z][A-Z_0-9]*=[^ ]* \)*//; s/ .*//' \
	"$src/tests/stress/programs.def" |
	sort -u >"$work/listed"
grep -E ' (libsma|libgasnet[^ ]*|prov/pgas/tests/libtests(-direct)?|teams/libpgas-teams)\.la( |$)' "$work/programs" |
	cut -d' ' -f1 | sort | comm -23 - "$work/listed" >"$work/out"
[ ! -s "$work/out" ]
check "programs of several processes have a line in programs.def"
! grep '^never|' "$src/tests/stress/programs.def" | grep -v ' # [^ ]' >"$work/out"
check "who is never run has a reason"

expect 2 'no such setting' "$many" --build "$top" --settings often
expect 2 'lanes need' "$many" --build "$top" --cpus 0,1 --lanes 2
expect 2 'expected a whole number' "$many" --build "$top" --runs many
expect 0 'usage: ' "$many" --help
finish
