# SPDX-License-Identifier: BSD-3-Clause
# What tests/check_pairs.sh runs over all C and C++ files, twice: awk -f check_pairs.awk pass=1 FILE... pass=2 FILE...
# Pass 1 collects the comments "pairs with ACCESS in FUNCTION()", pass 2 the bodies of all functions they name.

BEGIN {
	# An access has its name of pgas_atomic.h; the same with the compiler's or the library's atomics counts as well.
	how["load_acquire"] = "pgas_load_(word_)?acquire\\(|__atomic_load(_n)?\\([^;]*__ATOMIC_(ACQUIRE|SEQ_CST)|" \
		"load\\(std::memory_order_(acquire|seq_cst)"
	how["store_release"] = "pgas_store_release\\(|__atomic_store(_n)?\\([^;]*__ATOMIC_(RELEASE|SEQ_CST)|" \
		"store\\([^;]*memory_order_(release|seq_cst)"
	how["add_release"] = "pgas_add_release\\(|_fetch_add\\([^;]*__ATOMIC_(RELEASE|ACQ_REL|SEQ_CST)|" \
		"fetch_(add|sub)\\([^;]*memory_order_(release|acq_rel|seq_cst)"
	how["claim"] = "pgas_claim(_to_write)?\\(|compare_exchange"
	how["swap"] = "pgas_swap_[a-z_]*\\(|_exchange_n\\(|\\.exchange\\("
	how["fence"] = "pgas_fence_[a-z_]*\\(|_thread_fence\\(|membarrier"
	how["load"] = "pgas_load_[a-z_]*\\(|__atomic_load|load\\("
	how["store"] = "pgas_store_[a-z_]*\\(|__atomic_store|store\\("
	how["add"] = "pgas_add_[a-z_]*\\(|_fetch_add|fetch_add\\("
	how["acquire"] = how["load_acquire"] "|" how["claim"] "|pgas_fence_acquire\\(|pgas_swap_acq_rel\\("
	how["release"] = how["store_release"] "|" how["add_release"] "|" how["claim"] \
		"|pgas_fence_stores\\(|pgas_fence_store_store\\(|pgas_swap_acq_rel\\("
	how[""] = how["acquire"] "|" how["release"] "|" how["fence"] "|" how["load"] "|" how["store"] "|" how["add"]
}

