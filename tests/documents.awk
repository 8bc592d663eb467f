# SPDX-License-Identifier: BSD-3-Clause
#
# documents.awk: the commands of a Markdown file -> a shell script that runs them in order. Variables: place, build or
# installed; document, the name for messages. Before each block of commands (indented by four blanks, or fenced as sh)
# the file has a comment, which readers of the page do not see:
#
#	<!-- commands: run -->				in the build tree and installed
#	<!-- commands: run in the build tree -->	not from an installation
#	<!-- commands: run when installed -->		not in the build tree
#	<!-- commands: run, needs mpirun mpicc -->	where these programs are; after any of the above
#	<!-- commands: not run: REASON -->		what needs another host, root, the network, or too long
#
# A block without one is an error. A block fenced as output has lines that the commands before it have printed, in any
# order; … stands for any text. The script expects the functions document_done STATUS PLACE COMMAND, document_output
# PLACE LINE, document_skip PLACE REASON and document_needs PROGRAM...; $? of a list of commands is that of the list,
# which set -e would not see.

function quote(s) {
	gsub(/'/, "'\\''", s)
	return "'" s "'"
}

function complain(text) {
	print "documents.awk: " document ":" FNR ": " text > "/dev/stderr"
	wrong = 1
}

# what the comment before the block says -> mode: run or skip; reason; programs
function read_mark(text,    rest) {
	mode = "run"
	reason = programs = ""
	if (text ~ /^not run: ./) {
		mode = "skip"
		reason = substr(text, 10)
		return
	}
	rest = text
	if (!sub(/^run/, "", rest))
		complain("unknown mark: " text)
	if (match(rest, /, needs .*$/)) {
		programs = substr(rest, RSTART + 8)
		rest = substr(rest, 1, RSTART - 1)
	}
	if (rest == " in the build tree") {
		if (place != "build") {
			mode = "skip"
			reason = "only in the build tree"
		}
	} else if (rest == " when installed") {
		if (place != "installed") {
			mode = "skip"
			reason = "only when installed"
		}
	} else if (rest != "") {
		complain("unknown mark: " text)
	}
}

function begin_block() {
	block_line = FNR
	if (!marked) {
		complain("commands without a mark that says whether to run them")
		mode = "skip"
		reason = "no mark"
	}
	marked = 0
	blocks++
	if (mode == "skip")
		print "document_skip " quote(document ":" block_line) " " quote(reason)
	else if (programs != "")
		print "if document_needs " quote(document ":" block_line) " " programs "; then"
}

function end_block() {
	if (mode == "run" && programs != "")
		print "fi"
}

# one line of a block; a command goes on after a backslash and inside a here document
function command(line) {
	if (mode == "skip" || (whole == "" && line ~ /^[ \t]*(#.*)?$/))
		return
	if (whole == "")
		first = FNR
	whole = whole (whole == "" ? "" : "\n") line
	if (until == "" && match(line, /<<-?'?[A-Z]+'?/)) {
		until = substr(line, RSTART, RLENGTH)
		gsub(/[^A-Z]/, "", until)
		return
	}
	if (until != "" ? line != until : line ~ /\\$/)
		return
	until = ""
	print whole
	print "document_done $? " quote(document ":" first) " " quote(whole)
	whole = ""
}

in_block && !/^$/ && !/^    / { in_block = 0; end_block() }

/^<!-- commands: .* -->$/ {
	text = $0
	sub(/^<!-- commands: /, "", text)
	sub(/ -->$/, "", text)
	read_mark(text)
	marked = blank = 1
	next
}

# fenced: sh is commands, output is what these print, everything else is neither
/^```/ {
	if (fence == "") {
		fence = $0 == "```sh" ? "commands" : $0 == "```output" ? "output" : "other"
		if (fence == "commands")
			begin_block()
		if (fence == "output" && (mode == "" || programs != ""))
			complain("output of commands that may not have run")
	} else {
		if (fence == "commands")
			end_block()
		fence = ""
	}
	next
}
fence == "commands" { command($0); next }
fence == "output" && mode == "run" { print "document_output " quote(document ":" FNR) " " quote($0) }
fence == "output" { next }
fence == "other" { next }

# indented, after a blank line, and not a part of a list
/^    / && (in_block || blank) && !in_list {
	if (!in_block) {
		in_block = 1
		begin_block()
	}
	command(substr($0, 5))
	blank = 0
	next
}
/^[-*0-9][.]? / { in_list = 1 }
/^[^ \t-]/ && !/^[-*0-9][.]? / { in_list = 0 }
{ blank = /^$/ }
!/^$/ && marked { complain("a mark without commands behind it"); marked = 0 }

END {
	if (in_block)
		end_block()
	if (whole != "" || fence != "")
		complain("a block without an end")
	if (!blocks)
		complain("no commands at all")
	exit wrong
}
