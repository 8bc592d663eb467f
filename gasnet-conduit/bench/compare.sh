#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs gasnet_bench or gex_bench of this library and of another GASNet in turn, and prints the best result of each side
# by side, and the median of the ratios of all rounds. A row whose median is below 0.97 is marked as behind; rows
# between 0.97 and 1.03 are level: in both only one load and store, one locked instruction, or libc's memcpy remains.
#
#	compare.sh OURS OTHER [ROUNDS [SCALE [ROWS]]]
#
# OURS and OTHER are commands that start the program on two nodes, e.g.
#	compare.sh "gasnetrun_pgas -n 2 ./gex_bench_par" "env GASNET_PSHM_NODES=2 ./gex_bench_par.smp"
# ROWS: only rows whose name contains this. Build the other library's program from the same source with its own makefile
# fragment, for the same mode (seq, par) as ours:
#	include OTHER/include/smp-conduit/smp-par.mak
#	gex_bench_par.smp: gex_bench.c
#		$(GASNET_CC) $(GASNET_CPPFLAGS) $(GASNET_CFLAGS) -o $@ $< $(GASNET_LDFLAGS) $(GASNET_LIBS)
#
# Both get the same two CPUs: if a library does not pin its processes, they may share a core as two threads, which are
# twice as close to each other. PIN is the command that pins, "taskset -c 0,1" if not set; empty: no pinning. Floods by
# several threads need more CPUs. A virtual machine may hide that neighbouring CPUs are threads of one core: there the
# other node's activity while it waits slows copies down, and every second CPU, "taskset -c 0,2", is better.
set -u
[ $# -ge 2 ] || { sed -n '3,20p' "$0"; exit 2; }
pin=${PIN-taskset -c 0,1}
$pin true 2>/dev/null || { echo "compare.sh: not pinned: $pin does not work here" >&2; pin=; }
ours=$1 other=$2 rounds=${3:-5} scale=${4:-0.3} rows=${5:-}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
i=0
while [ $i -lt "$rounds" ]; do
	i=$((i + 1))
	$pin $ours "$scale" "$rows" | sed "s/^/$i ours /" >> "$dir/rows"
	$pin $other "$scale" "$rows" | sed "s/^/$i other /" >> "$dir/rows"
	# a program that failed has fewer rows than the other
	[ "$(grep -c "^$i ours " "$dir/rows")" = "$(grep -c "^$i other " "$dir/rows")" ] || exit 1
done
awk '
function ratio(a, b, unit) { return unit == "ns" ? b / a : a / b }
function median(name,    n, i, j, t, v) {
  for (i = 1; i <= rounds; i++) {
    t = ratio(value[i, "ours", name], value[i, "other", name], unit[name])
    for (j = n++; j > 0 && v[j] > t; j--) v[j + 1] = v[j]
    v[j + 1] = t
  }
  return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}
{ round = $1; side = $2; sub(/^[0-9]+ [a-z]+ /, "")
  name = substr($0, 1, 31); sub(/ +$/, "", name); v = $(NF - 1); unit[name] = $NF
  value[round, side, name] = v
  if (!((side, name) in best) || ($NF == "ns" ? v < best[side, name] : v > best[side, name])) best[side, name] = v
  if (!(name in seen)) { seen[name] = 1; order[++n] = name } }
END { printf "%-30s %10s %10s %-5s %7s %7s\n", "", "ours", "other", "", "best", "median"
  for (i = 1; i <= n; i++) { name = order[i]; a = best["ours", name]; b = best["other", name]; m = median(name)
    printf "%-30s %10.2f %10.2f %-5s %6.2fx %6.2fx%s\n", name, a, b, unit[name], ratio(a, b, unit[name]), m,
      m < 0.97 ? " behind" : m <= 1.03 ? " level" : "" } }
' rounds="$rounds" "$dir/rows"
