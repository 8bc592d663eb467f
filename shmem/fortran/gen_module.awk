# SPDX-License-Identifier: BSD-3-Clause
#
# gen_module.awk: shmem.h (constants) and data/openshmem_api.txt (calls) -> the Fortran module shmem. After
# fortran_types.awk: awk -f fortran_types.awk -f gen_module.awk shmem.h openshmem_api.txt
#
#   interface bodies    one per C name, bound to it: no code between the program and the library
#   generic names       of calls on single variables: the interface bodies themselves
#                       of calls on arrays: module procedures that take arrays of any rank, and numbers of elements as
#                       default integers or as integer(c_size_t); they pass addresses on and copy nothing
#   shmemx_allocate, shmemx_deallocate, shmemx_peer    symmetric memory as Fortran pointers

# --- constants --------------------------------------------------------------------------------------------------------

function constant(name, value,    kind) {
	# Fortran does not tell SHMEM_SIGNAL_SET from shmem_signal_set
	if (name ~ /^SHMEM_SIGNAL_(SET|ADD)$/)
		sub(/SIGNAL/, "SIGNAL_OP", name)
	if (value ~ /^"/) {
		kind = "character(len=*)"
	} else if (value ~ /^SHMEM_IMPL_HANDLE/) {
		match(value, /\([a-z_]+/)
		kind = substr(value, RSTART + 1, RLENGTH - 1)
		sub(/^.*, */, "", value)
		sub(/\)$/, "", value)
		value = kind "(" value ")"
		kind = "type(" kind ")"
	} else if (value ~ /^\(1L << [0-9]+\)$/) {
		gsub(/[^0-9 ]/, "", value)
		value = "ishft(1_c_long, " substr(value, 4) ")"
		kind = "integer(c_long)"
	} else {
		kind = value ~ /L$/ ? "integer(c_long)" : "integer(c_int)"
		sub(/L$/, "_c_long", value)
	}
	used[tolower(name)] = 1
	constants[++constant_count] = kind ", parameter :: " name " = " value
}

FILENAME ~ /shmem\.h$/ && /^#define SHMEM_[A-Z0-9_]+ / {
	split($0, word, " ")
	text = $0
	sub(/^#define [A-Z0-9_]+ /, "", text)
	if (word[2] !~ /^SHMEM_IMPL_NO/)
		constant(word[2], trim(text))
	next
}

# --- interface bodies -------------------------------------------------------------------------------------------------

function interface_body(name, proto,    fname, i, kind) {
	parse(name, proto)
	fname = fortran_name(name)
	if (tolower(fname) in used)
		fail(fname " has the name of a constant")
	kind = RET == "void" ? "subroutine" : "function"
	body = body "    " kind " " fname "(" arguments() ") bind(C, name=\"" name "\")" \
		(kind == "function" ? " result(answer)" : "") "\n      import\n"
	for (i = 1; i <= N; i++)
		body = body "      " declaration(i, "") "\n"
	if (kind == "function")
		body = body "      " (RET == "void *" ? "type(c_ptr)" : fortran_type(RET)) " :: answer\n"
	body = body "    end " kind " " fname "\n"
}

/^C / {
	c_proto[$2] = $5
	if (!($2 in exception))
		interface_body($2, $5)
}

/^generic / { generic[++generics] = $2; shape[$2] = $5 }

# --- generic names ----------------------------------------------------------------------------------------------------

# the C name of a generic's call for a type, or ""
function c_name(stem, type, call,    name) {
	name = "shmem_" stem type "_" call
	if (name in c_proto)
		return name
	name = "shmem_" stem second_type[type] "_" call
	return type in second_type && name in c_proto ? name : ""
}

function add(text) { code = code text "\n" }

function add_specific(name) { specifics = specifics "    procedure :: " name "\n" }

