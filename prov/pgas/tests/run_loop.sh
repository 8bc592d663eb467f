#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The provider's tests over the loopback wire: the ranks of a team are threads of one process, and FI_PGAS_LOOP=1 gives
# them a wire that completes later, refuses operations now and then, and can do no more than the table of pgas_wire.hpp
# demands. A test that passes here needs no shared memory. The programs load the library that has that wire instead of
# the one that they were linked with. run_loop.sh NAME...: only these tests.
. "$(dirname "$0")/prov_again.sh"
programs=prov/pgas/tests/.libs
LD_LIBRARY_PATH=$PWD/prov/pgas/tests/loop/.libs:$PWD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH TEST_ONE_PROCESS=1 FI_PGAS_LOOP=1
least=1
[ $# -gt 0 ] || {
	least=60
	set -- rma amo msg msg_match tagged cq cq_wait cntr mr hmem hmem_msg order stress progress wait ep
}
again "the loopback wire" $least "$@"
