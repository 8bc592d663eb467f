#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# One layout for all folders: make check-format, and a test of make check. The rules are in check_format.awk;
# CONTRIBUTING.md explains them. They depend on no tool of a particular version. If clang-format 14 is installed, it
# checks C and C++ as well.
#
#   check_format.sh              the rules themselves with bad lines, then the whole tree
#   check_format.sh FILE...      these files only, named relative to the top folder
here=$(cd "$(dirname "$0")" && pwd) || exit 99
top=$(dirname "$here")
LC_ALL=C
export LC_ALL
failed=0
all=0 # 1: the whole tree, so that an exception that no file needs is wrong too
work=$(mktemp -d "${TMPDIR:-/tmp}/format.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT

# The files of the tree, except generated files and data. A tree without git is taken as unpacked, perhaps with a build
# inside it.
list_files() {
	if [ -e "$top/.git" ] && git -C "$top" ls-files >"$work/tracked" 2>/dev/null; then
		(cd "$top" && while read -r name; do [ ! -f "$name" ] || echo "$name"; done) <"$work/tracked"
	else
		(cd "$top" && find . -mindepth 1 \( -name .git -o -name 'build*' -o -name '_*' -o -name autom4te.cache \
			-o -name .libs -o -name .deps -o -type d -exec test -e '{}/config.status' \; \) -prune \
			-o -type f -print) | sed 's|^\./||' |
			grep -v -x -e 'aclocal\.m4' -e 'm4/libtool\.m4' -e 'm4/lt.*\.m4' -e 'config\.h.*' \
				-e 'shmem/tests/api_test\.c' -e 'shmem/tests/stub\.c' -e 'shmem/tests/generic_test.*' \
				-e 'gasnet-conduit/tests/gasnet_api\.c'
	fi
}

# Sets kind to the rules that apply to a file; empty for data.
kind_of() {
	kind=
	case $1 in
	docs/*.svg | docs/*.json | docs/*.txt | */tests/data/* | LICENSE) ;;
	*.c | *.h) kind=c ;;
	*.cpp | *.hpp) kind=cxx ;;
	*.S) kind=asm ;;
	*.def | *.map) kind=table ;;
	*.sh | *.awk | quickstart | .ci/run | tests/clean_root | tests/verbs/run | */bin/*.in) kind=script ;;
	bench/verbs_compare | docs/site/make_site) kind=script ;;
	*.py | *.pyi | *.py.in) kind="python" ;;
	*.m4 | configure.ac) kind="m4" ;;
	Makefile.am | */Makefile.include | */Makefile.frag | *.mak.in | */pin/makefile*) kind="make" ;;
	*.[137]) kind="man" ;;
	*.md | */README) kind=markdown ;;
	*.pc.in | .clang-format | .editorconfig | .gitignore | .git-blame-ignore-revs | *.toml) kind=plain ;;
	esac
}

# Reads names, relative to the current folder; prints what is wrong with these files.
look() {
	set --
	while read -r name; do
		kind_of "$name"
		[ -n "$kind" ] || continue
		set -- "$@" "kind=$kind" "./$name"
		# what the substitution leaves of a last byte that is not a newline
		[ -z "$(tail -c 1 "$name")" ] || echo "$name: no newline at the end"
	done
	[ $# = 0 ] || awk -v all="$all" -f "$here/check_format.awk" "$@"
}

# $1: a file's name, $2: the expected complaint, or "nothing", $3: the file's text for printf.
try() {
	mkdir -p "$work/self"
	# shellcheck disable=SC2059  # a format on purpose
	printf "$3" >"$work/self/$1"
	said=$(cd "$work/self" && echo "$1" | look)
	tried=$((tried + 1))
	case $2:$said in
	nothing:) return ;;
	nothing:*) ;;
	*) case $said in *"$2"*) return ;; esac ;;
	esac
	echo "FAIL: $1 should show '$2' and shows '$said':"
	sed 's/^/    /' "$work/self/$1"
	failed=1
}

# The same for lines that follow the SPDX line.
spdx='SPDX-License-Identifier: BSD-3-Clause'
c() { try a.c "$1" "/* $spdx */\n$2\n"; }
cxx() { try a.cpp "$1" "// $spdx\n$2\n"; }
script() { try a.sh "$1" "#!/bin/sh\n# $spdx\n$2\n"; }

