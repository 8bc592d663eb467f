#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# fake_pin.sh DIR: creates a folder that looks like a Pin kit, for tests where there is no real kit. Its makefiles build
# a "tool" from each source, and its pin runs the program and writes what path_count.so would write for calls of five
# instructions. It does not show how a real kit handles our tools.
set -e
kit=$1
mkdir -p "$kit/intel64/bin" "$kit/intel64/lib" "$kit/source/include/pin" "$kit/source/tools/Config"
: >"$kit/source/include/pin/pin.H"
: >"$kit/intel64/lib/libpin.a"
cat >"$kit/pin" <<'EOF'
#!/bin/sh
case $1 in -version) echo "Pin: pin-3.99-12345-fake"; exit 0 ;; esac
while [ $# -gt 0 ]; do
	case $1 in
	-t) tool=$2; shift ;;
	-calls) calls=$2; shift ;;
	-o) out=$2; shift ;;
	--) shift; break ;;
	esac
	shift
done
grep -q 'made of path_count.cpp' "$tool" || { echo "fake pin: $tool is no tool" >&2; exit 9; }
"$@" || exit
{
	echo "# path_count 1"
	while [ "$calls" -gt 0 ]; do
		printf 'call\t5\t0\nat\t/fake/image\t0x10\t5\tf\n'
		calls=$((calls - 1))
	done
} >"$out"
EOF
cp "$kit/pin" "$kit/intel64/bin/pinbin"
chmod +x "$kit/pin" "$kit/intel64/bin/pinbin"
cat >"$kit/source/tools/Config/makefile.config" <<'EOF'
TOOLS_ROOT := $(PIN_ROOT)/source/tools
OBJ_SUFFIX := .o
PINTOOL_SUFFIX := .so
OBJDIR ?= obj-intel64/
EOF
cat >"$kit/source/tools/Config/makefile.default.rules" <<'EOF'
all: $(TEST_TOOL_ROOTS:%=$(OBJDIR)%$(PINTOOL_SUFFIX))
$(OBJDIR)%$(OBJ_SUFFIX): %.cpp
	echo "made of $<" >$@
$(OBJDIR)%$(PINTOOL_SUFFIX): $(OBJDIR)%$(OBJ_SUFFIX)
	cp $< $@
.DEFAULT_GOAL := all
EOF
