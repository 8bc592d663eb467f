#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_pin.sh: configure --with-pin=DIR, the tools' makefile and the engine, with a folder that only looks like a kit
# (fake_pin.sh). How a real kit handles the tools is not tested, because none is available here.
. "${srcdir:-.}/instr-count/tests/common.sh"
case $src in /*) ;; *) src=$(cd "$src" && pwd) ;; esac

sh "$src/instr-count/tests/fake_pin.sh" "$work/kit"
check "a folder of the shape of a kit is made"

# configure stops at the C compiler, which it checks after the kit.
configure() {
	expect "$1" "$2" env -C "$work/build" CC=false "$src/configure" --build=$3-unknown-linux-gnu \
		--host=$3-unknown-linux-gnu "$4"
}
mkdir "$work/build"
if [ -x "$src/configure" ]; then
	expect 0 "with-pin=DIR" "$src/configure" --help
	configure bad "checking for a Pin kit... pin-3.99-12345-fake in $work/kit\$" x86_64 --with-pin="$work/kit"
	grep -q 'C compiler cannot create executables' "$work/out"
	check "configure went on with the kit"
	configure bad "no/such/folder is no folder" x86_64 --with-pin=no/such/folder
	configure bad "with-pin needs the folder of a Pin kit" x86_64 --with-pin
	configure bad "Pin runs on x86_64 only, and this is aarch64" aarch64 --with-pin="$work/kit"
	configure bad "C compiler cannot create executables" x86_64 --without-pin
else
	not_run "configure --with-pin: no configure in $src"
fi

# the message names any missing part of a kit
for part in pin intel64/bin/pinbin source/include/pin/pin.H intel64/lib/libpin.a \
	source/tools/Config/makefile.config source/tools/Config/makefile.default.rules; do
	mv "$work/kit/$part" "$work/part"
	expect 1 "kit has no $part: " sh "$src/instr-count/pin/kit.sh" "$work/kit"
	mv "$work/part" "$work/kit/$part"
done
expect 0 "^pin-3.99-12345-fake in " sh "$src/instr-count/pin/kit.sh" "$work/kit"
mv "$work/kit/pin" "$work/pin"
for version in 2.14 1; do
	printf '#!/bin/sh\necho Pin: pin-%s-old\n' $version >"$work/kit/pin" && chmod +x "$work/kit/pin"
	expect 1 "needs* Pin 3\|does not say its version" sh "$src/instr-count/pin/kit.sh" "$work/kit"
done
printf '#!/bin/sh\necho pin-external-4.1-new\n' >"$work/kit/pin"
expect 0 "4.1-new (the tools were written for Pin 3)" sh "$src/instr-count/pin/kit.sh" "$work/kit"
mv "$work/pin" "$work/kit/pin"

# the makefile passes both tools to the kit's rules, and the engine runs the results
mkdir -p "$work/dir/pin"
expect 0 '' make -C "$src/instr-count/pin" PIN_ROOT="$work/kit" OBJDIR="$work/dir/pin/"
[ -s "$work/dir/pin/path_count.so" ] && [ -s "$work/dir/pin/path_trace.so" ]
check "both tools are made"
expect bad "PIN_ROOT must name" env -u PIN_ROOT make -C "$src/instr-count/pin"
: >"$work/dir/paths.def"
: >"$work/dir/published.def"
PIN_ROOT="$work/kit" INSTR_COUNT_DIR="$work/dir"
export PIN_ROOT INSTR_COUNT_DIR
expect 0 "min 5, median 5, max 5" "$IC" count --engine pin --calls 4 --entry work -- "$PROG"
expect 5 "status 3 under Pin" "$IC" count --engine pin --entry work -- "$PROG" exit3
expect 5 "did not end within" "$IC" count --engine pin --timeout 1 --entry work -- "$PROG" forever
rm "$work/dir/pin/path_count.so"
expect 6 "path_count.so is not built" "$IC" count --engine pin --entry work -- "$PROG"

finish
