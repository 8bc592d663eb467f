# SPDX-License-Identifier: BSD-3-Clause
#
# fortran_types.awk: how a prototype of data/openshmem_api.txt reads in Fortran. Part of gen_module.awk and
# gen_names_test.awk.
#
# What a pointer is: an array (assumed size) where the call has a number of elements, otherwise one variable; what C
# calls void * is a type(c_ptr) by value. Arguments that may be NULL in C are optional: an absent one of a bind(C)
# procedure is NULL. All data is target, so that the compiler knows that other calls (quiet, wait) may change it later.

function trim(s) { sub(/^ +/, "", s); sub(/ +$/, "", s); return s }

function fail(text) {
	print "fortran_types.awk: line " NR ": " text > "/dev/stderr"
	exit failed = 1
}

# the Fortran type of a C type without pointers
function fortran_type(c) {
	if (c in ftype)
		return ftype[c]
	fail("no Fortran type for " c)
}

# a prototype -> RET, N, and for each parameter NAME[i], CTYPE[i], and KIND[i]: value, address, array, scalar
function parse(name, proto,    at, params, a, i, d, v, counted) {
	at = index(proto, name "(")
	if (at == 0)
		fail(name " is not in its prototype")
	RET = trim(substr(proto, 1, at - 1))
	sub(/^_Noreturn /, "", RET)
	params = substr(proto, at + length(name) + 1)
	sub(/\)$/, "", params)
	counted = params ~ /(nelems|nreduce|nblocks|npes)/ || params ~ /char \*name/
	N = params == "void" ? 0 : split(params, a, ",")
	for (i = 1; i <= N; i++) {
		d = trim(a[i])
		v = d
		sub(/^.*[ *]/, "", v)
		d = trim(substr(d, 1, length(d) - length(v)))
		NAME[i] = tolower(v)
		CONST[i] = sub(/^const /, "", d)
		if (d == "void *") {
			KIND[i] = "address"
		} else if (sub(/ \*$/, "", d)) {
			KIND[i] = counted && v !~ /^(sig_addr|fetch)$/ || v ~ /^p(Sync|Wrk)$/ ? "array" : "scalar"
		} else {
			KIND[i] = "value"
		}
		CTYPE[i] = d
		MAYBE[i] = CONST[i] && v ~ /^(status|.*config)$/
		OUT[i] = !CONST[i] && v ~ /^(initialized|provided|major|minor|name|indices|config|.*_team|team|ctx)$/
	}
}

# the declaration of parameter i in an interface body; type: what TYPE stands for
function declaration(i, type,    text) {
	if (KIND[i] == "address")
		return "type(c_ptr), value :: " NAME[i]
	text = CTYPE[i] == "TYPE" ? type : fortran_type(CTYPE[i])
	if (KIND[i] == "value")
		return text ", value :: " NAME[i]
	text = text ", intent(" (CONST[i] ? "in" : OUT[i] ? "out" : "inout") "), "
	text = text (MAYBE[i] ? "optional" : "target") " :: " NAME[i]
	return text (KIND[i] == "array" ? "(*)" : "")
}

function arguments(    i, text) {
	for (i = 1; i <= N; i++)
		text = text (i > 1 ? ", " : "") NAME[i]
	return text
}

# a name of Fortran cannot begin with _
function fortran_name(name) { sub(/^_/, "", name); return name }

# prints a line, folded where it is too long for the standard, but not within bind(C, name=...)
function put(text,    indent, at) {
	match(text, /^ */)
	indent = substr(text, 1, RLENGTH)
	while (length(text) > 118) {
		for (at = 114; at > 40 && (substr(text, at, 2) != ", " || substr(text, at - 1, 1) == "C"); at--)
			;
		print substr(text, 1, at) " &"
		text = indent "    " substr(text, at + 2)
	}
	print text
}

BEGIN {
	FS = " [|] "
	failed = 0
	word_count = split("void - char character(kind=c_char) short integer(c_short) int integer(c_int) " \
		"long integer(c_long) float real(c_float) double real(c_double) size_t integer(c_size_t) " \
		"ptrdiff_t integer(c_intptr_t) int8_t integer(c_int8_t) int16_t integer(c_int16_t) " \
		"int32_t integer(c_int32_t) int64_t integer(c_int64_t) uint8_t integer(c_int8_t) " \
		"uint16_t integer(c_int16_t) uint32_t integer(c_int32_t) uint64_t integer(c_int64_t) " \
		"shmem_team_t type(shmem_team_t) shmem_ctx_t type(shmem_ctx_t) " \
		"shmem_team_config_t type(shmem_team_config_t) " \
		"shmem_ctx_session_config_t type(shmem_ctx_session_config_t)", words, " ")
	for (i = 1; i < word_count; i += 2)
		ftype[words[i]] = words[i + 1]
	ftype["long double"] = "real(c_long_double)"
	ftype["long long"] = "integer(c_long_long)"
	ftype["signed char"] = ftype["unsigned char"] = "integer(c_signed_char)"
	ftype["unsigned short"] = "integer(c_short)"
	ftype["unsigned int"] = "integer(c_int)"
	ftype["unsigned long"] = "integer(c_long)"
	ftype["unsigned long long"] = "integer(c_long_long)"
	ftype["double _Complex"] = "complex(c_double_complex)"
	ftype["float _Complex"] = "complex(c_float_complex)"
	# The types among which a generic name chooses: each type of Fortran once, by the name that most calls have. The
	# second word stands in where a (deprecated) call lacks the first.
	generic_count = split("int8 int16 int32 int64 float double longdouble complexf complexd", generic_types, " ")
	second_type["int16"] = "short"
	second_type["int32"] = "int"
	second_type["int64"] = "long"
	generic_type["int8"] = "integer(c_int8_t)"
	generic_type["int16"] = "integer(c_int16_t)"
	generic_type["int32"] = "integer(c_int32_t)"
	generic_type["int64"] = "integer(c_int64_t)"
	generic_type["float"] = "real(c_float)"
	generic_type["double"] = "real(c_double)"
	generic_type["longdouble"] = "real(c_long_double)"
	generic_type["complexf"] = "complex(c_float_complex)"
	generic_type["complexd"] = "complex(c_double_complex)"
	# what this module does not have, with the reason
	exception["shmem_pcontrol"] = "takes a variable number of arguments"
	generic_exception["shmem_global_exit"] = "is the C name itself"
	generic_exception["shmem_sync"] = "is a subroutine of active sets already, this one a function: shmem_team_sync"
}
