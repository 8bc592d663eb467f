#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The provider's tests over the link: FI_PGAS_TEST_HOSTS=1 makes every domain behave as if it were on a host of its own,
# so that the ranks of a team communicate over what auto selects, our own sockets, on the loopback interface. This needs
# no privileges. Then the same over a network provider of libfabric, except tests that do not depend on it. run_net.sh
# NAME...: only these tests.
. "$(dirname "$0")/prov_again.sh"
export FI_PGAS_TEST_HOSTS=1 FI_PGAS_NET="${NET:-auto:lo}"
if [ $# -gt 0 ]; then
	again "the link ($FI_PGAS_NET)" 1 "$@"
	exit
fi
again "the link ($FI_PGAS_NET)" 90 rma amo amo_edges msg msg_flow msg_match tagged cq cq_wait cntr mr hmem \
	hmem_msg order stress ep av errors leave wait threads death progress
[ -n "${NET:-}" ] || {
	export FI_PGAS_NET=libfabric:lo
	again "the link ($FI_PGAS_NET)" 50 rma amo msg msg_flow order stress av threads death progress
	# a network that accesses device memory directly
	export FI_PGAS_NET=opx FI_PROVIDER_PATH="${FI_PROVIDER_PATH:-$PWD/.libs}:$PWD/prov/pgas/tests/.libs"
	again "the link (prov/pgas/tests/fake_fabric.cpp)" 7 hmem
}
