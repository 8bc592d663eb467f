#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_budgets.sh: the contract: no path of ours that is built exceeds its budget.
. "${srcdir:-.}/instr-count/tests/common.sh"

"$IC" check 'shmem_*' 'fi_*' 'gasnet_*' 'upc_*' || bad "over budget"
exit $failed
