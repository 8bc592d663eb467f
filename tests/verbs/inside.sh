#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# inside.sh BUILD END ITEM...: runs in a guest of tests/verbs/run, one item after another, at most until the time END
# (date +%s). Each item adds a line to /run/verbs/results: ITEM|VERDICT|CASES|PACKETS|SECONDS|WORDS. An item passes if
# it ends with status 0, prints what it should, and the device has sent packets meanwhile: a job that used another
# transport does not pass.
#
#	prov/NAME		test_prov_NAME; every domain acts as a host. prov/NAME/PATTERN: only those of its cases
#	shmem/N/PROGRAM/ARG...	by oshrun, N PEs that act as hosts; gasnet/N/... the same
#	count/PATTERN		instructions of these paths of instr-count
#	straight/shmem/N/...	the same, with single words written directly into memory
#	rxm/shmem/N/...		the same over libfabric's verbs provider: the other port, on the same device
#	tls/shmem/N/...		the same over sockets that the kernel encrypts; a TLS connection counts as a packet.
#				tls/port: the TLS tests of the port; tls/port/PATTERN: others, encrypted
#	fab/PROGRAM		of fabtests, or fi_pingpong: a server and a client
#	pair/shmem/1,2/...	on two guests with that many PEs each, from g1; pair/gasnet/..., pair/fab/...
#	pair/kill, pair/lost	a process is killed, the guest g2 is gone: how soon does the other side report it?
build=$1
end=$2
shift 2
cd "$build" || exit 125
share=/run/verbs agent=/run/verbs/agent.sh out=/run/out busybox=/run/busybox
each=${VERBS_ITEM_SECONDS:-120} # for one item at most
export abs_top_builddir=$build FI_PROVIDER_PATH=$build/.libs IPATH_NO_BACKTRACE=1
export FI_PGAS_NET=${FI_PGAS_NET:-verbs} TEST_SLOW=${TEST_SLOW:-20}
# the programs themselves, not libtool's wrapper scripts, which take an emulated guest a second to run
export LD_LIBRARY_PATH=$build/.libs PATH=${VERBS_FABTESTS:+$VERBS_FABTESTS:}$PATH
provider=prov/pgas/tests
program() { if [ -x "$1/.libs/$2" ]; then echo "$build/$1/.libs/$2"; else echo "$build/$1/$2"; fi; }
# the packets that this guest's device has sent; for TLS, the directions of connections that the kernel encrypts
packets() { # item
	case $1 in
	tls/* | pair/tls/*) awk '$1 ~ /^Tls[TR]xSw$/ { n += $2 } END { print n + 0 }' /proc/net/tls_stat ;;
	*) cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts 2>/dev/null || echo 0 ;;
	esac
}
bounded() { timeout -k 5 "$limit" "$@"; }
now() { local t=${EPOCHREALTIME/,/.}; echo "${t%.*}${t#*.}"; } # microseconds

# --- a server and a client --------------------------------------------------------------------------------------------

# fab PROGRAM [HOST]: the server runs on that host, or here
fab() {
	local tool=$1 host=${2-} port=9229 server rc=0 left=$((limit * 2)) on=()
	# -B: on one host both would take the same source port otherwise
	local options=(-p pgas -I 10 -S 64 "-E=$port") own=(-B 9231) other=(-B 9232)
	tool=$(command -v "$tool") || { note="$1 is not installed"; return 77; }
	[ "$1" != fi_pingpong ] || port=47592 options=(-p pgas -e rdm -I 10 -S 64) own=() other=()
	[ -z "$host" ] || on=("$agent" "$host" env FI_PGAS_NET="$FI_PGAS_NET" FI_PROVIDER_PATH="$FI_PROVIDER_PATH")
	bounded "${on[@]}" "$tool" "${options[@]}" "${own[@]}" >"$out.server" 2>&1 </dev/null &
	server=$!
	until "${on[@]}" ss -ltnH </dev/null | grep -q ":$port "; do
		if [ $((left -= 1)) -eq 0 ] || ! kill -0 $server 2>/dev/null; then
			rc=1
			break
		fi
		sleep 0.5
	done
	[ $rc != 0 ] || bounded "$tool" "${options[@]}" "${other[@]}" "${host:-192.168.77.1}" || rc=$?
	kill $server 2>/dev/null
	wait $server
	sed 's/^/server: /' "$out.server"
	return $rc
}

# --- faults -----------------------------------------------------------------------------------------------------------

wait_for() { # TEXT FILE SECONDS
	local until=$((SECONDS + $3))
	until grep -q -e "$1" "$2"; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.02
	done
}

# fault kill|lost: PE 0 on g1 communicates with PE 1 on g2 all the time. The launcher on g2 is stopped first, or is gone
# as well, so that PE 0 must detect the loss through the link. The time runs from the moment at which g2
# announces the fault.
fault() {
	local strike most began took job rc=0
	case $1 in
	kill) # the device says so, long before the link's own patience is at an end
		most=5 FI_PGAS_PEER_TIMEOUT=20
		strike="kill -STOP \$($busybox pidof oshrun); echo now; kill -9 \$($busybox pidof hosts_job)"
		;;
	lost)
		most=9 FI_PGAS_PEER_TIMEOUT=3
		strike="echo now; echo b >/proc/sysrq-trigger"
		;;
	esac
	export FI_PGAS_PEER_TIMEOUT
	: >"$out.job"
	: >"$out.strike"
	bounded launch/oshrun --launch-agent "$agent" --host-timeout 40 -x LD_LIBRARY_PATH -H g1:1,g2:1 -n 2 \
		"$(program tests/hosts hosts_job)" ring 600 >"$out.job" 2>&1 </dev/null &
	job=$!
	if wait_for '^running' "$out.job" $((limit / 2)); then
		timeout 20 "$agent" g2 "$strike" >"$out.strike" </dev/null &
		wait_for now "$out.strike" 20
		began=$(now)
		if wait_for 'PE 1 on g2 is lost' "$out.job" $((limit / 3)); then
			took=$((($(now) - began) / 1000))
			note="PE 0 says so after $took ms"
			[ $took -le $((most * 1000)) ] || { echo "too late: $note"; rc=1; }
		else
			echo "PE 0 does not say that PE 1 is lost"
			rc=1
		fi
		[ "$1" = lost ] || "$agent" g2 "kill -CONT \$($busybox pidof oshrun)" </dev/null
	else
		echo "the job does not run"
		rc=1
	fi
	[ "$1" = kill ] || kill $job 2>/dev/null # it would wait for a sign of g2
	wait $job && { echo "the job ends well, which it should not"; rc=1; }
	cat "$out.job"
	return $rc
}

# --- one item ---------------------------------------------------------------------------------------------------------

# job FOLDER TEXT LAYOUT PROGRAM ARG...: LAYOUT is N here, or N,M on two guests
job() {
	local folder=$1 text=$2 layout=$3 name=$4 where=(-n "$3")
	shift 4
	case $layout in
	*,*) where=(--launch-agent "$agent" -x LD_LIBRARY_PATH -H "g1:${layout%,*},g2:${layout#*,}"
		-n $((${layout%,*} + ${layout#*,}))) ;;
	esac
	bounded launch/oshrun "${where[@]}" "$(program "$folder" "$name")" "$@" </dev/null && grep -q -e "$text" "$out"
}

# Runs the item with its output in $out; sets $cases and $note.
run_item() {
	local word
	IFS=/ read -ra word <<<"$1"
	if [ "${word[0]}" = pair ]; then
		unset FI_PGAS_TEST_HOSTS
		word=("${word[@]:1}")
	else
		export FI_PGAS_TEST_HOSTS=1
	fi
	case ${word[0]} in
	prov) TEST_CASES=${word[2]:-*} bounded "$(program $provider "test_prov_${word[1]}")" </dev/null ;;
	shmem)
		case ${word[2]} in
		hosts_job) job tests/hosts 'as it should' "${word[@]:1}" ;;
		*) job shmem/tests '' "${word[@]:1}" ;;
		esac
		;;
	gasnet) job gasnet-conduit/tests ': ok$' "${word[@]:1}" ;;
	fab) fab "${word[1]}" "$([ "${1%%/*}" != pair ] || echo g2)" ;;
	count) # a budget may be that of another architecture; a count there must be
		bounded instr-count/instr-count check "${word[1]}" </dev/null &&
			grep -Eq '^PASS|[0-9], no budget' "$out"
		;;
	straight) (export FI_PGAS_NET_STRAIGHT=1 && run_item "${1#*/}") ;;
	rxm) # bench/verbs_compare says why these settings
		(
			export FI_PGAS_NET='verbs;ofi_rxm' FI_UNIVERSE_SIZE=32 FI_OFI_RXM_USE_SRX=1
			run_item "${1#*/}"
		)
		;;
	tls)
		(
			export FI_PGAS_NET_TLS=1 FI_PGAS_NET=socket
			case $1 in
			tls/port) bounded "$(program $provider test_port_socket)" 'test_tls_*' </dev/null ;;
			tls/port/*) TEST_TLS=1 bounded "$(program $provider test_port_socket)" "${word[2]}" \
				</dev/null ;;
			pair/*) run_item "pair/${1#pair/tls/}" ;;
			*) run_item "${1#*/}" ;;
			esac
		)
		;;
	kill | lost) fault "${word[0]}" ;;
	*) echo "no such item: $1"; false ;;
	esac >"$out" 2>&1
}

