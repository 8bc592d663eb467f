# SPDX-License-Identifier: BSD-3-Clause
# The rules of tests/check_format.sh, for one kind of file after the other: awk -f check_format.awk kind=c FILE...
# kind=cxx FILE... Prints "FILE:LINE: what is wrong". Knows bytes only (LC_ALL=C): a character is a byte that does not
# continue another.

BEGIN {
	# Files whose lines may be longer than 120 columns, and why.
	wide["instr-count/paths.def"] = "a table with one row per counted path, read by column"

	# Headers without a guard of their own, and why.
	unguarded["gasnet-conduit/include/pgas-conduit/gasnet_core.h"] = "includes gasnet.h and nothing else"
	unguarded["shmem/include/mpp/pshmem.h"] = "includes pshmem.h and nothing else"
	unguarded["shmem/include/mpp/shmem.h"] = "includes shmem.h and nothing else"
	unguarded["shmem/include/mpp/shmemx.h"] = "includes shmemx.h and nothing else"
	unguarded["shmem/include/shmem_proto.h"] = "is included twice, with shmem_ and with pshmem_ names"

	# Files that may be longer than 600 lines: none.
	split("", crowded)

	max_columns = 120
	max_lines = 600
}

function complain(line, what) {
	print file ":" line ": " what
}

# Complains, unless the file is one of these exceptions.
function object(exceptions, line, what) {
	if (file in exceptions)
		exceptions[file] = "needed"
	else
		complain(line, what)
}

# An exception that is not needed any more.
function idle(exceptions, name,   i) {
	for (i in exceptions)
		if (exceptions[i] != "needed")
			print i ": needs no exception any more; take it out of \"" name "\" in check_format.awk"
}

# Columns of a line, with a tab stop every 8.
function columns(s,   w, i) {
	gsub(/[\200-\277]/, "", s)
	for (w = 0; (i = index(s, "\t")) > 0; s = substr(s, i + 1))
		w = int((w + i - 1) / 8) * 8 + 8
	return w + length(s)
}

# The line without comments and without what is in quotes. Sets line_comment and block_comment when it has one; in_block
# lives on to the next line.
function code_of(s,   out, mark) {
	out = ""
	line_comment = block_comment = 0
	while (s != "") {
		if (in_block) {
			if (!index(s, "*/"))
				return out
			s = substr(s, index(s, "*/") + 2)
			in_block = 0
		} else if (match(s, /"|'|\/\*|\/\//)) {
			out = out substr(s, 1, RSTART - 1)
			mark = substr(s, RSTART, RLENGTH)
			s = substr(s, RSTART + RLENGTH)
			if (mark == "//") {
				line_comment = 1
				return out
			} else if (mark == "/*") {
				block_comment = in_block = 1
			} else if (mark == "'" && out ~ /[0-9a-fA-F]$/ && s ~ /^[0-9a-fA-F]/) {
				continue # 1'000
			} else {
				out = out mark mark
				s = match(s, mark == "'" ? "^([^'\\\\]|\\\\.)*'" : "^([^\"\\\\]|\\\\.)*\"") ? \
					substr(s, RLENGTH + 1) : ""
			}
		} else {
			return out s
		}
	}
	return out
}

function end_file() {
	if (file == "")
		return
	if (counted && lines > max_lines)
		object(crowded, lines, lines " lines; a file has at most " max_lines)
	if (file ~ /\.hpp$/ && first !~ /^#pragma once$/)
		complain(1, "no #pragma once before everything else")
	if (file ~ /\.h$/ && !guarded)
		object(unguarded, 1, "no #ifndef NAME, #define NAME before everything else")
}

function begin_file() {
	end_file()
	file = FILENAME
	sub(/^\.\//, "", file)
	c = kind == "c" || kind == "cxx"
	counted = c || kind == "asm" || kind == "script" || kind == "python"
	in_block = in_macro = guarded = directives = 0
	first = guard = ""
	spdx = kind == "markdown" || kind == "plain" ? 0 : 1
}

FNR == 1 { begin_file() }

{ lines = FNR }

# --- every file -------------------------------------------------------------------------------------------------------

spdx == FNR && FNR == 1 && /^#!/ { spdx = 2 }
spdx == FNR && $0 !~ /SPDX-License-Identifier: [A-Z]/ && !(spdx == 2 && FNR == 1) {
	complain(FNR, "the SPDX line is not first")
}
/[ \t]$/ { complain(FNR, "blanks at the end") }
/\r/ { complain(FNR, "a carriage return") }
length($0) + 7 * gsub(/\t/, "\t") > max_columns && kind != "plain" && columns($0) > max_columns {
	# a table of Markdown is one line per row, and nothing can break an address
	if (!(kind == "markdown" && (/^ *\|/ || /:\/\//)))
		object(wide, FNR, columns($0) " columns; a line has at most " max_columns)
}
kind == "python" && /\t/ { complain(FNR, "a tab; Python has four blanks") }
(c || kind == "script") && /^[ \t]*(\/\/|\/\*|\*|#) ?--+($| |-)/ && !/^# --[a-z]/ { ruler() }
c { c_line() }
END {
	end_file()
	if (all) {
		idle(wide, "wide")
		idle(crowded, "crowded")
		idle(unguarded, "unguarded")
	}
}

# A ruler is one line of all columns, with its words in it.
function ruler(   words) {
	words = $0
	gsub(/[-\/*# \t]/, "", words)
	if (words == "" || columns($0) != max_columns || $0 !~ /^(\/\*|\/\/|#) --- [^ ].* ---+( \*\/)?$/ ||
	    (/^\/\*/ && !/\*\/$/))
		complain(FNR, "a broken ruler")
}

# --- C and C++ --------------------------------------------------------------------------------------------------------

function c_line(   code, was_block) {
	was_block = in_block
	code = code_of($0)
	if (was_block ? !/^(\t* \*|\t*[^ \t]|$)/ : !/^\t*( ? ? ? ? ? ? ?[^ \t]|$)/)
		complain(FNR, "indented by other than tabs")
	if (!was_block && /^ / && !in_macro)
		complain(FNR, "indented by blanks")
	if (kind == "c" && line_comment)
		complain(FNR, "a // comment in C; it has /* */")
	if (kind == "cxx" && block_comment && !in_macro && !/\\$/)
		complain(FNR, "a /* */ comment in C++; it has //")
	if (first == "" && code ~ /[^ \t]/)
		first = code
	if (code ~ /^#/) {
		directives++
		if (directives == 1 && code ~ /^#ifndef [A-Z][A-Z0-9_]*$/)
			guard = substr(code, 9)
		if (directives == 2 && guard != "" && code == "#define " guard)
			guarded = 1
	}
	in_macro = /\\$/
}
