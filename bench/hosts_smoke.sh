#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The comparison between two hosts runs and is complete, and shows no column whose processes were elsewhere.
set -u
. "$(dirname "$0")/common.sh"
FI_PGAS_NET=auto # make check switches the link off
export FI_PGAS_NET
# The table of the documents is plotted again, without any host.
table=$src/docs/bench/hosts-x86_64.txt
good bench/hosts_compare --from "$table" --svg "$work/svg"
values() { grep -o '>[0-9.]*x</text>' "$1"; }
values "$src/docs/bench/hosts-x86_64.svg" >"$work/wanted"
[ -s "$work/wanted" ] && values "$work/svg" | cmp -s - "$work/wanted"
check "a table that was printed is plotted with its values"
svg_fits "$work/svg" && svg_fits "$src/docs/bench/hosts-x86_64.svg"
check "the names of its columns are all there"
expect 2 usage bench/hosts_compare --from "$table"
expect 2 usage bench/hosts_compare --from "$table" --svg "$work/svg" --ppn 1,4
sed 's/p + quiet/p + noise/' "$table" >"$work/other"
expect 1 'there is no row "long p + noise: latency" any more' \
	bench/hosts_compare --svg "$work/svg" --from "$work/other"
for wrong in /dev/null "$work/none" "$src/docs/bench/hosts-x86_64.svg"; do
	expect 1 'is no table of one PE on each host' bench/hosts_compare --svg "$work/svg" --from "$wrong"
done

compare hosts_compare --quick --alone --with FI_PGAS_NET_SIGN=1
[ $rc -ne 77 ] || skip "$(cat "$work/err")"
[ $rc -eq 0 ]
check "hosts_compare --quick"
for row in tcp_spin tcp_block tcp_4096 tcp_65536 tcp_1048576; do
	grep -Eq "^$row,.*,raw TCP,[0-9.e+]*[1-9]" "$work/csv"
	check "a result of raw TCP for $row"
done
# a libfabric without a network provider has no such result, and rawofi reports that
grep -Eq '^inner_spin,.*,libfabric,[0-9.e+]*[1-9]' "$work/csv" || grep -q 'rawofi: no provider' "$work/err"
check "a result of libfabric's messages"
check_files
list_rows hosts_compare
check_row() {
	case $group in raw | inner) return ;; esac
	for column in pgas 'pgas with FI_PGAS_NET_SIGN=1'; do
		has_result "$name,$unit,$column"
		check "a result of $column for $name"
	done
}
# those of the layers below have no line if a libfabric has no network provider
grep -v "$(printf '\tinner\t')" "$work/rows" >"$work/list" && mv "$work/list" "$work/rows"
each_row check_row
grep -q '^Speed with FI_PGAS_NET_SIGN=1' "$work/table"
check "the table says what signed packets cost"
for column in 'raw TCP' pgas; do
	grep -q "^  $column: PEs 0 on h1 (10.88.0.1.*), 1 on h2 (10.88.0.2" "$work/table"
	check "the table says where the processes of $column ran"
done

# A peer that stays at home. Two settings of it are tried with one PE on each host, six with two; all are refused.
mkdir "$work/peer"
cat >"$work/peer/oshcc" <<END
#!/bin/sh
[ "\$1" != --showme:version ] || { echo "Open MPI (a stand-in)"; exit 0; }
exec "$top/shmem/bin/oshcc" "\$@"
END
cat >"$work/peer/oshrun" <<END
#!/bin/sh
while [ "\$1" != -n ]; do shift; done
exec "$top/launch/oshrun" --bind none "\$@"
END
chmod +x "$work/peer/oshcc" "$work/peer/oshrun"
few='p_quiet,put_65536,pairs_p,pairs_put,hosts_barrier,hosts_sum_8,hosts_broadcast_32k,hosts_alltoall_4k'
export OMPI_MCA_plm=isolated
compare hosts_compare --quick --oshcc "$work/peer/oshcc" --ppn 1,2 --rows "$few"
check "hosts_compare --ppn 1,2"
unset OMPI_MCA_plm
check_files
grep -q 'OMPI_MCA_plm is ignored' "$work/err"
check "a variable that keeps Open MPI at home is removed"
for last in 1 3; do
	grep -q "Open MPI, pml ob1, UCX_TLS=tcp,self: not shown: its PEs ran elsewhere: PEs 0-$last on h1" "$work/err"
	check "a peer that stays at home is refused: PEs 0-$last"
done
! grep -q 'Open MPI' "$work/csv"
check "and has no column"
for row in $(echo "$few" | tr , ' '); do
	case $row in pairs_* | hosts_*) numbers='1 2' ;; *) numbers=1 ;; esac
	for n in $numbers; do
		grep -Eq "^$row,[^,]*,pgas,[0-9.e+]*[1-9].*,[0-9.e+]*[1-9][0-9.e+]*,$n\$" "$work/csv"
		check "a result of ours for $row, $n on each host"
	done
done
grep -q '"pes_on_each_host": 2' "$work/json" && grep -q '"tenth_worst"' "$work/json"
check "the JSON has both tables"
grep -q '^  pgas: PEs 0-1 on h1 (.*), 2-3 on h2 (' "$work/table"
check "the table says where two PEs on each host ran"
for wrong in 0 x 1, 1000; do
	expect 2 usage bench/hosts_compare --ppn "$wrong"
done
expect 2 usage bench/hosts_compare --with nothing

# Open MPI itself: refused if a file keeps it at home.
compiler=$(command -v oshcc.openmpi || command -v oshcc)
if [ -n "$compiler" ] && "$compiler" --showme:version 2>&1 | grep -qiE 'open (mpi|shmem)'; then
	mkdir -p "$work/home/.openmpi"
	echo 'plm = isolated' >"$work/home/.openmpi/mca-params.conf"
	home=${HOME:-/}
	export HOME="$work/home"
	compare hosts_compare --quick --raw --oshcc "$compiler" --rows p_quiet,put_65536
	check "hosts_compare beside an Open MPI that a file keeps at home"
	export HOME="$home"
	! grep -q 'Open MPI' "$work/csv"
	check "which has no column"
	grep -Eq 'Open MPI, .*: (not shown: its PEs ran elsewhere|does not run)' "$work/err"
	check "and the reason is said"
else
	not_run "Open MPI is not installed"
fi
finish
