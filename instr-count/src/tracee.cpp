// SPDX-License-Identifier: BSD-3-Clause
// tracee.cpp: ptrace(2) with PTRACE_SEIZE, for x86_64 and aarch64 alike.
#include "tracee.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.hpp"
#include "subprocess.hpp"
#include "text.hpp"

namespace ic {

namespace {

constexpr long kOptions = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |
			  PTRACE_O_EXITKILL;

// In the child: waits until it is traced, then becomes the program.
[[noreturn]] void become_program(const launch_spec &spec, int go, int errors)
{
	char byte;
	while (::read(go, &byte, 1) < 0 && errno == EINTR)
		;
	for (const std::string &pair : spec.env) {
		size_t equals = pair.find('=');
		setenv(pair.substr(0, equals).c_str(), pair.c_str() + equals + 1, 1);
	}
	fix_addresses();
	if (spec.output_aside)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	std::vector<char *> argv;
	for (const std::string &arg : spec.argv)
		argv.push_back(const_cast<char *>(arg.c_str()));
	argv.push_back(nullptr);
	execvp(argv[0], argv.data());
	int error = errno;
	ssize_t ignored = ::write(errors, &error, sizeof(error));
	(void)ignored;
	_exit(127);
}

pid_t thread_group(pid_t tid)
{
	std::string status;
	if (!read_file(format("/proc/%d/status", tid), status))
		return -1;
	size_t pos = status.find("\nTgid:");
	return pos == std::string::npos ? -1 : atoi(status.c_str() + pos + 6);
}

} // namespace

tracee::tracee(const launch_spec &spec) : name_(spec.argv[0]), limit_(spec.timeout_s)
{
	int go[2], errors[2];
	if (pipe2(go, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0)
		fail(exit_code::internal, "pipe: %s", strerror(errno));
	fflush(nullptr);
	pid_ = fork();
	if (pid_ < 0)
		fail(exit_code::internal, "fork: %s", strerror(errno));
	if (pid_ == 0) {
		close(go[1]);
		become_program(spec, go[0], errors[1]);
	}
	close(go[0]);
	close(errors[1]);
	long seized = ptrace(PTRACE_SEIZE, pid_, 0, kOptions);
	int error = errno;
	if (seized == 0 && ::write(go[1], "g", 1) != 1)
		error = errno;
	close(go[1]);
	if (seized != 0) {
		::kill(pid_, SIGKILL);
		waitpid(pid_, nullptr, 0);
		close(errors[0]);
		fail(exit_code::no_engine, "engine step: this system does not let us trace programs (ptrace: %s)",
		     strerror(error));
	}
	// A successful exec closes the pipe; otherwise the pipe brings the reason.
	alive_ = true;
	threads_.insert(pid_);
	int reason = 0;
	stop first = wait();
	if (first.kind != stop::exec && ::read(errors[0], &reason, sizeof(reason)) == sizeof(reason)) {
		close(errors[0]);
		if (alive_)
			kill();
		fail(exit_code::program_failed, "cannot run %s: %s", spec.argv[0].c_str(), strerror(reason));
	}
	close(errors[0]);
	if (first.kind != stop::exec) {
		kill();
		fail(exit_code::program_failed, "%s ended before it started", spec.argv[0].c_str());
	}
}

tracee::~tracee()
{
	if (alive_)
		kill();
	if (memory_ >= 0)
		close(memory_);
}

void tracee::kill()
{
	if (!alive_)
		return;
	::kill(pid_, SIGKILL);
	pid_t gone;
	do
		gone = waitpid(-1, nullptr, __WALL);
	while (gone > 0 && gone != pid_);
	alive_ = false;
}

void tracee::end_when_over()
{
	if (!limit_.over())
		return;
	orphanage late;
	for (pid_t below : descendants(pid_))
		::kill(below, SIGKILL);
	kill();
	late.end_them();
	fail(exit_code::program_failed, "%s did not end within %u s (--timeout)", name_.c_str(), limit_.seconds());
}

void tracee::open_memory()
{
	if (memory_ >= 0)
		close(memory_);
	memory_ = open(format("/proc/%d/mem", pid_).c_str(), O_RDWR | O_CLOEXEC);
	if (memory_ < 0)
		fail(exit_code::no_engine, "engine step: cannot open the program's memory: %s", strerror(errno));
}

void tracee::child_made(pid_t parent, bool memory_shared)
{
	unsigned long child = 0;
	if (ptrace(PTRACE_GETEVENTMSG, parent, 0, &child) != 0)
		return;
	if (seen_.erase(static_cast<pid_t>(child)) != 0)
		let_go(static_cast<pid_t>(child), memory_shared);
	else
		made_[static_cast<pid_t>(child)] = memory_shared;
}

void tracee::child_seen(pid_t child)
{
	auto known = made_.find(child);
	if (known == made_.end()) {
		seen_.insert(child);
		return;
	}
	bool memory_shared = known->second;
	made_.erase(known);
	let_go(child, memory_shared);
}

// A forked child has copies of our breakpoints: remove them, then detach. After vfork the memory is still the parent's
// and stays armed.
void tracee::let_go(pid_t child, bool memory_shared)
{
	int memory = memory_shared ? -1 : open(format("/proc/%d/mem", child).c_str(), O_RDWR | O_CLOEXEC);
	if (memory >= 0) {
		for (const auto &[addr, bytes] : past_)
			if (pwrite(memory, bytes.data(), bytes.size(), static_cast<off_t>(addr)) < 0)
				break;
		close(memory);
	}
	ptrace(PTRACE_DETACH, child, 0, 0);
}

stop tracee::wait()
{
	for (;;) {
		int status = 0;
		pid_t tid = waitpid(-1, &status, __WALL);
		// A program that stops often leaves no time for EINTR.
		if ((tid < 0 && errno == EINTR) || (tid > 0 && WIFSTOPPED(status)))
			end_when_over();
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0) {
			alive_ = false;
			return {stop::program_exit, pid_, 0};
		}
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			threads_.erase(tid);
			if (tid != pid_)
				continue;
			alive_ = false;
			return {stop::program_exit, tid, status};
		}
		if (threads_.count(tid) == 0) {
			// First sign of a new task: a thread of the program, or a child.
			if (thread_group(tid) != pid_) {
				child_seen(tid);
				continue;
			}
			threads_.insert(tid);
		}
		return classify(tid, status);
	}
}

