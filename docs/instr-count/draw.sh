#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# draw.sh: makes the pictures in this folder from its result files. INSTR_COUNT names the command, of a build tree by
# default.
set -e
here=$(cd "$(dirname "$0")" && pwd)
command=${INSTR_COUNT:-$here/../../build/instr-count/instr-count}
"$command" report --svg --from "$here/x86_64.json" -o "$here/report.svg"
"$command" report --latency-svg --cpi 1 --ghz 2.1 --from "$here/x86_64.json" -o "$here/latency.svg"
