// SPDX-License-Identifier: BSD-3-Clause
// step_session.hpp: one program run under the step engine. Three parts:
// finding the entry (step_session.cpp), measuring one call (step_call.cpp),
// and ending with a result or a reason (step_engine.cpp).
#pragma once

#include <deque>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "image_map.hpp"
#include "measurement.hpp"
#include "tracee.hpp"

namespace ic {

class step_session {
public:
	explicit step_session(const count_request &request);

	// Runs until the program ends, or until the entry is known.
	void run(bool stop_when_armed);

	bool armed() const { return !begins_.empty(); }
	bool forked() const { return program_.forked(); }
	const image_map &images() const { return images_; }
	const std::set<uint64_t> &begins() const { return begins_; }
	const std::set<uint64_t> &ends() const { return ends_; }
	std::vector<call_record> take_records() { return std::move(records_); }
	void throw_unless_counted() const;

private:
	enum class step_end { done, diverted, gone };

	// Finding the entry.
	void at_exec();
	void at_program_start();
	void at_link_event();
	void resolve();
	void watch_linker();
	void arm();
	void serve(const stop &event);
	void on_breakpoint(const stop &event, uint64_t addr);
	void step_over(pid_t tid, uint64_t addr);
	stop wait_for(pid_t tid);

	// Measuring one call.
	struct frame {
		uint64_t return_addr, sp_after;
		const image *home;
		bool entered = false; // past the begin mark
		uint64_t depth = 0;   // nesting depth of the same pair of marks
	};
	void measure(pid_t tid, uint64_t addr);
	bool reached(uint64_t pc, uint64_t sp, frame &call, arch::insn_kind kind);
	step_end advance(pid_t tid);
	bool run_exclusive(pid_t tid, uint64_t pc, call_record &record);
	arch::insn_kind kind_at(uint64_t pc);
	void add(uint64_t pc);
	void finish_record(call_record &record);
	void resume_with_deferred(pid_t tid);

	bool read(uint64_t addr, void *out, size_t n) const { return program_.read(addr, out, n); }
	bool enough() const { return records_.size() >= size_t(request_.calls) + request_.warmup; }
	void remember_fault(const stop &event);

	const count_request &request_;
	tracee program_;
	image_map images_;
	uint64_t start_ = 0;        // the program's first own instruction
	uint64_t linker_break_ = 0; // ld.so calls it when its list of libraries has changed
	std::set<uint64_t> begins_, ends_, boundary_addrs_;
	std::vector<call_record> records_;

	bool ended_ = false;
	bool inside_ = false; // the program ended within a counted call
	int status_ = 0;
	std::string fault_; // where a fatal signal occurred
	bool entry_is_ifunc_ = false;

	// State of the call being measured.
	std::unordered_map<uint64_t, arch::insn_kind> kinds_;
	std::unordered_map<uint64_t, uint64_t> counts_;
	std::vector<uint64_t> order_;
	struct {
		uint64_t pc = 0;    // of the latest exclusive load; 0 before the first
		bool lost = false;  // its store failed
		call_record record; // counts from before that load
		std::unordered_map<uint64_t, uint64_t> counts;
		size_t order = 0;
	} attempt_;
	std::deque<int> deferred_; // signals held back until the call is over
	std::vector<stop> held_;   // threads parked at a temporary breakpoint
	bool hold_others_ = false;
};

} // namespace ic