# A module procedure for a call on arrays, for one type and one kind of numbers. target: the C name that it calls.
# bytes: where that one takes addresses (void *), what its element is of ours; 0: it takes the type itself.
function wrapper(name, target, ctx, label, type, count_kind, bytes,    i, kind, call, self, values, tests) {
	self = "shmem_f_" label "_" (count_kind == "c_int" ? "i4" : "i8")
	add_specific(self)
	kind = RET == "void" ? "subroutine" : "function"
	add("  " kind " " self "(" (ctx ? "ctx, " : "") arguments() ")" (kind == "function" ? " result(answer)" : ""))
	if (ctx)
		add("    type(shmem_ctx_t), value :: ctx")
	values = tests = ""
	call = ctx ? "ctx" : ""
	for (i = 1; i <= N; i++) {
		call = call (call == "" ? "" : ", ")
		if (KIND[i] == "array" && CTYPE[i] == "TYPE") {
			add("    " type ", dimension(..), intent(" (CONST[i] ? "in" : "inout") "), target :: " NAME[i])
			tests = tests "    if (.not. is_contiguous(" NAME[i] ")) "
			tests = tests "call shmem_f_scattered('" name "', '" NAME[i] "')\n"
			if (!bytes) {
				values = values "    " type ", pointer, contiguous :: p_" NAME[i] "(:)\n"
				tests = tests "    call c_f_pointer(c_loc(" NAME[i] "), p_" NAME[i] ", [1])\n"
			}
			call = call (bytes ? "c_loc(" NAME[i] ")" : "p_" NAME[i])
		} else if (KIND[i] == "value" && CTYPE[i] ~ /^(size_t|ptrdiff_t)$/) {
			add("    integer(" count_kind "), value :: " NAME[i])
			call = call (count_kind == "c_int" ? "int(" NAME[i] ", c_size_t)" : NAME[i])
			call = call (bytes > 1 ? " * " bytes : "")
		} else { # one that may be absent is passed on as absent
			add("    " declaration(i, type))
			call = call NAME[i]
		}
	}
	if (kind == "function")
		add("    " (RET == "TYPE" ? type : fortran_type(RET)) " :: answer")
	add(values)
	add(tests "    " (kind == "function" ? "answer = " : "call ") target "(" call ")")
	add("  end " kind " " self "\n")
}

# calls that have no name for complex numbers: those of the same size, or of bytes
function complex_target(ctx, type, call,    tail, name) {
	tail = call
	if (sub(/^i?b?(put|get)/, "", tail)) {
		name = "shmem_" (ctx ? "ctx_" : "") substr(call, 1, length(call) - length(tail)) \
			(type == "complexf" ? "64" : "128") tail
		complex_bytes = 1
	} else {
		name = call ~ /^(broadcast|collect|fcollect|alltoall)$/ && !ctx ? "shmem_" call "mem" : ""
		complex_bytes = type == "complexf" ? 8 : 16
	}
	return name in c_proto ? name : ""
}

function generic_name(name,    call, t, type, ctx, target, arrays, i, bytes, label) {
	call = substr(name, 7)
	parse(name, shape[name])
	arrays = 0
	for (i = 1; i <= N; i++)
		arrays += KIND[i] == "array" && CTYPE[i] == "TYPE"
	specifics = ""
	if (name in c_proto)
		add_specific(name)
	for (ctx = 0; ctx <= 1; ctx++)
		for (t = 1; t <= generic_count; t++) {
			type = generic_types[t]
			bytes = 0
			target = c_name(ctx ? "ctx_" : "", type, call)
			if (target == "" && type ~ /^complex/ && arrays) {
				target = complex_target(ctx, type, call)
				bytes = complex_bytes
			}
			if (target == "" || (target == "shmem_long_wait_until" && name in c_proto))
				continue
			if (!arrays) {
				# shmem_wait_until is also a C name of its own, for long
				if (!(type == "int64" && name in c_proto))
					add_specific(target)
				continue
			}
			label = (ctx ? "ctx_" : "") type "_" call
			wrapper(name, target, ctx, label, generic_type[type], "c_int", bytes)
			wrapper(name, target, ctx, label, generic_type[type], "c_size_t", bytes)
		}
	if (name ~ /^shmem_signal_/)
		add_specific("shmem_ctx_" call)
	if (specifics == "")
		fail("no call for the generic name " name)
	blocks = blocks "  interface " name "\n" specifics "  end interface " name "\n"
}

# --- symmetric memory as Fortran pointers -----------------------------------------------------------------------------

function dims(rank,    i, text) {
	for (i = 1; i <= rank; i++)
		text = text (i > 1 ? "," : "") ":"
	return rank ? "(" text ")" : ""
}

