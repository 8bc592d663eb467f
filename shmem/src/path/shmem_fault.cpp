// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong addresses on the hot path, which makes no tests: they fault in the guard pages around the windows, and the
// handler reports the address, its offset and the PE. Then the job ends.
#include "shmem_fault.hpp"
#include "shmem_library.hpp"
#include "core/shmem_fail.hpp"
#include "device/shmem_partition.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include <pgas/pgas_hot.h>

#include "pgas_boot.h"

namespace shmem {
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
	if (library_in_program() && name && strncmp(name, "shmem", 5) != 0)
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

uintptr_t find_window(int pe)
{
	return pgas_hot_window(reinterpret_cast<const pgas_ep *>(g_default.ep), static_cast<uint64_t>(pe), 0, 0,
			       PGAS_UNCHECKED);
}

// The PE whose mapped memory, or the address space around it, has this address; -1: none.
int find_owner(uintptr_t addr)
{
	constexpr uintptr_t around = uintptr_t{4} << 30;
	for (int pe = 0; pe < g_shmem.n_pes; pe++) {
		if (!find_window(pe))
			continue;
		const uintptr_t begin = find_window(pe) + g_shmem.base;
		if (addr + around >= begin && addr < begin + g_shmem.span + around)
			return pe;
	}
	return -1;
}

struct fault {
	const char *routine; // the one that was running, or null
	const char *library; // the one whose static data contains the address, or null
	int owner;           // PE whose memory was addressed, or -1
	uintptr_t addr;      // of the access; 0: the processor does not report it
	uintptr_t given;     // with library, or owner and addr: the address that the program passed
	bool misaligned;
};

// The faulting address is the address that the program passed plus a window.
bool find_library(uintptr_t addr, fault &f)
{
	for (int pe = 0; pe < g_shmem.n_pes; pe++) {
		f.given = addr - find_window(pe);
		f.library = find_window(pe) ? library_find(f.given) : nullptr;
		if (f.library)
			return true;
	}
	return false;
}

#if defined(__x86_64__)
// x86 does not report addresses that are not canonical, which a window and an address from far away may add up to.
// Arguments and intermediate values are in the registers that a call may change: their sum, or both of them.
constexpr int kRegisters[] = {REG_RDI, REG_RSI, REG_RDX, REG_RCX, REG_RAX, REG_R8, REG_R9, REG_R10, REG_R11};

// One of the registers has the window of this PE.
void find_far_address(const ucontext_t &u, int pe, fault &f)
{
	constexpr uintptr_t canonical = uintptr_t{1} << 47;
	for (const int number : kRegisters) {
		const auto given = static_cast<uintptr_t>(u.uc_mcontext.gregs[number]);
		if (given >= canonical || given + find_window(pe) < canonical || f.library)
			continue;
		f.owner = pe;
		f.given = given;
		f.library = library_find(given);
	}
}

void find_by_registers(const ucontext_t &u, fault &f)
{
	for (const int number : kRegisters) {
		const auto value = static_cast<uintptr_t>(u.uc_mcontext.gregs[number]);
		if (find_library(value, f))
			return;
		for (int pe = 0; pe < g_shmem.n_pes; pe++)
			if (find_window(pe) && value == find_window(pe))
				return find_far_address(u, pe, f);
	}
}
#endif

void find_given(const siginfo_t *info, [[maybe_unused]] const ucontext_t &u, fault &f)
{
#if defined(__x86_64__)
	if (info->si_code == SI_KERNEL)
		return find_by_registers(u, f);
#endif
	f.addr = reinterpret_cast<uintptr_t>(info->si_addr);
	if (find_library(f.addr, f))
		return;
	f.owner = find_owner(f.addr);
	if (f.owner >= 0)
		f.given = f.addr - find_window(f.owner);
}

void explain(const fault &f, char *text, size_t room)
{
	const char *routine = f.routine ? f.routine : "a put, get or atomic";
	if (f.misaligned)
		snprintf(text, room, "%s: the address %p is not aligned to the size of its object", routine,
			 reinterpret_cast<void *>(f.addr));
	else if (f.library)
		snprintf(text, room,
			 "%s: the address %p is static data of %s: only the program's own static data is symmetric",
			 routine, reinterpret_cast<void *>(f.given), f.library);
	else if (f.owner >= 0 && f.addr)
		snprintf(text, room,
			 "%s: the address %p is not symmetric memory: it is at offset %td of the %zu bytes of PE %d, "
			 "and nothing is mapped there (%p)",
			 routine, reinterpret_cast<void *>(f.given), static_cast<ptrdiff_t>(f.given - g_shmem.base),
			 g_shmem.span, f.owner, reinterpret_cast<void *>(f.addr));
	else if (f.owner >= 0)
		snprintf(text, room, "%s: the address is not symmetric memory: it is far from the memory of PE %d",
			 routine, f.owner);
	else
		snprintf(text, room,
			 "%s: a PE number outside 0..%d, or an address that is not symmetric or not accessible (%p)",
			 routine, g_shmem.n_pes - 1, reinterpret_cast<void *>(f.addr));
}

// The program, or a call of ours with a pointer that is not SHMEM's, touched memory that only a device may touch.
void touched_device(uintptr_t addr)
{
	const partition *p = g_shmem.devices ? device_of(reinterpret_cast<void *>(addr)) : nullptr;
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
	const auto &context = *static_cast<const ucontext_t *>(where);
	fault f{nullptr, nullptr, -1, 0, 0, sig == SIGBUS && info->si_code == BUS_ADRALN};
	const bool sent = info->si_code <= 0; // by kill() and the like: there is no fault, and no address
	if (g_shmem.initialized && !sent) {
		touched_device(reinterpret_cast<uintptr_t>(info->si_addr));
		f.routine = our_routine(program_counter(context));
		find_given(info, context, f);
	}
	if (g_shmem.env.backtrace)
		backtrace_print();
	if (f.routine || f.library || f.owner >= 0) {
		char text[256];
		explain(f, text, sizeof text);
		const bool no_memory = sig == SIGBUS && info->si_code == BUS_ADRERR;
		if (!no_memory && (!theirs || f.library || f.owner >= 0))
			pgas_boot_abort(1, text);
		char line[288];
		const int n = snprintf(line, sizeof line, "PE %d: %s\n", g_shmem.my_pe, text);
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
	libraries_record();
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