# Splits a line into code and comment (globals); what is in quotes is left out of the code. in_block lives on.
function split_line(s,   mark) {
	code = comment = ""
	while (s != "") {
		if (in_block) {
			if (!index(s, "*/")) {
				comment = comment s
				return
			}
			comment = comment substr(s, 1, index(s, "*/") - 1)
			s = substr(s, index(s, "*/") + 2)
			in_block = 0
		} else if (match(s, /"|'|\/\*|\/\//)) {
			code = code substr(s, 1, RSTART - 1)
			mark = substr(s, RSTART, RLENGTH)
			s = substr(s, RSTART + RLENGTH)
			if (mark == "//") {
				comment = comment s
				return
			} else if (mark == "/*") {
				in_block = 1
			} else if (!(mark == "'" && code ~ /[0-9a-fA-F]$/ && s ~ /^[0-9a-fA-F]/)) {
				s = match(s, mark == "'" ? "^([^'\\\\]|\\\\.)*'" : "^([^\"\\\\]|\\\\.)*\"") ? \
					substr(s, RLENGTH + 1) : ""
			}
		} else {
			code = code s
			return
		}
	}
}

FNR == 1 {
	in_block = in_macro = deep = functions = 0
	declared = text = ""
	file = FILENAME
	sub(/^\.\//, "", file)
}

{ split_line($0) }

# --- pass 1: comments -------------------------------------------------------------------------------------------------

pass == 1 && comment == "" { end_comment() }
pass == 1 && comment != "" {
	# one that stands behind code ends with its line, if it is not a block that goes on
	if (code ~ /[^ \t]/ && text !~ /[Pp]airs with[^.:;]*$/)
		end_comment()
	sub(/^[ \t]*\*/, "", comment)
	sub(/\\$/, "", comment)
	if (text == "" || text !~ /[Pp]airs with/)
		started = FNR
	text = text " " comment
	if (code ~ /[^ \t]/ && !in_block)
		end_comment()
}

# The comment that has just ended: everything behind "pairs with", up to the end of that sentence or part of it.
function end_comment(   phrase) {
	while (match(text, /[Pp]airs with /)) {
		text = substr(text, RSTART + RLENGTH)
		phrase = text
		gsub(/::/, "\001", phrase)
		sub(/[;:]( .*)?$/, "", phrase)
		sub(/\. .*$/, "", phrase)
		gsub(/\001/, "::", phrase)
		remember(phrase)
	}
	text = ""
}

function remember(phrase,   access, rest, names, name) {
	gsub(/[ \t]+/, " ", phrase)
	access = phrase
	sub(/^the /, "", access)
	if (access ~ /^[a-z_]+( of [A-Za-z_]+)? in /) {
		sub(/ .*/, "", access)
		if (!(access in how) && substr(access, 1, length(access) - 1) in how)
			sub(/s$/, "", access) # fences in one() and another()
	} else {
		access = ""
	}
	names = ""
	for (rest = phrase; match(rest, /[A-Za-z_~][A-Za-z0-9_~:]*\(\)/); rest = substr(rest, RSTART + RLENGTH)) {
		name = substr(rest, RSTART, RLENGTH - 2)
		names = names " " name
		wanted[last_of(name)] = 1
	}
	pairs++
	pair_file[pairs] = file
	pair_at[pairs] = file ":" started
	pair_access[pairs] = access
	pair_names[pairs] = names
	pair_phrase[pairs] = phrase
}

function last_of(name) {
	sub(/.*::/, "", name)
	return name
}

# --- pass 2: bodies ---------------------------------------------------------------------------------------------------

pass == 2 { text = ""; take_code() }

function take_code(   name) {
	gsub(/[ \t]+/, " ", code)
	if (in_macro || code ~ /^#/) {
		if (!in_macro && match(code, /^# ?define [A-Za-z_0-9]+/)) {
			macro = substr(code, 1, RLENGTH)
			sub(/.* /, "", macro)
			known[macro] = known[macro] " " file " " macro
		}
		if (macro != "")
			body[file " " macro] = body[file " " macro] " " code
		in_macro = code ~ /\\$/
		if (!in_macro)
			macro = ""
		return
	}
	take_tokens(code)
}

function take_tokens(s,   mark) {
	while (match(s, /[{};]/)) {
		mark = substr(s, RSTART, 1)
		take_text(substr(s, 1, RSTART - 1))
		s = substr(s, RSTART + 1)
		if (mark == "{")
			open_brace()
		else if (mark == "}")
			close_brace()
		else if (functions)
			take_text(mark)
		declared = ""
	}
	take_text(s)
}

function take_text(s) {
	if (functions)
		body[current] = body[current] s
	else
		declared = declared " " s
}

function open_brace(   name) {
	deep++
	kind[deep] = "block"
	owner[deep] = owner[deep - 1]
	if (functions) {
		functions++
		return
	}
	name = function_in(declared)
	if (name != "") {
		if (name !~ /::/ && owner[deep] != "")
			name = owner[deep] "::" name
		functions = 1
		if (!((name, file) in seen)) {
			seen[name, file] = 1
			known[last_of(name)] = known[last_of(name)] " " file " " name
		}
		current = file " " name
		body[current] = body[current] " "
	} else if (match(declared, /(struct|class|union) [^;]*$/)) {
		name = substr(declared, RSTART)
		sub(/ ?:[^:].*/, "", name)
		sub(/ *(final)? *$/, "", name)
		sub(/.* /, "", name)
		owner[deep] = name
	}
}

function close_brace() {
	if (deep > 0)
		deep--
	if (functions)
		functions--
}

# The name of the function that a brace behind this text begins, or nothing: the word in front of the first parentheses
# that are no macro's and no attribute's.
function function_in(s,   name, open) {
	if (s ~ /(^| )(namespace|enum) / || s ~ /[^=!<>]=[^=]*$/)
		return ""
	while (match(s, /[A-Za-z_~][A-Za-z0-9_~:]* ?\(/)) {
		name = substr(s, RSTART, RLENGTH - 1)
		sub(/ $/, "", name)
		s = substr(s, RSTART + RLENGTH)
		if (name ~ /[a-z]/ && name !~ /^(__attribute__|alignas|decltype|noexcept|requires|gnu::.*)$/)
			return name
		for (open = 1; open > 0 && match(s, /[()]/); s = substr(s, RSTART + 1))
			open += substr(s, RSTART, 1) == "(" ? 1 : -1
	}
	return ""
}

# --- what was found ---------------------------------------------------------------------------------------------------

# Every body of that name; with a class before it, of that class. Names repeat: those of the comment's own file go
# first, then those of its top folder.
function bodies_of(name, from,   list, n, i, near, here, folder, all) {
	here = near = all = ""
	folder = from
	sub(/\/.*/, "/", folder)
	n = split(known[last_of(name)], list, " ")
	for (i = 1; i < n; i += 2) {
		if (name ~ /::/ && list[i + 1] != name &&
		    substr(list[i + 1], length(list[i + 1]) - length(name) - 1) != "::" name)
			continue
		all = all " " body[list[i] " " list[i + 1]]
		if (index(list[i], folder) == 1)
			near = near " " body[list[i] " " list[i + 1]]
		if (list[i] == from)
			here = here " " body[list[i] " " list[i + 1]]
	}
	return here != "" ? here : near != "" ? near : all
}

function judge(i,   list, n, j, said, text) {
	n = split(pair_names[i], list, " ")
	if (n == 0) {
		print pair_at[i] ": \"pairs with " pair_phrase[i] "\" names no function(); say: pairs with ACCESS in " \
			"FUNCTION()"
		return
	}
	if (!(pair_access[i] in how))
		how[pair_access[i]] = "pgas_" pair_access[i] "\\("
	for (j = 1; j <= n; j++) {
		text = bodies_of(list[j], pair_file[i])
		if (text == "")
			print pair_at[i] ": there is no function " list[j] "()"
		else if (text !~ how[pair_access[i]])
			print pair_at[i] ": " list[j] "() holds no " (pair_access[i] == "" ? "access" : pair_access[i])
	}
}

END {
	for (i = 1; i <= pairs; i++)
		judge(i)
	print "pairs: " pairs + 0
}
