// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong use: one line that says which PE, which routine, which argument, and what was expected; then the job ends. The hot
// path makes no test: a wrong PE finds an empty window and comes here by the cold exit, a wrong address faults in the guard
// pages around the windows, and the fault handler explains.
#include "shmem_state.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "pgas_boot.h"

namespace shmem {

void fail(const char *routine, const char *format, ...)
{
    char text[512];
    int n = g.my_pe >= 0 ? snprintf(text, sizeof text, "PE %d: ", g.my_pe) : 0;
    n += snprintf(text + n, sizeof text - static_cast<size_t>(n), "%s: ", routine);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, sizeof text - static_cast<size_t>(n), format, args);
    va_end(args);
    if (g.env.backtrace)
        backtrace_print();
    if (g.initialized)
        pgas_boot_abort(1, text);
    fprintf(stderr, "%s\n", text);
    _exit(1);
}

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
    if (PGAS_UNLIKELY(bytes && !is_symmetric(ptr, bytes)))
        fail(routine, "%s %p (%zu bytes) is not symmetric memory: static data of the program or shmem_malloc", argument, ptr,
             bytes);
}

void backtrace_print()
{
    void *frames[64];
    backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
}

namespace {

struct sigaction g_old_segv, g_old_bus;
bool g_installed = false;

uintptr_t program_counter(const void *context)
{
    const auto *u = static_cast<const ucontext_t *>(context);
#if defined(__x86_64__)
    return static_cast<uintptr_t>(u->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return u->uc_mcontext.pc;
#else
    (void)u;
    return 0;
#endif
}

// The name of a routine that has this instruction, without the p of pshmem; null when it is not ours, "" when it has none.
const char *routine_at(const void *pc)
{
    Dl_info here, there;
    if (!dladdr(pc, &there) || !dladdr(reinterpret_cast<void *>(&routine_at), &here) || here.dli_fbase != there.dli_fbase)
        return nullptr;
    const char *name = there.dli_sname ? there.dli_sname : "";
    return strncmp(name, "pshmem", 6) == 0 ? name + 1 : name;
}

// The routine of ours that was running, or null when the fault happened elsewhere. What it called inside has no name of its
// own: the callers are asked. memcpy is called by puts and gets, so a fault in libc counts when its address lies in a window.
const char *our_routine(uintptr_t pc)
{
    const char *name = routine_at(reinterpret_cast<void *>(pc));
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

int window_owner(uintptr_t at)
{
    constexpr uintptr_t around = uintptr_t{4} << 30;
    const pgas_ep *ep = reinterpret_cast<const pgas_ep *>(g_default.ep);
    for (int pe = 0; pe < g.n_pes; pe++) {
        if (!ep->window[pe])
            continue;
        const uintptr_t from = ep->window[pe] + g.base;
        if (at + around >= from && at < from + g.span + around)
            return pe;
    }
    return -1;
}

void on_fault(int sig, siginfo_t *info, void *where)
{
    const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
    const char *routine = g.initialized ? our_routine(program_counter(where)) : nullptr;
    const int owner = g.initialized ? window_owner(at) : -1;
    if (routine || owner >= 0) {
        char text[256];
        const int n = sig == SIGBUS && info->si_code == BUS_ADRALN
                          ? snprintf(text, sizeof text, "PE %d: %s: the address %p is not aligned to the size of its object\n", g.my_pe,
                                     routine ? routine : "a put or get", info->si_addr)
                      : owner >= 0
                          ? snprintf(text, sizeof text,
                                     "PE %d: %s: the address is not symmetric memory (%p here, in what is mapped of PE %d)\n",
                                     g.my_pe, routine ? routine : "a put or get",
                                     reinterpret_cast<void *>(g.base + (at - (reinterpret_cast<const pgas_ep *>(g_default.ep)->window[owner] + g.base))), owner)
                          : snprintf(text, sizeof text,
                                     "PE %d: %s: a PE number outside 0..%d, or an address that is not symmetric or not accessible\n",
                                     g.my_pe, routine, g.n_pes - 1);
        if (n > 0)
            [[maybe_unused]] const ssize_t w = write(STDERR_FILENO, text, static_cast<size_t>(n));
    }
    if (g.env.backtrace)
        backtrace_print();
    // back to what was there before: the faulting instruction runs again and ends the process (or finds the program's handler)
    sigaction(sig, sig == SIGBUS ? &g_old_bus : &g_old_segv, nullptr);
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