# Sets $verdict, and $note if the verdict is not ok.
judge() { # item, status, packets
	case $1 in
	prov/* | tls/port*) cases=$(grep -c '^\[       OK \]' $out) ;;
	*) [ "$2" = 0 ] && cases=1 || cases=0 ;;
	esac
	verdict=ok
	case $2 in
	77) verdict="not run" cases=0 ;;
	124 | 137)
		note="no end in $limit s" verdict="NOT OK"
		[ "$limit" -ge "$each" ] || verdict="left out" note="no time: $note"
		;;
	0) [ "$3" -gt 0 ] || verdict="NOT OK" note="nothing went over the device" ;;
	*) verdict="NOT OK" note=${note:-status $2} ;;
	esac
}

for item; do
	note='' cases=1 limit=$each left=$((end - EPOCHSECONDS))
	if [ $left -lt 20 ]; then
		echo "$item|left out|0|0|0|no time" >>$share/results
		continue
	fi
	[ $left -ge "$limit" ] || limit=$left
	began=$SECONDS before=$(packets "$item")
	: >$out
	run_item "$item"
	rc=$?
	sent=$(($(packets "$item") - before)) took=$((SECONDS - began))
	judge "$item" $rc $sent
	[ "$verdict" != "NOT OK" ] || tail -n 25 $out | cut -c 1-300 | sed 's/^/    | /'
	echo "$item|$verdict|$cases|$sent|$took|$note" >>$share/results
	echo "$verdict: $item, $cases cases, $sent packets, $took s${note:+, $note}"
done
