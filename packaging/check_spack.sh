#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Python loads the Spack recipe with stand-ins for Spack's own modules, as in 0.23 and in 1.0; configure must know every
# option that the recipe passes, with all variants on and with all of them off.
set -u
. "$(dirname "$0")/../tests/harness.sh"
command -v python3 >/dev/null || skip "no python3"
[ -x "$src/configure" ] || skip "no configure"
cat >"$work/read.py" <<'TEXT'
import sys, types

recipe, modern, on = sys.argv[1], sys.argv[2] == "1.0", sys.argv[3] == "on"
said = []


class AutotoolsPackage:
    def enable_or_disable(self, name):
        return [("--enable-" if on else "--disable-") + name]


class Spec:
    """every variant is on, or none; a dependency lies in a folder of its name"""

    def __contains__(self, what):
        return on == what.startswith("+")

    def __getitem__(self, name):
        return types.SimpleNamespace(prefix="/opt/" + name)


def module(name, **names):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(names)


def directive(*arguments, **named):
    said.append(arguments[0])


words = dict.fromkeys(["license", "version", "variant", "depends_on", "requires", "conflicts"], directive)
words["join_path"] = "/".join
if modern:
    for name in ["spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"]:
        module(name)
    module("spack_repo.builtin.build_systems.autotools", AutotoolsPackage=AutotoolsPackage)
else:
    words["AutotoolsPackage"] = AutotoolsPackage
module("spack")
module("spack.package", **words)
names = {}
exec(compile(open(recipe).read(), recipe, "exec"), names)
package = names["Pgas"]()
package.spec = Spec()
assert "libfabric@1.17:" in said, said
print("\n".join(package.configure_args()))
TEXT
"$src/configure" --help >"$work/help" 2>"$work/err"
check "configure --help"
for spack in 0.23 1.0; do
	for variants in on off; do
		python3 -B "$work/read.py" "$src/packaging/spack/package.py" $spack $variants >"$work/out" 2>&1
		check "Spack $spack, variants $variants: the recipe is read"
		sed 's/=.*//; s/^--without-/--with-/; s/^--\(en\|dis\)able-//' "$work/out" | while read -r option; do
			grep -Eq -e "(^| |able-)$option(\[|=| |\$)" "$work/help" || echo "configure knows no $option"
		done >"$work/unknown"
		[ ! -s "$work/unknown" ] || cat "$work/unknown" >>"$work/out"
		[ "$(grep -c . "$work/out")" = 5 ]
		check "Spack $spack, variants $variants: configure knows its options"
	done
done
finish
