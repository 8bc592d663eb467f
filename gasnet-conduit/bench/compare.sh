#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs gasnet_bench or gex_bench of this library and of another GASNet in turns, and prints the best of each beside one
# another.
#
#	compare.sh OURS OTHER [ROUNDS [SCALE [ROWS]]]
#
# OURS and OTHER are commands that start the program on two nodes, e.g.
#	compare.sh "gasnetrun_pgas -n 2 ./gex_bench_par" "env GASNET_PSHM_NODES=2 ./gex_bench_par.smp"
# ROWS: only those whose name contains this. The other's program is made of the same source by its own makefile
# fragment, for one mode (seq, par) as ours:
#	include OTHER/include/smp-conduit/smp-par.mak
#	gex_bench_par.smp: gex_bench.c
#		$(GASNET_CC) $(GASNET_CPPFLAGS) $(GASNET_CFLAGS) -o $@ $< $(GASNET_LDFLAGS) $(GASNET_LIBS)
#
# Both get the same two CPUs: a library that does not pin its processes may else find two threads of one core, which are
# twice as near to each other. PIN is the command that does so, "taskset -c 0,1" when not set; empty: none. Floods by
# several threads want more CPUs.
set -u
[ $# -ge 2 ] || { sed -n '3,18p' "$0"; exit 2; }
pin=${PIN-taskset -c 0,1}
$pin true 2>/dev/null || { echo "compare.sh: not pinned: $pin does not work here" >&2; pin=; }
ours=$1 other=$2 rounds=${3:-5} scale=${4:-0.3} rows=${5:-}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
i=0
while [ $i -lt "$rounds" ]; do
	$pin $ours "$scale" "$rows" >> "$dir/ours" || exit 1
	$pin $other "$scale" "$rows" >> "$dir/other" || exit 1
	i=$((i + 1))
done
awk '
{ name = substr($0, 1, 31); sub(/ +$/, "", name); v = $(NF - 1); unit[name] = $NF; side = FILENAME ~ /ours$/ ? "a" : "b"
  k = side name
  if (!(k in best) || ($NF == "ns" ? v < best[k] : v > best[k])) best[k] = v
  if (!(name in seen)) { seen[name] = 1; order[++n] = name } }
END { printf "%-30s %10s %10s %-5s %s\n", "", "ours", "other", "", "ours is"
  for (i = 1; i <= n; i++) { name = order[i]; a = best["a" name]; b = best["b" name]
    printf "%-30s %10.2f %10.2f %-5s %.2fx\n", name, a, b, unit[name], unit[name] == "ns" ? b / a : a / b } }
' "$dir/ours" "$dir/other"