# The rules must find bad lines, or the result means nothing.
self_test() {
	tried=0
	long=$(printf '%0100d' 0)
	dashes=$(printf '%0100d' 0 | tr 0 -)
	c nothing '/* words */\n\tint x; /* "//" */\n\tchar *s = "// /*";'
	c nothing '/*\n * words\n */\n\n\tint c = '"'\"'"'; /* 0x */\n#define X \\\n\tx'
	c 'a // comment in C' '\tint x; // no'
	c 'indented by blanks' '    int x;'
	c 'indented by other than tabs' '\t \tint x;'
	c 'indented by other than tabs' '\t        int x;'
	c 'blanks at the end' '\tint x; '
	c 'carriage return' '\tint x;\r'
	c 'columns; a line' "\t\t\t/* $long */"
	c nothing "\t/* $long */"
	c nothing "/* ä${long}1234567890123 */"
	c nothing "/* --- words ----$dashes */"
	c 'a broken ruler' '/* --- words --- */'
	c 'a broken ruler' "/* ---- words\n * $dashes */"
	c 'a broken ruler' "/* ---  -------------$dashes"
	c '601 lines' "$(seq 600 | sed 's/.*/int a&;/')"
	cxx nothing '// words\n\tauto x = 1'"'"'000; // "/*"'
	cxx nothing '#define X(a) /* of a macro */ \\\n\ta'
	cxx 'a /* */ comment in C++' '\tint x; /* no */'
	cxx nothing "// --- words -------$dashes"
	cxx 'a broken ruler' "// $dashes"
	script nothing 'echo'
	script 'a broken ruler' "# --- words $dashes"
	script '602 lines' "$(seq 600)"
	try a.c 'the SPDX line is not first' 'int x;\n'
	try a.sh 'the SPDX line is not first' '#!/bin/sh\necho\n'
	try a.c 'no newline at the end' "/* $spdx */\nint x;"
	try a.h nothing "/* $spdx */\n#ifndef A_H\n#define A_H\n#endif\n"
	try a.h 'no #ifndef' "/* $spdx */\n#ifndef A_H\n#define B_H\n#endif\n"
	try a.hpp nothing "// $spdx\n// words\n#pragma once\n"
	try a.hpp 'no #pragma once' "// $spdx\n#include <x>\n#pragma once\n"
	try a.py nothing "# $spdx\n\"\"\"words\"\"\"\nif x:\n    y()\n"
	try a.py 'the SPDX line is not first' 'x = 1\n'
	try a.py 'a tab' "# $spdx\nif x:\n\ty()\n"
	try a.py 'columns; a line' "# $spdx\n# $long$long\n"
	try a.md nothing "| $long$long |\n"
	try a.md nothing "see https://$long$long\n"
	try a.md 'columns; a line' "$long$long\n"
	[ $failed -ne 0 ] || echo "ok: the rules see what is wrong ($tried tries)"
}

# Only version 14: other versions lay out some lines differently.
clang_format() {
	tool=$(command -v clang-format-14) || tool=$(command -v clang-format) || tool=
	case $(${tool:-true} --version 2>/dev/null) in
	*' version 14.'*) ;;
	*) echo "left out: clang-format 14 is not installed"; return ;;
	esac
	grep -E '\.(c|h|cpp|hpp)$' "$work/list" >"$work/c_list"
	if (cd "$top" && xargs -r -n 40 -P 2 "$tool" --dry-run -Werror <"$work/c_list") >"$work/said" 2>&1; then
		echo "ok: $(wc -l <"$work/c_list") files by clang-format 14"
	else
		head -60 "$work/said"
		echo "FAIL: clang-format 14 would lay them out differently: $tool -i FILE"
		failed=1
	fi
}

if [ $# -gt 0 ]; then
	printf '%s\n' "$@" >"$work/list"
else
	self_test
	list_files >"$work/list"
	number=$(wc -l <"$work/list")
	[ "$number" -ge 400 ] || { echo "FAIL: only $number files found"; failed=1; }
	all=1
fi
(cd "$top" && look <"$work/list") >"$work/found" || { echo "FAIL: awk does not run"; failed=1; }
if [ -s "$work/found" ]; then
	cat "$work/found"
	echo "FAIL: $(wc -l <"$work/found") places; CONTRIBUTING.md, \"Layout of text\", has the rules"
	failed=1
else
	echo "ok: $(wc -l <"$work/list") files"
fi
clang_format
exit $failed
