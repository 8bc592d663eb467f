/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * path_main.c: a Valgrind tool that counts the instructions of one call, by
 * address. It is a program of its own under Valgrind's licence; nothing of the
 * project links it. 'instr-count run --engine valgrind' starts it and reads
 * what it writes.
 *
 *	--entry=FILE:0xADDR  first instruction, as an address in the file; may repeat
 *	--end=FILE:0xADDR    an end mark; may repeat. Without one the call ends at
 *	                     its return
 *	--calls=N            stop counting after so many
 *	--out=FILE           writes FILE.PID: "call TOTAL SYSCALLS", then "at FILE ADDR COUNT ?" per address
 *
 * Each instruction calls a helper: slow, but it follows nothing and guesses
 * nothing. An instruction counts when the next one begins. What the program
 * forks is not counted, and "# forked" says that there was something; a child
 * that becomes another program gets a file of its own.
 */
#include "pub_tool_basics.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_guest.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"

#define MAX_PLACES 64
#define TABLE_SIZE (1u << 18) /* addresses of one call; a power of two */

typedef struct {
	const HChar *file;
	Addr addr;
} Place;

static Place entries[MAX_PLACES], ends[MAX_PLACES];
static UInt n_entries, n_ends;
static Long max_calls = 23;
static const HChar *out_name;

/* The call being counted. */
static ThreadId active; /* 0: none */
static Addr return_addr, return_sp;
static UInt depth; /* of marked code within itself */
static ULong total, syscalls;
static Long calls_done;
static Int out_fd = -1;
static Bool forked;
static Addr keys[TABLE_SIZE];
static ULong counts[TABLE_SIZE];
static UInt used[TABLE_SIZE], n_used;

static UInt slot_of(Addr pc)
{
	UInt index = (UInt)((pc >> 2) * 2654435761u) & (TABLE_SIZE - 1);
	while (keys[index] != 0 && keys[index] != pc)
		index = (index + 1) & (TABLE_SIZE - 1);
	return index;
}

static void count(Addr pc)
{
	UInt index = slot_of(pc);
	if (keys[index] == 0) {
		tl_assert(n_used < TABLE_SIZE / 2);
		keys[index] = pc;
		used[n_used++] = index;
	}
	counts[index]++;
	total++;
}

static void say(const HChar *format, ...)
{
	HChar line[1200];
	va_list args;
	va_start(args, format);
	UInt n = VG_(vsnprintf)(line, sizeof(line), format, args);
	va_end(args);
	VG_(write)
	(out_fd, line, n);
}

/* The file that holds an address, and the address as the file has it. */
static const HChar *file_of(Addr pc, Addr *in_file)
{
	DebugInfo *info = VG_(find_DebugInfo)(VG_(current_DiEpoch)(), pc);
	*in_file = info ? pc - VG_(DebugInfo_get_text_bias)(info) : pc;
	return info ? VG_(DebugInfo_get_filename)(info) : "?";
}

static void finish(void)
{
	say("call\t%llu\t%llu\n", total, syscalls);
	for (UInt i = 0; i < n_used; i++) {
		Addr addr;
		const HChar *file = file_of(keys[used[i]], &addr);
		say("at\t%s\t0x%lx\t%llu\t?\n", file, addr, counts[used[i]]);
		keys[used[i]] = 0;
		counts[used[i]] = 0;
	}
	n_used = 0;
	total = syscalls = 0;
	active = 0;
	calls_done++;
}

/* flags: 1 an entry lies here, 2 an end mark does */
static VG_REGPARM(3) void on_instruction(Addr pc, UWord flags, Addr sp)
{
	ThreadId tid = VG_(get_running_tid)();
	if (active == tid) {
		if (n_ends != 0 && (flags & 2) != 0) {
			if (depth-- == 0)
				finish();
		} else if (n_ends == 0 && pc == return_addr && sp == return_sp) {
			finish();
		} else if (n_ends != 0 && (flags & 1) != 0) {
			depth++;
		}
		if (active == tid) {
			count(pc);
			return;
		}
	}
	if (active != 0 || (flags & 1) == 0 || calls_done >= max_calls)
		return;
	active = tid;
	depth = 0;
#if defined(VGA_amd64)
	return_addr = *(Addr *)sp;
	return_sp = sp + 8;
#elif defined(VGA_arm64)
	VexGuestArchState state;
	VG_(get_shadow_regs_area)
	(tid, (UChar *)&state, 0, 0, sizeof(state));
	return_addr = state.guest_X30;
	return_sp = sp;
#else
#error "no rules for this machine"
#endif
	/* a pair of marks with nothing between them */
	if (n_ends != 0 && (flags & 2) != 0)
		finish();
	else
		count(pc);
}

