#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The provider's tests over the link: FI_PGAS_TEST_HOSTS=1 makes every domain behave as if it were on a host of its own,
# so that the ranks of a team talk over a network provider, on the loopback interface. No rights are needed for that.
# run_net.sh NAME...: these tests only.
. "$(dirname "$0")/prov_again.sh"
export FI_PGAS_TEST_HOSTS=1 FI_PGAS_NET="${NET:-auto:lo}"
least=1
[ $# -gt 0 ] || {
	least=90
	set -- rma amo amo_edges msg msg_flow msg_match tagged cq cq_wait cntr mr hmem hmem_msg order stress ep av \
		errors leave wait threads death progress
}
again "the link ($FI_PGAS_NET)" $least "$@"
