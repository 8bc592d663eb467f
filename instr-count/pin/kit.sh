#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# kit.sh DIR: checks whether DIR is a Pin kit with which our tools can be built and run. Prints what was found, or
# prints what is missing on standard error (status 1). configure --with-pin=DIR calls it.
kit=$1

complain() {
	echo "$*" >&2
	exit 1
}
need() {
	[ "$1" "$kit/$2" ] || complain "$kit has no $2: is it the top folder of a Pin kit for Linux?"
}

[ -d "$kit" ] || complain "$kit is no folder"
need -x pin
need -x intel64/bin/pinbin
need -f source/include/pin/pin.H
need -f intel64/lib/libpin.a
need -f source/tools/Config/makefile.config
need -f source/tools/Config/makefile.default.rules

# "Pin: pin-3.31-98869-fa6f126a8"
version=$(timeout -s KILL 20 "$kit/pin" -version 2>/dev/null |
	sed -n 's/.*\(pin-[a-z-]*[0-9][0-9]*\.[0-9][^ ]*\).*/\1/p' | head -n 1)
[ -n "$version" ] || complain "$kit/pin -version does not say its version"
major=$(echo "$version" | sed 's/^pin-[a-z-]*\([0-9]*\)\..*/\1/')
[ "$major" -ge 3 ] || complain "$kit is $version; the tools need Pin 3"
[ "$major" -eq 3 ] || version="$version (the tools were written for Pin 3)"
echo "$version in $kit"
