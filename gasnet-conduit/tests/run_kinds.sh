#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Memory kinds: the emulated device, and the kinds of the fake drivers of devices/tests, on nodes that map each other's
# memory, that do not, and that play hosts; then errors that must end a job with one line.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
LIMIT=120
fakes=$top/devices/tests/.libs
export PGAS_CUDA_DRIVER="$fakes/fake_cuda.so" PGAS_HIP_DRIVER="$fakes/fake_hip.so" PGAS_ZE_DRIVER="$fakes/fake_ze.so"
kinds() { # NODES PROGRAM CLASS
	expect 0 ': ok$' "$oshrun" -n "$1" "$top/gasnet-conduit/tests/$2" "$3"
}
kinds 1 gex_kinds emulated
kinds 2 gex_kinds emulated
kinds 4 gex_kinds emulated
PGAS_EMULATED_DEVICE=apart kinds 3 gex_kinds_par emulated
for class in cuda hip ze; do
	kinds 1 gex_kinds $class
	kinds 3 gex_kinds $class
	kinds 2 gex_kinds_par $class
done
PGAS_ZE_DRIVER=$fakes/fake_ze_new.so kinds 2 gex_kinds ze
FAKE_DRIVER_DEVICES=1 kinds 2 gex_kinds cuda

FI_PGAS_MAP=0 FI_PGAS_CMA=0 kinds 2 gex_kinds emulated
FI_PGAS_MAP=0 FI_PGAS_CMA=0 kinds 2 gex_kinds_par cuda

wrong() { # PATTERN CLASS MISTAKE
	expect 1 "$1" "$oshrun" -n 2 "$top/gasnet-conduit/tests/gex_kinds" "$2" "$3"
}
for class in emulated cuda; do
	wrong 'gex_Segment_Destroy: the segment is bound' $class destroy-bound
	wrong 'gex_MK_Destroy: 1 of its segments' $class destroy-used-kind
	wrong 'gex_RMA_Put: endpoint 20 of node [01] does not exist, or its segment' $class no-endpoint
	wrong 'gex_RMA_Put: 8 bytes at .* are not in the segment of endpoint 1 of node' $class outside
	wrong 'gex_RMA_Put: 8 bytes at .* are not in the segment of endpoint 1,' $class own-outside
done
wrong 'gex_MK_Destroy: GEX_MK_HOST is not a memory kind' emulated destroy-host
wrong 'gex_TM_Pair: endpoint 33 of another process does not exist' emulated no-index
wrong 'gex_RMA_Get: rank 2 of 2' emulated no-node
wrong 'gex_AM_RequestShort: endpoint 1 of this node was made without GEX_EP_CAPABILITY_AM' emulated message
wrong 'not a team (a pair' emulated barrier
PGAS_CUDA_DRIVER=$work/nowhere.so expect 0 'gex_MK_Create: .*nowhere.so' \
	"$top/gasnet-conduit/tests/gex_kinds" cuda no-driver
FAKE_DRIVER_DEVICES=0 expect 0 'gex_MK_Create: .*no CUDA' "$top/gasnet-conduit/tests/gex_kinds" cuda no-driver

# One machine plays the hosts: the owner's driver copies, on orders received through the gate.
oshrun=$top/launch/oshrun
export FI_PGAS_TEST_HOSTS=1 FI_PGAS_NET=auto:lo
kinds 2 gex_kinds emulated
kinds 3 gex_kinds cuda
kinds 2 gex_kinds_par hip
kinds 2 gex_kinds ze
FI_PGAS_NET_THREAD=0 kinds 2 gex_kinds_par emulated
wrong 'does not exist, or its segment was not published' emulated no-endpoint
wrong 'are not in the segment of endpoint 1 of node' cuda outside
# two nodes share a host, one is on another
expect 0 ': ok$' "$oshrun" -n 3 sh -c 'FI_PGAS_TEST_HOSTS=$((2 + $OSHRUN_RANK / 2)) exec "$0" cuda' \
	"$top/gasnet-conduit/tests/gex_kinds"
finish