# an array of no elements is allocated as one of one element: NULL means that the heap is full
function allocate_specific(type, rank,    tag, shaped, array, gapless) {
	tag = type "_" rank
	shaped = rank ? ", shape" : ""
	gapless = ", pointer" (rank ? ", contiguous" : "")
	array = "array" dims(rank)
	allocates = allocates "    procedure :: shmem_f_allocate_" tag "\n"
	deallocates = deallocates "    procedure :: shmem_f_deallocate_" tag "\n"
	peers = peers "    procedure :: shmem_f_peer_" tag "\n"

	add("  subroutine shmem_f_allocate_" tag "(array" shaped ")")
	add("    " generic_type[type] gapless ", intent(out) :: " array)
	if (rank)
		add("    integer, intent(in) :: shape(" rank ")")
	add("    " generic_type[type] " :: element\n    integer(c_size_t) :: elements\n    type(c_ptr) :: memory\n")
	add("    elements = " (rank ? "max(1_c_size_t, product(int(shape, c_size_t)))" : "1"))
	add("    memory = shmem_malloc(elements * c_sizeof(element))\n    nullify(array)")
	add("    if (c_associated(memory)) call c_f_pointer(memory, array" shaped ")")
	add("  end subroutine shmem_f_allocate_" tag "\n")

	add("  subroutine shmem_f_deallocate_" tag "(array)")
	add("    " generic_type[type] ", pointer, intent(inout) :: " array "\n    type(c_ptr) :: memory\n")
	add("    memory = c_null_ptr\n    if (associated(array)) memory = c_loc(array)")
	add("    call shmem_free(memory)\n    nullify(array)")
	add("  end subroutine shmem_f_deallocate_" tag "\n")

	add("  subroutine shmem_f_peer_" tag "(array, pe, peer)")
	add("    " generic_type[type] ", target, intent(in)" (rank ? ", contiguous" : "") " :: " array)
	add("    integer(c_int), value :: pe\n    " generic_type[type] gapless ", intent(out) :: peer" dims(rank))
	add("    type(c_ptr) :: memory\n\n    memory = shmem_ptr(c_loc(array), pe)\n    nullify(peer)")
	add("    if (c_associated(memory)) call c_f_pointer(memory, peer" (rank ? ", shape(array)" : "") ")")
	add("  end subroutine shmem_f_peer_" tag "\n")
}

function handle_operators(type,    pair, i) {
	for (i = 1; i <= 2; i++) {
		pair = i == 1 ? "equal" : "differ"
		add("  elemental function shmem_f_" type "_" pair "(a, b) result(answer)")
		add("    type(shmem_" type "_t), intent(in) :: a, b\n    logical :: answer\n")
		add("    answer = a%handle " (i == 1 ? "==" : "/=") " b%handle")
		add("  end function shmem_f_" type "_" pair "\n")
	}
}

function lines(text,    a, n, i) {
	n = split(text, a, "\n")
	for (i = 1; i < n; i++)
		put(a[i])
}

END {
	if (failed)
		exit 1
	for (i = 1; i <= generics; i++)
		if (!(generic[i] in generic_exception))
			generic_name(generic[i])
	for (t = 1; t <= generic_count; t++)
		for (rank = 0; rank <= 7; rank++)
			allocate_specific(generic_types[t], rank)
	handle_operators("team")
	handle_operators("ctx")
	if (failed)
		exit 1
	print "! SPDX-License-Identifier: BSD-3-Clause"
	print "! Made by gen_module.awk; do not edit. OpenSHMEM 1.6 for Fortran: shmem(7) says how it maps to C."
	print "module shmem\n  use, intrinsic :: iso_c_binding\n  implicit none\n  public\n"
	print "  type, bind(C) :: shmem_team_t\n    integer(c_intptr_t) :: handle = 0\n  end type shmem_team_t"
	print "  type, bind(C) :: shmem_ctx_t\n    integer(c_intptr_t) :: handle = 0\n  end type shmem_ctx_t"
	print "  type, bind(C) :: shmem_team_config_t\n    integer(c_int) :: num_contexts = 0"
	print "  end type shmem_team_config_t"
	print "  type, bind(C) :: shmem_ctx_session_config_t\n    integer(c_size_t) :: total_ops = 0"
	print "  end type shmem_ctx_session_config_t\n"
	for (i = 1; i <= constant_count; i++)
		put("  " constants[i])
	print "\n  interface"
	lines(body)
	print "  end interface\n"
	lines(blocks)
	lines("  interface shmemx_allocate\n" allocates "  end interface shmemx_allocate\n")
	lines("  interface shmemx_deallocate\n" deallocates "  end interface shmemx_deallocate\n")
	lines("  interface shmemx_peer\n" peers "  end interface shmemx_peer\n")
	print "  interface operator(==)\n    procedure :: shmem_f_team_equal\n    procedure :: shmem_f_ctx_equal"
	print "  end interface\n  interface operator(/=)\n    procedure :: shmem_f_team_differ"
	print "    procedure :: shmem_f_ctx_differ\n  end interface\n  private :: shmem_f_scattered\n\ncontains\n"
	print "  subroutine shmem_f_scattered(call_name, argument)"
	print "    use, intrinsic :: iso_fortran_env, only: error_unit"
	print "    character(len=*), intent(in) :: call_name, argument\n"
	print "    write (error_unit, '(a)') call_name // ': ' // argument // ' is not contiguous in memory: ' // &"
	print "      'pass an array without gaps, or its first element and strides to shmem_iput or shmem_iget'"
	print "    call shmem_global_exit(1_c_int)\n  end subroutine shmem_f_scattered\n"
	lines(code)
	print "end module shmem"
}