stop tracee::classify(pid_t tid, int status)
{
	int signal = WSTOPSIG(status);
	int event = status >> 16;
	switch (event) {
	case PTRACE_EVENT_EXEC:
		forked_ = false; // it was a script that starts the program
		threads_ = {pid_};
		breakpoints_.clear();
		past_.clear();
		open_memory();
		return {stop::exec, pid_, 0};
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		forked_ = forked_ || event == PTRACE_EVENT_FORK;
		child_made(tid, event == PTRACE_EVENT_VFORK);
		return {stop::new_thread, tid, 0};
	case PTRACE_EVENT_CLONE:
		return {stop::new_thread, tid, 0};
	case PTRACE_EVENT_STOP:
		if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
			return {stop::group, tid, signal};
		return {stop::new_thread, tid, 0};
	default:
		break;
	}
	if (signal == SIGTRAP) {
		siginfo_t info = {};
		ptrace(PTRACE_GETSIGINFO, tid, 0, &info);
		return {stop::trap, tid, signal, info.si_code};
	}
	return {stop::signal, tid, signal};
}

void tracee::resume(pid_t tid, int signal)
{
	ptrace(PTRACE_CONT, tid, 0, signal);
}

void tracee::single_step(pid_t tid, int signal)
{
	ptrace(PTRACE_SINGLESTEP, tid, 0, signal);
}

void tracee::listen(pid_t tid)
{
	ptrace(PTRACE_LISTEN, tid, 0, 0);
}

arch::registers tracee::registers(pid_t tid) const
{
	arch::registers regs = {};
	struct iovec io = {&regs.raw, sizeof(regs.raw)};
	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io) != 0)
		fail(exit_code::internal, "engine step: cannot read registers: %s", strerror(errno));
	return regs;
}

void tracee::set_registers(pid_t tid, const arch::registers &regs)
{
	arch::registers copy = regs;
	struct iovec io = {&copy.raw, sizeof(copy.raw)};
	if (ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &io) != 0)
		fail(exit_code::internal, "engine step: cannot write registers: %s", strerror(errno));
}

bool tracee::read(uint64_t addr, void *out, size_t n) const
{
	return pread(memory_, out, n, static_cast<off_t>(addr)) == static_cast<ssize_t>(n);
}

bool tracee::write(uint64_t addr, const void *input, size_t n)
{
	return pwrite(memory_, input, n, static_cast<off_t>(addr)) == static_cast<ssize_t>(n);
}

void tracee::insert(uint64_t addr)
{
	if (inserted(addr))
		return;
	std::vector<uint8_t> saved(arch::kBreakpoint.size());
	if (!read(addr, saved.data(), saved.size()) || !write(addr, arch::kBreakpoint.data(), arch::kBreakpoint.size()))
		fail(exit_code::internal, "engine step: cannot set a breakpoint at %#llx",
		     static_cast<unsigned long long>(addr));
	breakpoints_[addr] = saved;
	past_[addr] = saved;
}

void tracee::remove(uint64_t addr)
{
	auto found = breakpoints_.find(addr);
	if (found == breakpoints_.end())
		return;
	write(addr, found->second.data(), found->second.size());
	breakpoints_.erase(found);
}

void tracee::remove_all()
{
	while (!breakpoints_.empty())
		remove(breakpoints_.begin()->first);
}

uint64_t tracee::breakpoint_hit(const stop &event) const
{
	if (event.kind != stop::trap)
		return 0;
	// x86 reports SI_KERNEL, aarch64 TRAP_BRKPT; a finished step is TRAP_TRACE.
	if (event.code != SI_KERNEL && event.code != TRAP_BRKPT)
		return 0;
	uint64_t addr = registers(event.tid).pc() - arch::kBreakpointAdvance;
	return past_.count(addr) != 0 ? addr : 0;
}

uint64_t tracee::auxv(uint64_t type) const
{
	std::string bytes;
	if (!read_file(format("/proc/%d/auxv", pid_), bytes))
		return 0;
	for (size_t pos = 0; pos + sizeof(Elf64_auxv_t) <= bytes.size(); pos += sizeof(Elf64_auxv_t)) {
		Elf64_auxv_t entry;
		memcpy(&entry, bytes.data() + pos, sizeof(entry));
		if (entry.a_type == type)
			return entry.a_un.a_val;
	}
	return 0;
}

} // namespace ic
