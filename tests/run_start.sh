#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_start.sh: a job on one host starts without libfabric, whose libraries may sleep before main, and so does a job on
# several hosts that TCP connects; a program that uses libfabric, and a link over libfabric, load exactly one copy. What
# libfabric otherwise does for the provider, its log and its parameters, works without it.
set -u
. "$(dirname "$0")/harness.sh"
probe=$top/tests/start_probe
FI_PROVIDER_PATH=$top/.libs
export FI_PROVIDER_PATH

for library in libpgas libsma libgasnet-pgas-seq libgasnet-pgas-par libgasnet-pgas-parsync; do
	readelf -d ".libs/$library.so" >"$work/out" && grep -q 'NEEDED.*libc\.so' "$work/out" &&
		! grep 'NEEDED.*libfabric' "$work/out"
	check "$library.so does not need libfabric"
done

copies() { # how many in each process, what, VARIABLE=value... -- arguments of the probe
	wanted=$1 what=$2
	shift 2
	: >"$work/env"
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		echo "export '$1'" >>"$work/env"
		shift
	done
	shift
	# shellcheck disable=SC2016  # for the shell of each PE
	by "$oshrun" -n 2 sh -c '. "$0" && exec "$@"' "$work/env" "$probe" "$@"
	[ $rc -eq 0 ] && [ "$(grep -c "^PE [01]: $wanted copies\$" "$work/out")" -eq 2 ]
	check "$what: $wanted copies of libfabric"
}
copies 0 "one host" --
copies 0 "one host, bound at start" LD_BIND_NOW=1 --
copies 0 "one host, auto" FI_PGAS_NET=auto --
copies 1 "the program uses libfabric first" -- early
copies 1 "the program uses libfabric later" -- late
copies 1 "the program uses libfabric and lets it go" -- early close
copies 1 "the program uses libfabric later and lets it go" -- late close
# a host of its own for each PE, over the loopback interface
for net in 0:auto:lo 0:socket:lo 1:libfabric:lo; do
	# shellcheck disable=SC2016
	by env FI_PGAS_NET="${net#*:}" "$oshrun" -n 2 sh -c 'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK)) exec "$0"' "$probe"
	[ $rc -eq 0 ] && [ "$(grep -c "^PE [01]: ${net%%:*} copies\$" "$work/out")" -eq 2 ]
	check "two hosts, ${net#*:}: ${net%%:*} copies of libfabric"
done

# --- the log and the parameters ---------------------------------------------------------------------------------------

line='^libfabric:[0-9]*:[0-9]*::pgas:core:.*<warn> parameter rx_slots: 1 is outside 16\.\.1048576'
expect 0 "$line" env FI_LOG_LEVEL=warn FI_PGAS_RX_SLOTS=1 "$oshrun" -n 1 "$probe"
expect 0 "$line" env FI_LOG_LEVEL=info FI_LOG_PROV=tcp,pgas FI_LOG_SUBSYS=core FI_PGAS_RX_SLOTS=1 \
	"$oshrun" -n 1 "$probe"
expect 0 'parameter cma: "yes" is not a number' env FI_LOG_LEVEL=Warn FI_PGAS_CMA=yes "$oshrun" -n 1 "$probe"
silent() { # VARIABLE=value...
	by env FI_PGAS_RX_SLOTS=1 "$@" "$oshrun" -n 1 "$probe"
	[ $rc -eq 0 ] && ! grep -q 'rx_slots' "$work/out"
	check "$*: no such line"
}
silent FI_LOG_PROV=pgas
silent FI_LOG_LEVEL=warn FI_LOG_PROV=tcp
silent FI_LOG_LEVEL=warn FI_LOG_PROV=^pgas
silent FI_LOG_LEVEL=warn FI_LOG_SUBSYS=^core
silent FI_LOG_LEVEL=warn FI_LOG_SUBSYS=cq,mr

# --- no libfabric at all: an empty file in its place ------------------------------------------------------------------

fabric=$(ldconfig -p 2>/dev/null | sed -n 's/.*libfabric\.so\.1 .*=> //p' | head -n 1)
fabric=$(readlink -f "${fabric:-/nowhere}")
: >"$work/empty"
hidden() { unshare -rm sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh "$work/empty" "$fabric" "$@"; }
if [ -z "$sanitized" ] && [ -f "$fabric" ] && hidden true 2>/dev/null; then
	hidden "$oshrun" -n 2 "$probe" >"$work/out" 2>&1 && [ "$(grep -c '^PE [01]: 0 copies$' "$work/out")" -eq 2 ]
	check "one host, where libfabric is not installed"
	two_hosts() { # FI_PGAS_NET
		# shellcheck disable=SC2016
		FI_PGAS_NET=$1 FI_LOG_LEVEL=info hidden "$oshrun" -n 2 sh -c \
			'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK)) exec "$0"' "$probe" >"$work/out" 2>&1
	}
	two_hosts auto:lo && [ "$(grep -c '^PE [01]: 0 copies$' "$work/out")" -eq 2 ]
	check "two hosts, where libfabric is not installed"
	! two_hosts libfabric:lo && grep -q 'libfabric cannot be loaded: ' "$work/out"
	check "two hosts, where libfabric is wanted and not installed: says so"
else
	not_run "libfabric hidden: no namespace of mounts here, a sanitizer, or it is not among the system's libraries"
fi
finish
