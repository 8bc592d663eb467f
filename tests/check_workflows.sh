#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The workflows of continuous integration can be parsed, and the scripts that they call exist: the same ones that people
# call.
set -u
. "$(dirname "$0")/harness.sh"
[ -d "$src/.github/workflows" ] || skip "a tarball has no workflows"
called() { # paths of scripts in "run:" lines, as they stand there
	grep -hoE '(^|[ :"])(\./|\.ci/|packaging/|tests/)[A-Za-z0-9_./-]+' "$@" | sed 's/^[ :"]*//' | sort -u
}
for file in "$src"/.github/workflows/*.yml; do
	name=${file##*/}
	for script in $(called "$file"); do
		case $script in ./packages* | ./hello | *.log) continue ;; esac # what they make
		case $script in */Containerfile) [ -f "$src/$script" ] ;; *) [ -x "$src/$script" ] ;; esac
		check "$name: $script"
	done
	if python_has yaml; then
		python3 - "$file" >"$work/out" 2>&1 <<'TEXT'
import sys, yaml
flow = yaml.safe_load(open(sys.argv[1]))
assert flow["name"] and flow[True], "no name, or no event"  # "on" is a boolean in YAML 1.1
assert flow["permissions"] == {"contents": "read"}, "more rights than it needs"
for name, job in flow["jobs"].items():
    assert job["runs-on"] and job["timeout-minutes"], name + ": no machine, or no end"
    for step in job["steps"]:
        assert ("run" in step) != ("uses" in step), name + ": a step runs or uses something"
TEXT
		check "$name: well-formed"
	else
		not_run "$name: no YAML for python3"
	fi
done
grep -q '^ *- run: \.ci/run$' "$src/.github/workflows/check.yml"
check "check.yml runs .ci/run"
# rpmbuild stops if one of these is not installed
for package in $(sed -n 's/^BuildRequires: *\([a-z][a-z+-]*\)$/\1/p' "$src/packaging/rpm/pgas.spec"); do
	grep -Eq "^ .* ${package%%+*}[+]*( |\$)" "$src/.github/workflows/packages.yml"
	check "packages.yml installs $package, which pgas.spec asks for"
done
finish
