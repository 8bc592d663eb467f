// SPDX-License-Identifier: BSD-3-Clause
// step_session.cpp: from exec to an armed entry. The dynamic linker loads undisturbed; at the program's first own
// instruction all start-up libraries are mapped and names can be resolved. The linker's own debugger hook reports what
// dlopen loads later.
#include "step_session.hpp"

#include <csignal>
#include <cstring>
#include <elf.h>
#include <link.h>

#include "error.hpp"
#include "text.hpp"

namespace ic {

step_session::step_session(const count_request &request)
	: request_(request), program_({request.argv, request.environment(), request.output_aside, request.timeout_s})
{
	at_exec();
}

void step_session::at_exec()
{
	begins_.clear();
	ends_.clear();
	boundary_addrs_.clear();
	kinds_.clear();
	linker_break_ = 0;
	start_ = program_.auxv(AT_ENTRY);
	program_.insert(start_);
	program_.resume(program_.pid());
}

void step_session::run(bool stop_when_armed)
{
	while (!ended_) {
		if (stop_when_armed && armed()) {
			program_.kill();
			return;
		}
		serve(program_.wait());
	}
}

void step_session::serve(const stop &event)
{
	switch (event.kind) {
	case stop::program_exit:
		ended_ = true;
		status_ = event.value;
		return;
	case stop::exec:
		at_exec();
		return;
	case stop::thread_exit:
		return;
	case stop::new_thread:
		program_.resume(event.tid);
		return;
	case stop::group:
		program_.listen(event.tid);
		return;
	case stop::signal:
		remember_fault(event);
		program_.resume(event.tid, event.value);
		return;
	case stop::trap:
		break;
	}
	uint64_t addr = program_.breakpoint_hit(event);
	if (addr != 0)
		on_breakpoint(event, addr);
	else
		// The program's own trap, unless it is the tail of a step.
		program_.resume(event.tid, event.code == TRAP_TRACE ? 0 : SIGTRAP);
}

void step_session::on_breakpoint(const stop &event, uint64_t addr)
{
	if (hold_others_) {
		held_.push_back(event);
		return;
	}
	arch::registers regs = program_.registers(event.tid);
	regs.set_pc(addr);
	program_.set_registers(event.tid, regs);
	if (!program_.inserted(addr)) {
		// It trapped before we removed the breakpoint: just run the real instruction.
		program_.resume(event.tid);
	} else if (addr == start_) {
		program_.remove(start_);
		at_program_start();
		if (begins_.count(start_) != 0)
			measure(event.tid, addr);
		else
			program_.resume(event.tid);
	} else if (addr == linker_break_) {
		at_link_event();
		step_over(event.tid, addr);
	} else {
		measure(event.tid, addr);
	}
}

void step_session::at_program_start()
{
	images_.refresh(program_.pid(), [this](uint64_t a, void *o, size_t n) { return read(a, o, n); });
	resolve();
	watch_linker();
	arm();
}

void step_session::at_link_event()
{
	if (images_.refresh(program_.pid(), [this](uint64_t a, void *o, size_t n) { return read(a, o, n); })) {
		resolve();
		arm();
	}
}

void step_session::resolve()
{
	const entry_point &entry = request_.entry;
	if (entry.is_mark) {
		for (const auto &where : images_.images()) {
			if (where->elf == nullptr ||
			    (!entry.image_pattern.empty() && !glob_any(entry.image_pattern, where->name)))
				continue;
			for (const elf_mark &mark : where->elf->marks())
				if (mark.name == entry.name)
					(mark.kind == mark_kind::begin ? begins_ : ends_)
						.insert(mark.addr + where->bias);
		}
	} else {
		for (const symbol_hit &hit : images_.resolve(entry.name, entry.image_pattern)) {
			entry_is_ifunc_ = entry_is_ifunc_ || hit.ifunc;
			if (!hit.ifunc)
				begins_.insert(hit.addr);
		}
	}
	if (request_.end.kind == boundary::at_symbol)
		for (const symbol_hit &hit : images_.resolve(request_.end.pattern, ""))
			boundary_addrs_.insert(hit.addr);
}

// Finds _r_debug through the executable's dynamic section; static programs have none.
void step_session::watch_linker()
{
	const image *program = images_.find(start_);
	if (program == nullptr || program->elf == nullptr || program->elf->dynamic_addr() == 0)
		return;
	uint64_t pos = program->elf->dynamic_addr() + program->bias;
	Elf64_Dyn entry;
	for (; read(pos, &entry, sizeof(entry)) && entry.d_tag != DT_NULL; pos += sizeof(entry)) {
		struct r_debug debug;
		if (entry.d_tag == DT_DEBUG && entry.d_un.d_ptr != 0 && read(entry.d_un.d_ptr, &debug, sizeof(debug)))
			linker_break_ = debug.r_brk;
	}
}

void step_session::arm()
{
	if (enough())
		return;
	for (uint64_t addr : begins_)
		program_.insert(addr);
	if (linker_break_ != 0)
		program_.insert(linker_break_);
}

void step_session::step_over(pid_t tid, uint64_t addr)
{
	bool was_in = program_.inserted(addr);
	if (was_in)
		program_.remove(addr);
	if (advance(tid) == step_end::gone)
		return;
	if (was_in)
		program_.insert(addr);
	resume_with_deferred(tid);
}

// Other threads must not wait while one is stepped.
stop step_session::wait_for(pid_t tid)
{
	for (;;) {
		stop event = program_.wait();
		if (event.tid == tid || event.kind == stop::program_exit || event.kind == stop::exec)
			return event;
		serve(event);
	}
}

void step_session::remember_fault(const stop &event)
{
	switch (event.value) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGABRT:
	case SIGSYS: {
		if (images_.images().empty())
			return;
		place where = images_.locate(program_.registers(event.tid).pc());
		fault_ = format("%s!%s+0x%llx", where.image.c_str(), where.routine.c_str(),
				static_cast<unsigned long long>(where.offset));
		return;
	}
	default:
		return;
	}
}

} // namespace ic
