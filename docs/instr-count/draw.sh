#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# draw.sh: makes the pictures in this folder from its result files. INSTR_COUNT names the command, of a build tree by
# default.
set -e
here=$(cd "$(dirname "$0")" && pwd)
command=${INSTR_COUNT:-$here/../../build/instr-count/instr-count}
from="--from $here/x86_64.json --from $here/x86_64-verbs.json"
"$command" report --svg $from -o "$here/report.svg"
"$command" report --latency-svg --cpi 1 $from -o "$here/latency.svg"
