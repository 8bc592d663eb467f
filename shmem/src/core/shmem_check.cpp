// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong use: one line says which PE, which routine, which argument, and what was expected; then the job ends. The hot
// path makes no tests: a wrong PE finds an empty window and takes the cold exit to here; a wrong address faults in the
// guard pages around the windows, and the fault handler explains it.
#include "device/shmem_partition.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "pgas_boot.h"

namespace shmem {

// --- libraries -------------------------------------------------------------------------------------------------------

namespace {

// Static data of shared libraries is not symmetric, though programs may expect it to be. The fault handler must not
// call the loader, so the loaded libraries are recorded when the handler is installed, and again before a message of
// the cold path.
struct library {
	uintptr_t begin, end;
	char name[48];
};
library g_libraries[512];
int g_library_count = 0;
bool g_in_program = false; // this library is part of the program: linked from libsma.a

void note_library(const dl_phdr_info *info, const ElfW(Phdr) & segment)
{
	constexpr int room = sizeof g_libraries / sizeof *g_libraries;
	if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_W) || g_library_count == room)
		return;
	library &l = g_libraries[g_library_count];
	const char *slash = strrchr(info->dlpi_name, '/');
	snprintf(l.name, sizeof l.name, "%s", slash ? slash + 1 : info->dlpi_name);
	l.begin = info->dlpi_addr + segment.p_vaddr;
	l.end = l.begin + segment.p_memsz;
	const auto own = reinterpret_cast<uintptr_t>(&g);
	if (own < l.begin || own >= l.end) // a pointer into our own data is no argument of the program
		g_library_count++;
}

int note_object(dl_phdr_info *info, size_t, void *first)
{
	bool &is_program = *static_cast<bool *>(first);
	const auto here = reinterpret_cast<uintptr_t>(&note_object);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const auto &segment = info->dlpi_phdr[i];
		const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
		if (!is_program)
			note_library(info, segment);
		else if (segment.p_type == PT_LOAD && here >= begin && here < begin + segment.p_memsz)
			g_in_program = true;
	}
	is_program = false; // the first object is the program, the others are libraries
	return 0;
}

void note_libraries()
{
	bool first = true;
	g_library_count = 0;
	dl_iterate_phdr(note_object, &first);
}

const char *library_at(uintptr_t addr)
{
	for (int i = 0; i < g_library_count; i++)
		if (addr >= g_libraries[i].begin && addr < g_libraries[i].end)
			return g_libraries[i].name;
	return nullptr;
}

} // namespace

void check_running(const char *routine)
{
	if (PGAS_UNLIKELY(!g.initialized))
		fail(routine, g.finalized ? "called after shmem_finalize" : "called before shmem_init");
}

void check_pe(const char *routine, int pe)
{
	if (PGAS_UNLIKELY(pe < 0 || pe >= g.n_pes))
		fail(routine, "PE number %d is outside 0..%d", pe, g.n_pes - 1);
}

void check_symmetric(const char *routine, const char *argument, const void *ptr, size_t bytes)
{
	if (PGAS_LIKELY(!bytes || is_symmetric(ptr, bytes)))
		return;
	note_libraries();
	if (const char *name = library_at(reinterpret_cast<uintptr_t>(ptr)))
		fail(routine, "%s %p is static data of %s: only the program's own static data is symmetric", argument,
		     ptr, name);
	fail(routine,
	     "%s %p (%zu bytes) is not symmetric memory: static data of the program, shmem_malloc or a partition",
	     argument, ptr, bytes);
}

void check_host(const char *routine, const char *argument, const void *ptr, size_t bytes)
{
	check_symmetric(routine, argument, ptr, bytes);
	if (const partition *p = g.devices ? device_of(ptr) : nullptr)
		fail(routine, "%s %p is in partition %d, which is device memory; it must be host memory", argument, ptr,
		     p->wish.id);
}

