// SPDX-License-Identifier: BSD-3-Clause
// oshrun_survey.hpp: where the PEs of this host are, which SIGUSR1 asks. The question is a number on the board: a PE
// that waits in a call sees it and answers by mail. No PE gets a signal for it, so programs run on undisturbed.
#pragma once

#include "oshrun_pes.hpp"

namespace oshrun {

class survey {
public:
	survey(pe_table &pes, const job_files &files, const placement &where) : pes_(pes), files_(files), where_(where)
	{
	}
	void ask();
	// An answer, which may be anything. Without text: the PEs print a hang report themselves.
	void take(const pe &one, uint32_t question, const char *place);
	void check(double now);                       // prints when all have answered, or time is up
	double deadline() const { return deadline_; } // 0: nothing was asked

private:
	bool is_answered() const;
	std::string place_of(const pe &one) const;
	void print() const;

	pe_table &pes_;
	const job_files &files_;
	const placement &where_;
	uint32_t question_ = 0; // here and not only on the board, where PEs may write
	double deadline_ = 0;
	strings places_; // by position in pes_; empty: no answer yet
};

} // namespace oshrun
