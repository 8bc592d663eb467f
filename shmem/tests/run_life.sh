#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The library's life: counted init and finalize, starting again, ending without finalize; alone, under oshrun, and under
# mpirun and mpiexec.hydra where these are installed.
set -u
top=${abs_top_builddir:-.}
oshrun=$top/boot/oshrun
life=$top/shmem/tests/life exits=$top/shmem/tests/life_exit opens=$top/shmem/tests/life_dlopen
status=0
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*: $(cat "$work/out")"
    status=1
}
# by COMMAND...: leaves $rc and $work/out
by() {
    timeout -s KILL 200 "$@" >"$work/out" 2>&1 </dev/null
    rc=$?
}
good() { # name, words, command...
    name=$1 words=$2
    shift 2
    by "$@"
    { [ $rc -eq 0 ] && { [ -z "$words" ] || grep -q "$words" "$work/out"; }; } || fail "$name ($rc)"
    echo "$name: $rc"
}
bad() { # name, exit status, words, command...
    name=$1 expected=$2 words=$3
    shift 3
    by "$@"
    { [ $rc -eq "$expected" ] && grep -q "$words" "$work/out"; } || fail "$name ($rc, expected $expected)"
    echo "$name: $rc: $(grep -m1 '^oshrun:' "$work/out")"
}

# counted, and again
good "nested alone" 'nested ok on 1' "$life" nested
good "cycles alone" 'cycles ok on 1' "$life" cycles 12
good nested 'nested ok on 3' "$oshrun" -n 3 "$life" nested
good cycles 'cycles ok on 4' "$oshrun" -n 4 "$life" cycles 50
good threads 'threads ok on 2' "$oshrun" -n 2 "$life" threads
good "start_pes" 'old ok on 3' "$oshrun" -n 3 "$life" old

# without finalize: alone, and with others that still use the memory of those who left
good "leave alone" 'said before' "$exits" return
for how in return pes mixed thread again; do
    good "leave: $how" 'said before' "$oshrun" -n 4 "$exits" $how
done
good "leave: order" 'destructor after' "$oshrun" -n 3 "$exits" order
LIFE_WRAP=1 good "an object that starts and ends the library" '' "$oshrun" -n 3 "$exits"
good "opened at run time" '' "$oshrun" -n 3 "$opens" "$top/.libs/libsma.so"

# wrong: somebody is named
bad "exit with 7" 7 'PE 1 .*status 7' "$oshrun" -n 3 "$exits" fails
bad "_exit" 1 'PE 1 .*without finalize' "$oshrun" -n 3 "$exits" quick
bad "global exit after a PE left" 5 'status 5' "$oshrun" -n 3 "$exits" global-exit
bad "abort after a PE left" 134 'PE 0 .*signal 6' "$oshrun" -n 3 "$exits" kill
bad "leave while others wait for a value" 5 'PE 1: exit: left main without shmem_finalize' "$oshrun" -n 3 "$exits" wait
for how in barrier reduce broadcast; do
    bad "leave while others are in $how" 1 'PE 1 .*: exit: this PE leaves while another one waits' "$oshrun" -n 3 "$exits" $how
    SHMEM_BARRIER_ALGORITHM=dissemination bad "the same, dissemination" 1 'this PE leaves while another one waits' \
        "$oshrun" -n 3 "$exits" $how
done

# one host for all: refused at init, not at the first transfer
if unshare -n true 2>/dev/null; then
    bad "a PE in another network namespace" 1 'shmem_init: PE . is on another host, or in other namespaces' \
        "$oshrun" -n 2 -- sh -c 'test "$OSHRUN_RANK" = 0 || exec unshare -n "$0" nested; exec "$0" nested' "$life"
else
    echo "another network namespace: not tried, none to be had"
fi

others() { # name, command up to the number of PEs
    launcher=$1
    shift
    timeout -s KILL 60 "$@" 1 true >/dev/null 2>&1 </dev/null || { echo "$launcher: not tried, does not start a program here"; return; }
    good "$launcher: nested" 'nested ok on 3' "$@" 3 "$life" nested
    good "$launcher: cycles" 'cycles ok on 3' "$@" 3 "$life" cycles 8
    good "$launcher: leave" 'said before' "$@" 3 "$exits" return
    good "$launcher: leave, mixed" 'said before' "$@" 3 "$exits" mixed
    good "$launcher: leave, again" 'said before' "$@" 3 "$exits" again
    by "$@" 3 "$exits" fails
    { [ $rc -ne 0 ] && [ $rc -ne 137 ]; } || fail "$launcher: exit with 7 ($rc)"
}
mpirun=$(command -v mpirun.openmpi || command -v mpirun)
root=
[ "$(id -u)" -ne 0 ] || root=--allow-run-as-root
if [ -n "$mpirun" ] && "$mpirun" $root --version 2>/dev/null | grep -qi 'open.\?mpi' &&
    "$oshrun" --pmix env 2>/dev/null | grep -q '^PMIX_NAMESPACE='; then
    TMPDIR=$work others mpirun "$mpirun" $root --oversubscribe -n
fi
if hydra=$(command -v mpiexec.hydra); then
    others hydra "$hydra" -n
fi
exit $status