namespace {

struct sigaction g_old_segv, g_old_bus;
bool g_installed = false;

uintptr_t program_counter(const ucontext_t &u)
{
#if defined(__x86_64__)
	return static_cast<uintptr_t>(u.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
	return u.uc_mcontext.pc;
#else
	(void)u;
	return 0;
#endif
}

// operand_address(): the address that the faulting instruction computed, and its parts, the two registers that it was
// computed from; 0 if it cannot be decoded. x86 does not report an address that is not canonical; and the parts
// distinguish a window from an address of the program.
#if defined(__x86_64__)
// prefixes, opcode, then how the operand's address is computed from two registers and a constant
constexpr int kRegisters[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
				REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

uintptr_t operand_address(const ucontext_t &u, uintptr_t (&parts)[2])
{
	const auto value = [&](int number) { return static_cast<uintptr_t>(u.uc_mcontext.gregs[kRegisters[number]]); };
	const auto *p = reinterpret_cast<const uint8_t *>(program_counter(u));
	while (*p == 0x66 || *p == 0xf0 || *p == 0xf2 || *p == 0xf3)
		p++;
	const int rex = (*p & 0xf0) == 0x40 ? *p++ : 0;
	if (*p == 0x0f)
		p += p[1] == 0x38 || p[1] == 0x3a ? 2 : 1;
	const int form = p[1] >> 6, rm = p[1] & 7;
	p += 2;
	if (form == 3 || (form == 0 && rm == 5))
		return 0;
	uintptr_t sum = 0;
	if (rm == 4) {
		const int scale = *p >> 6, index = (*p >> 3 & 7) | (rex & 2) << 2, base = *p & 7;
		p++;
		if (form == 0 && base == 5)
			return 0;
		parts[0] = value(base | (rex & 1) << 3);
		parts[1] = index == 4 ? 0 : value(index) << scale;
		sum = parts[0] + parts[1];
	} else {
		sum = value(rm | (rex & 1) << 3);
	}
	int32_t constant = 0;
	if (form == 2)
		memcpy(&constant, p, sizeof constant);
	return sum + static_cast<uintptr_t>(static_cast<intptr_t>(form == 1 ? static_cast<int8_t>(*p) : constant));
}
#elif defined(__aarch64__)
// Searches the last instructions before the fault for one that computed this register from two others: the one that
// still has its value, and the remainder of the sum for the other. The window's test and the access are seldom further
// apart.
uintptr_t sum_before(const ucontext_t &u, uint32_t sum, uintptr_t (&parts)[2])
{
	constexpr uintptr_t size = sizeof(uint32_t), most = 8 * size;
	const uintptr_t pc = program_counter(u);
	Dl_info here, before; // the page may be the first of its mapping
	if (sum == 31 || !dladdr(reinterpret_cast<void *>(pc), &here) ||
	    !dladdr(reinterpret_cast<void *>(pc - most), &before) || here.dli_fbase != before.dli_fbase)
		return 0;
	for (uintptr_t back = size; back <= most; back += size) {
		uint32_t code;
		memcpy(&code, reinterpret_cast<const void *>(pc - back), sizeof code);
		if ((code & 0xffe0fc1f) != (0x8b000000 | sum)) // add sum, first, second
			continue;
		const uint32_t first = code >> 5 & 31, second = code >> 16 & 31, kept = first == sum ? second : first;
		if (kept == sum || kept == 31)
			return 0;
		parts[0] = u.uc_mcontext.regs[kept];
		parts[1] = u.uc_mcontext.regs[sum] - parts[0];
		return u.uc_mcontext.regs[sum];
	}
	return 0;
}

// Loads and stores of one register whose address is two whole registers; the second may count objects. Atomics use a
// single register, the sum.
uintptr_t operand_address(const ucontext_t &u, uintptr_t (&parts)[2])
{
	uint32_t code;
	memcpy(&code, reinterpret_cast<const void *>(program_counter(u)), sizeof code);
	const uint32_t base = code >> 5 & 31, index = code >> 16 & 31;
	if ((code & 0x3b20ec00) != 0x38206800 || index == 31)
		return sum_before(u, base, parts);
	parts[0] = base == 31 ? u.uc_mcontext.sp : u.uc_mcontext.regs[base];
	parts[1] = u.uc_mcontext.regs[index] << (code >> 12 & 1 ? code >> 30 : 0);
	return parts[0] + parts[1];
}
#else
uintptr_t operand_address(const ucontext_t &, uintptr_t (&)[2])
{
	return 0;
}
#endif

// Name of the routine that contains this instruction, without the p of pshmem; null when it is not ours, "" when it has
// no name.
const char *routine_at(const void *pc)
{
	Dl_info here, there;
	if (!dladdr(pc, &there) || !dladdr(reinterpret_cast<void *>(&routine_at), &here) ||
	    here.dli_fbase != there.dli_fbase)
		return nullptr;
	const char *name = there.dli_sname ? there.dli_sname : "";
	return strncmp(name, "pshmem", 6) == 0 ? name + 1 : name;
}

// The routine of this library that was running, or null when the fault happened elsewhere. Internal functions have no
// name of their own, so their callers are searched. Puts and gets call memcpy, so a fault in libc counts when its
// address lies in a window. When we are linked into the program, only the name tells our code from the program's.
const char *our_routine(uintptr_t pc)
{
	const char *name = routine_at(reinterpret_cast<void *>(pc));
	if (g_in_program && name && strncmp(name, "shmem", 5) != 0)
		return nullptr;
	if (!name || *name)
		return name;
	void *frames[64];
	const int count = backtrace(frames, 64);
	for (int i = 0; i < count; i++) {
		name = routine_at(frames[i]);
		if (name && strncmp(name, "shmem", 5) == 0)
			return name;
	}
	return "an OpenSHMEM routine";
}

uintptr_t window_of(int pe)
{
	return reinterpret_cast<const pgas_ep *>(g_default.ep)->window[pe];
}

int window_owner(uintptr_t addr)
{
	constexpr uintptr_t around = uintptr_t{4} << 30;
	for (int pe = 0; pe < g.n_pes; pe++) {
		if (!window_of(pe))
			continue;
		const uintptr_t begin = window_of(pe) + g.base;
		if (addr + around >= begin && addr < begin + g.span + around)
			return pe;
	}
	return -1;
}

struct fault {
	const char *routine; // the one that was running, or null
	const char *library; // the one whose static data contains the address, or null
	int owner;           // PE whose memory was addressed, or -1
	uintptr_t given;     // with owner or library: the address that the program passed
	bool misaligned;
};

// The faulting address is the address that the program passed plus a window.
bool is_library(uintptr_t addr, fault &f)
{
	for (int pe = 0; pe < g.n_pes; pe++) {
		f.given = addr - window_of(pe);
		f.library = window_of(pe) ? library_at(f.given) : nullptr;
		if (f.library)
			return true;
	}
	return false;
}

// One of the registers that form the address is a window: the other is what the program passed, wherever that points.
void find_window_in(const uintptr_t (&parts)[2], uintptr_t addr, fault &f)
{
	for (int pe = 0; pe < g.n_pes; pe++)
		if (window_of(pe) && (parts[0] == window_of(pe) || parts[1] == window_of(pe))) {
			f.owner = pe;
			f.given = addr - window_of(pe);
			return;
		}
}

#if defined(__x86_64__)
void find_given_by_registers(const ucontext_t &u, fault &f)
{
	uintptr_t parts[2] = {0, 0};
	const uintptr_t addr = operand_address(u, parts);
	if (is_library(addr, f))
		return;
	for (const int number : kRegisters) // string and vector instructions: their registers have the whole address
		if (is_library(static_cast<uintptr_t>(u.uc_mcontext.gregs[number]), f))
			return;
	find_window_in(parts, addr, f);
}
#endif

void find_given(const siginfo_t *info, const ucontext_t &u, fault &f)
{
	const auto addr = reinterpret_cast<uintptr_t>(info->si_addr);
#if defined(__x86_64__)
	if (info->si_code == SI_KERNEL)
		return find_given_by_registers(u, f);
#endif
	if (is_library(addr, f))
		return;
	f.owner = window_owner(addr);
	if (f.owner >= 0) {
		f.given = addr - window_of(f.owner);
		return;
	}
	if (addr == program_counter(u))
		return; // there is no instruction to read
	uintptr_t parts[2] = {0, 0};
	operand_address(u, parts);
	find_window_in(parts, addr, f);
}

void explain(const fault &f, uintptr_t addr, char *text, size_t room)
{
	const char *routine = f.routine ? f.routine : "a put, get or atomic";
	if (f.misaligned)
		snprintf(text, room, "%s: the address %p is not aligned to the size of its object", routine,
			 reinterpret_cast<void *>(addr));
	else if (f.library)
		snprintf(text, room,
			 "%s: the address %p is static data of %s: only the program's own static data is symmetric",
			 routine, reinterpret_cast<void *>(f.given), f.library);
	else if (f.owner >= 0)
		snprintf(text, room, "%s: the address is not symmetric memory (%p here, in what is mapped of PE %d)",
			 routine, reinterpret_cast<void *>(f.given), f.owner);
	else
		snprintf(text, room,
			 "%s: a PE number outside 0..%d, or an address that is not symmetric or not accessible",
			 routine, g.n_pes - 1);
}

// The program, or a call of ours with a pointer that is not SHMEM's, touched memory that only a device may touch.
void touched_device(uintptr_t addr)
{
	const partition *p = g.devices ? device_of(reinterpret_cast<void *>(addr)) : nullptr;
	if (!p)
		return;
	char text[160];
	snprintf(text, sizeof text,
		 "the address %p is in partition %d, which is device memory: the CPU cannot touch it; "
		 "shmemx_partition_copy does",
		 reinterpret_cast<void *>(addr), p->wish.id);
	pgas_boot_abort(1, text);
}

// Ends the job like any wrong use, when it certainly is one. A program with its own handler may want to receive the
// fault of a buffer that it passed to us.
void on_fault(int sig, siginfo_t *info, void *where)
{
	const struct sigaction &old = sig == SIGBUS ? g_old_bus : g_old_segv;
	const bool theirs = (old.sa_flags & SA_SIGINFO) || (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN);
	const auto addr = reinterpret_cast<uintptr_t>(info->si_addr);
	const auto &context = *static_cast<const ucontext_t *>(where);
	fault f{nullptr, nullptr, -1, 0, sig == SIGBUS && info->si_code == BUS_ADRALN};
	const bool sent = info->si_code <= 0; // by kill() and the like: there is no fault, and no address
	if (g.initialized && !sent) {
		touched_device(addr);
		f.routine = our_routine(program_counter(context));
		find_given(info, context, f);
	}
	if (g.env.backtrace)
		backtrace_print();
	if (f.routine || f.library || f.owner >= 0) {
		char text[224];
		explain(f, addr, text, sizeof text);
		const bool no_memory = sig == SIGBUS && info->si_code == BUS_ADRERR;
		if (!no_memory && (!theirs || f.library || f.owner >= 0))
			pgas_boot_abort(1, text);
		char line[256];
		const int n = snprintf(line, sizeof line, "PE %d: %s\n", g.my_pe, text);
		[[maybe_unused]] const ssize_t w = write(STDERR_FILENO, line, static_cast<size_t>(n));
	}
	// restore the previous handler: the faulting instruction runs again and ends the process (or reaches the
	// program's handler)
	sigaction(sig, &old, nullptr);
	// ... but a signal that was sent must be sent again, unchanged
	if (sent && syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), sig, info) != 0)
		raise(sig);
}

void install(int sig, struct sigaction *old)
{
	struct sigaction now {};
	now.sa_sigaction = on_fault;
	now.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigemptyset(&now.sa_mask);
	sigaction(sig, &now, old);
}

} // namespace

void fault_handler_install()
{
	if (g_installed)
		return;
	note_libraries();
	install(SIGSEGV, &g_old_segv);
	install(SIGBUS, &g_old_bus);
	g_installed = true;
}

void fault_handler_remove()
{
	if (!g_installed)
		return;
	sigaction(SIGSEGV, &g_old_segv, nullptr);
	sigaction(SIGBUS, &g_old_bus, nullptr);
	g_installed = false;
}

} // namespace shmem
