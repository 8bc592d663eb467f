// SPDX-License-Identifier: BSD-3-Clause
// step_call.cpp: one call, from its first instruction to the boundary. While it runs the program contains none of our
// breakpoints, so recursion and other threads pass freely. An instruction counts when its step has completed.
#include <algorithm>
#include <csignal>
#include <sys/syscall.h>
#include <unistd.h>

#include "error.hpp"
#include "step_session.hpp"
#include "text.hpp"

namespace ic {

static constexpr size_t kMaxTrace = 200000;

arch::insn_kind step_session::kind_at(uint64_t pc)
{
	auto known = kinds_.find(pc);
	if (known != kinds_.end())
		return known->second;
	uint8_t bytes[arch::kMaxInstruction];
	size_t n = sizeof(bytes);
	// The last instruction of a mapping is followed by fewer bytes.
	while (n > 1 && !read(pc, bytes, n))
		n--;
	arch::insn_kind kind = arch::classify({bytes, n});
	kinds_.emplace(pc, kind);
	return kind;
}

void step_session::add(uint64_t pc)
{
	counts_[pc]++;
	if (request_.want_trace && order_.size() < kMaxTrace)
		order_.push_back(pc);
}

bool step_session::reached(uint64_t pc, uint64_t sp, frame &call, arch::insn_kind kind)
{
	if (request_.entry.is_mark) {
		// Pairs nest when the marked code calls itself. The stack does not tell them apart: arguments may still
		// be on it at the end mark.
		if (ends_.count(pc) != 0)
			return call.depth-- == 0;
		call.depth += call.entered && begins_.count(pc) != 0;
		call.entered = true;
		return false;
	}
	// A recursive call may return to the same address, never with the same stack.
	if (pc == call.return_addr && sp == call.sp_after)
		return true;
	switch (request_.end.kind) {
	case boundary::at_return:
		return false;
	case boundary::at_syscall:
		return kind == arch::insn_kind::syscall;
	case boundary::at_symbol:
		return boundary_addrs_.count(pc) != 0;
	case boundary::at_image:
		break;
	}
	const image *where = images_.find(pc);
	return where != nullptr && where != call.home && glob_any(request_.end.pattern, where->name);
}

// One step of tid. Signals from outside are held back until the call is over; faults are the program's own and are
// delivered at once, so that the step ends at the first instruction of the handler instead.
step_session::step_end step_session::advance(pid_t tid)
{
	int signal = 0;
	bool fault = false;
	for (;;) {
		program_.single_step(tid, signal);
		signal = 0;
		stop event = wait_for(tid);
		switch (event.kind) {
		case stop::program_exit:
		case stop::exec:
			serve(event);
			return step_end::gone;
		case stop::trap:
			return fault ? step_end::diverted : step_end::done;
		case stop::signal:
			remember_fault(event);
			if (event.value == SIGSEGV || event.value == SIGBUS || event.value == SIGILL ||
			    event.value == SIGFPE || event.value == SIGSYS || event.value == SIGABRT) {
				signal = event.value;
				fault = true;
			} else {
				deferred_.push_back(event.value);
			}
			break;
		default:
			break;
		}
	}
}

// Returns false if there is no such block here and the caller must step.
bool step_session::run_exclusive(pid_t tid, uint64_t pc, call_record &record)
{
	arch::exclusive_block block;
	if (!arch::find_exclusive_block(
		    pc, [this](uint64_t a, void *o, size_t n) { return read(a, o, n); }, block))
		return false;
	// A store that lost its reservation makes the program repeat the sequence. How often is chance, not part of the
	// path's length: discard the lost pass.
	if (attempt_.pc == pc && attempt_.lost) {
		record = attempt_.record;
		counts_ = attempt_.counts;
		order_.resize(std::min(order_.size(), attempt_.order));
	}
	attempt_ = {pc, false, record, counts_, order_.size()};
	// Another thread that reaches these breakpoints is parked: to let it pass, a breakpoint would have to be
	// removed while the counted thread needs it.
	hold_others_ = true;
	for (uint64_t exit : block.exits)
		program_.insert(exit);
	uint64_t hit = 0;
	program_.resume(tid);
	while (hit == 0 && !ended_) {
		stop event = wait_for(tid);
		if (event.kind == stop::program_exit || event.kind == stop::exec) {
			serve(event);
			break;
		}
		hit = program_.breakpoint_hit(event);
		if (hit != 0)
			break;
		if (event.kind == stop::signal)
			deferred_.push_back(event.value);
		program_.resume(tid);
	}
	hold_others_ = false;
	if (ended_)
		return true;
	for (uint64_t exit : block.exits)
		program_.remove(exit);
	for (const stop &event : held_)
		serve(event);
	held_.clear();
	for (size_t i = block.exits.size(); i-- > 0;)
		if (block.exits[i] == hit) {
			for (uint64_t pos : block.executed[i])
				add(pos);
			record.total += block.executed[i].size();
			break;
		}
	record.exclusive_blocks++;
	attempt_.lost = hit == block.exits.back() && arch::store_failed(program_.registers(tid), block);
	return true;
}

void step_session::measure(pid_t tid, uint64_t addr)
{
	program_.remove_all();
	counts_.clear();
	order_.clear();
	call_record record;
	arch::registers regs = program_.registers(tid);
	frame call = {arch::return_address(regs, [this](uint64_t a, void *o, size_t n) { return read(a, o, n); }),
		      arch::sp_after_return(regs), images_.find(addr)};
	inside_ = true;
	attempt_ = {};
	uint64_t before = 0; // address of the last counted step
	bool after_syscall = false;
	while (true) {
		uint64_t pc = regs.pc();
		arch::insn_kind kind = kind_at(pc);
		if (reached(pc, regs.sp(), call, kind))
			break;
		if (kind == arch::insn_kind::exclusive_load && run_exclusive(tid, pc, record)) {
			if (ended_)
				return;
			before = 0;
			regs = program_.registers(tid);
			continue;
		}
		step_end end = advance(tid);
		if (end == step_end::gone)
			return;
		regs = program_.registers(tid);
		// aarch64 reports once more after a system call, without having run anything.
		bool nothing_ran = after_syscall && regs.pc() == pc;
		after_syscall = false;
		if (end == step_end::diverted || nothing_ran)
			continue;
		add(pc);
		record.total++;
		after_syscall = kind == arch::insn_kind::syscall;
		record.syscalls += after_syscall;
		record.landing_pads += kind == arch::insn_kind::landing_pad;
		record.rep_iterations += kind == arch::insn_kind::rep_string && pc == before;
		before = pc;
		if (record.total > request_.max_instructions)
			fail(exit_code::internal, "%s did not reach '%s' within %llu instructions (--max-instructions)",
			     request_.entry.text().c_str(), request_.end.text().c_str(),
			     static_cast<unsigned long long>(request_.max_instructions));
	}
	inside_ = false;
	finish_record(record);
	records_.push_back(std::move(record));
	arm();
	// A path of length zero ends where it began, and must not be entered again at once.
	if (uint64_t pc = regs.pc(); pc == addr && program_.inserted(pc))
		step_over(tid, pc);
	else
		resume_with_deferred(tid);
}

// Names are looked up now: the program's maps disappear when it ends.
void step_session::finish_record(call_record &record)
{
	bool refreshed = false;
	for (const auto &[pc, count] : counts_) {
		if (images_.find(pc) == nullptr && !refreshed) {
			images_.refresh(program_.pid(),
					[this](uint64_t a, void *o, size_t n) { return read(a, o, n); });
			refreshed = true;
		}
		record.lines.push_back({images_.locate(pc), count});
	}
	for (uint64_t pc : order_)
		record.trace.push_back(images_.locate(pc));
}

void step_session::resume_with_deferred(pid_t tid)
{
	int first = 0;
	if (!deferred_.empty()) {
		first = deferred_.front();
		deferred_.pop_front();
	}
	for (int signal : deferred_)
		syscall(SYS_tgkill, program_.pid(), tid, signal);
	deferred_.clear();
	program_.resume(tid, first);
}

} // namespace ic