static UWord flags_at(Addr pc)
{
	Addr addr;
	const HChar *file = file_of(pc, &addr);
	UWord flags = 0;
	for (UInt i = 0; i < n_entries; i++)
		if (entries[i].addr == addr && VG_(strcmp)(entries[i].file, file) == 0)
			flags |= 1;
	for (UInt i = 0; i < n_ends; i++)
		if (ends[i].addr == addr && VG_(strcmp)(ends[i].file, file) == 0)
			flags |= 2;
	return flags;
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *original, const VexGuestLayout *layout,
			const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word, IRType host_word)
{
	IRSB *out = deepCopyIRSBExceptStmts(original);
	for (Int i = 0; i < original->stmts_used; i++) {
		IRStmt *stmt = original->stmts[i];
		if (stmt != NULL && stmt->tag == Ist_IMark) {
			addStmtToIRSB(out, stmt);
			Addr pc = stmt->Ist.IMark.addr;
			IRTemp sp = newIRTemp(out->tyenv, guest_word);
			addStmtToIRSB(out, IRStmt_WrTmp(sp, IRExpr_Get(layout->offset_SP, guest_word)));
			IRDirty *call = unsafeIRDirty_0_N(
				3, "on_instruction", VG_(fnptr_to_fnentry)(&on_instruction),
				mkIRExprVec_3(mkIRExpr_HWord(pc), mkIRExpr_HWord(flags_at(pc)), IRExpr_RdTmp(sp)));
#if defined(VGA_arm64)
			/* The helper reads the link register, so it must have been written to the state. */
			call->nFxState = 1;
			call->fxState[0].fx = Ifx_Read;
			call->fxState[0].offset = offsetof(VexGuestArchState, guest_X30);
			call->fxState[0].size = sizeof(ULong);
			call->fxState[0].nRepeats = 0;
			call->fxState[0].repeatLen = 0;
#endif
			addStmtToIRSB(out, IRStmt_Dirty(call));
			continue;
		}
		if (stmt != NULL)
			addStmtToIRSB(out, stmt);
	}
	return out;
}

static void before_syscall(ThreadId tid, UInt number, UWord *args, UInt n_args)
{
	if (active == tid)
		syscalls++;
}

static void after_syscall(ThreadId tid, UInt number, UWord *args, UInt n_args, SysRes result)
{
}

static void add_place(Place *list, UInt *n, const HChar *text)
{
	HChar *copy = VG_(strdup)("place", text), *colon = VG_(strrchr)(copy, ':');
	if (colon == NULL || *n == MAX_PLACES)
		VG_(fmsg_bad_option)
	(text, "FILE:0xADDR, at most %d of them\n", MAX_PLACES);
	*colon = '\0';
	list[*n].file = copy;
	list[(*n)++].addr = (Addr)VG_(strtoull16)(colon + 1, NULL);
}

static Bool option(const HChar *arg)
{
	const HChar *text;
	if (VG_STR_CLO(arg, "--entry", text))
		add_place(entries, &n_entries, text);
	else if (VG_STR_CLO(arg, "--end", text))
		add_place(ends, &n_ends, text);
	else if (VG_STR_CLO(arg, "--out", out_name))
		return True;
	else if (VG_INT_CLO(arg, "--calls", max_calls))
		return True;
	else
		return False;
	return True;
}

static void usage(void)
{
	VG_(printf)
	("    --entry=FILE:0xADDR  --end=FILE:0xADDR  --calls=N  --out=FILE\n");
}

static void debug_usage(void)
{
	VG_(printf)
	("    (none)\n");
}

static void after_options(void)
{
	if (n_entries == 0 || out_name == NULL)
		VG_(fmsg_bad_option)
	("--entry, --out", "both are needed\n");
	HChar file[1200];
	VG_(snprintf)
	(file, sizeof(file), "%s.%d", out_name, VG_(getpid)());
	out_fd = VG_(fd_open)(file, VKI_O_CREAT | VKI_O_TRUNC | VKI_O_WRONLY, 0600);
	if (out_fd < 0) {
		VG_(umsg)
		("cannot write %s\n", file);
		VG_(exit)
		(1);
	}
}

static void parent_forked(ThreadId tid)
{
	forked = True;
}

static void child_forked(ThreadId tid)
{
	VG_(close)
	(out_fd);
	out_fd = -1;
	active = 0;
	max_calls = 0;
}

static void fini(Int exit_code)
{
	if (out_fd < 0)
		return;
	if (forked)
		say("# forked\n");
	if (active != 0)
		say("# ended inside a call\n");
}

static void pre_clo_init(void)
{
	VG_(details_name)
	("path");
	VG_(details_version)
	(NULL);
	VG_(details_description)
	("instructions of one call");
	VG_(details_copyright_author)
	("see the file's header");
	VG_(details_bug_reports_to)
	("the project's issue tracker");
	VG_(details_avg_translation_sizeB)
	(600);
	VG_(basic_tool_funcs)
	(after_options, instrument, fini);
	VG_(needs_command_line_options)
	(option, usage, debug_usage);
	VG_(needs_syscall_wrapper)
	(before_syscall, after_syscall);
	VG_(atfork)
	(NULL, parent_forked, child_forked);
}

#if defined(VGA_arm64)
/* libgcc's atomics ask what the processor can do; the plain ones are enough here. */
unsigned long __getauxval(unsigned long type);
unsigned long __getauxval(unsigned long type)
{
	return 0;
}
#endif

VG_DETERMINE_INTERFACE_VERSION(pre_clo_init)
