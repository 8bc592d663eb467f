# SPDX-License-Identifier: BSD-3-Clause
# within.sh: within TENTHS COMMAND...: until it holds, at most so many tenths of a second, TEST_SLOW times (see tests/README.md).
SLOW=${TEST_SLOW:-5}

within() {
    _left=$(($1 * SLOW))
    shift
    until "$@"; do
        [ $_left -gt 0 ] || return 1
        _left=$((_left - 1))
        sleep 0.1
    done
}
