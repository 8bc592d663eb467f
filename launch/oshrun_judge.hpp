// SPDX-License-Identifier: BSD-3-Clause
// oshrun_judge.hpp: what PEs tell oshrun by mail, and how they ended: whether that is a failure.
#pragma once

#include "oshrun_survey.hpp"
#include "oshrun_verdict.hpp"

namespace oshrun {

// The rest of a job on several hosts, as the part on this host sees it (oshrun_agent.cpp).
class job_owner {
public:
	virtual ~job_owner() = default;
	virtual void failed(int code, const char *text) = 0;         // the first failure here; this part ends by itself
	virtual void pe_ended(int rank) = 0;                         // without a failure
	virtual void pe_never_joined(int rank, const char *who) = 0; // and no PE of this host has joined
	virtual void arrived(uint32_t generation) = 0;               // all PEs of this host are in the barrier
	virtual void reaped(pid_t pid, int status) = 0;              // a child that is not a PE
	virtual std::vector<pid_t> helpers() const = 0;              // children that are not PEs
	virtual int uplink() const = 0;                              // descriptor whose end ends the job
	virtual void serve_pmix(unique_fd link) = 0;                 // to the PMIx server of this host
};

class judge {
public:
	judge(pe_table &pes, const job_files &files, const placement &where, verdict &result, survey &places,
	      job_owner *owner)
		: pes_(pes), files_(files), where_(where), result_(result), places_(places), owner_(owner)
	{
	}
	void read_mail();
	void add_ended(pe &one, int status) { ended_.emplace_back(&one, status); } // it was reaped
	bool has_ended() const { return !ended_.empty(); }
	void judge_ended();                   // their last output has been forwarded, their mail has been read
	void fail_if_joined(const char *who); // that PE will never join

	// The processes that joined below wrappers.
	void add_polls(std::vector<pollfd> &polls, double &due);
	void check_watches(const std::vector<pollfd> &polls);
	void check_lost(double now);

private:
	void judge_one(pe &one, int status);
	void judge_killed(const pe &but);
	void on_hello(pe &one, const pgas::boot::mail_record &mail);
	void on_abort(const pe &one, const pgas::boot::mail_record &mail);

	pe_table &pes_;
	const job_files &files_;
	const placement &where_;
	verdict &result_;
	survey &places_;
	job_owner *owner_;
	std::vector<std::pair<pe *, int>> ended_; // not yet judged; null: judged
	size_t watch_poll_ = 0;                   // first pidfd; those of the other PEs that have one follow in order
};

} // namespace oshrun
