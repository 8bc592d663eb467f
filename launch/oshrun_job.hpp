// SPDX-License-Identifier: BSD-3-Clause
// oshrun_job.hpp: the PEs of a job that run on this host, which oshrun_start.cpp creates and oshrun_job.cpp watches.
#pragma once

#include "oshrun_io.hpp"

#include <sys/resource.h>

namespace oshrun {

// A PE as its launcher sees it.
struct pe {
	int rank = 0;
	const app *program = nullptr;
	pid_t child = 0;         // our child, leader of the PE's process group; 0: not started, or reaped
	pid_t joined = 0;        // process that joined the job, if that is not our child
	unique_fd joined_watch;  // pidfd of that process
	bool has_joined = false; // it has ended, but had joined before
	bool is_stopped = false; // at the last check
	double lost_at = 0;      // when it was found gone while our child, a wrapper, runs on
};

// Owns the keeper_page of a job.
class shared_page {
public:
	shared_page() = default;
	shared_page(const shared_page &) = delete;
	shared_page &operator=(const shared_page &) = delete;
	~shared_page();
	bool make(uint32_t children); // false and errno
	keeper_page *get() const { return page_; }

private:
	keeper_page *page_ = nullptr;
	size_t bytes_ = 0;
};

// Everything that PEs inherit. The numbers are high, so that a script's `exec 3>file` does not overwrite them.
struct job_files {
	unique_fd board, life_read, life_write, mail_read, mail_write;
	pgas::boot::board_view view;
	shared_page page; // this one only until they exec
};

// Which PEs run here: the host of each rank, and which host this is. One host: all of them.
struct placement {
	std::vector<uint32_t> host_of;
	uint32_t host = 0;
	strings names; // of all hosts, as the user wrote them
	uint64_t job_cookie = 0;
	uint32_t local_size() const;
	const std::string &name() const { return names[host]; }
};
uint64_t fresh_cookie(); // random
placement on_this_machine(int count);

bool make_files(const placement &where, job_files &files); // false after an error line
unique_fd dup_high(int fd);                                // under a number that scripts do not use, if there is one
// Makes room for `count` PEs and `others` other files; false after an error line.
bool raise_file_limit(int count, int others, struct rlimit &before);
bool start_pe(const options &opts, const job_files &files, const strings &env, const cpu_set_t *cpus,
	      const struct rlimit &file_limit, bool await_pmix, pe_output &out, pe_input &input, pe &what);

unique_fd signal_source(); // from now on, the signals that oshrun handles arrive by this descriptor

// Between fork and exec: resets what the child shall not inherit; gives texts the form that exec needs.
void restore_signals();
std::vector<char *> pointers(strings &list);

// Reaps a child whose end has begun: others may have noticed that, because it closed files, before wait can report it.
bool reap_ending(pid_t child, double until, int &status);

// Children of this process other than `except`: PEs, and descendants of PEs whose parents have died (we are their
// subreaper).
std::vector<pid_t> children_but(const std::vector<pid_t> &except);

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

class job {
public:
	job(options &opts, placement where, pe_output &out, pe_input &input, job_owner *owner = nullptr);
	bool start(); // false after an error line
	void add_polls(std::vector<pollfd> &polls, double &due);
	void handle(const std::vector<pollfd> &polls);
	bool over(); // also ends the processes that PEs left behind
	void clean_up();

	void end(int sig); // SIGKILL: at once, others: with a grace period
	void on_signal(int sig);
	void set_deadline(double when) { deadline_ = when; }
	// PEs that were stopped, or held by a debugger, or continued, since the last check (oshrun_stops.cpp).
	std::vector<std::pair<int, bool>> look_at_stops();
	bool someone_joined() const;
	void fail_if_joined(const char *who); // that PE will never join
	int exit_code() const { return exit_code_; }
	const job_files &files() const { return files_; }
	const placement &where() const { return where_; }
	__attribute__((format(printf, 3, 4))) void fail(int code, const char *format, ...);

private:
	enum class phase { running, ending, killing };
	bool start_keeper_first(bool &pmix);
	void start_pes(bool pmix, const struct rlimit &file_limit);
	bool plan_ranks(std::vector<cpu_set_t> &cpus);
	void read_signals();
	void read_mail();
	void reap();
	void replace_keeper();
	pid_t begin_keeper(bool pmix);
	void judge(pe &what, int status);
	void judge_killed(const pe &but);
	void check_watches(const std::vector<pollfd> &polls);
	void check_deadlines();
	void show_progress(double now);
	void on_hello(pe &what, const pgas::boot::mail_record &mail);
	void on_abort(const pe &what, const pgas::boot::mail_record &mail);
	void end_by_signal(int sig);
	void signal_all(int sig);
	bool anyone_left();
	void note_child(const pe &what, pid_t child); // for the keeper
	std::vector<pid_t> strangers() const;
	pe *find(int rank);
	std::string name(int rank, pid_t pid) const;
	std::string at_host() const; // beginning of a line, in a job on several hosts
	uint32_t slot_state(uint32_t rank) const;

	options &opts_;
	placement where_;
	pe_output &out_;
	pe_input &in_;
	job_owner *owner_;
	job_files files_;
	scratch_dir scratch_;
	std::vector<pe> pes_;                     // ascending ranks
	std::vector<std::pair<pe *, int>> ended_; // reaped with that status, not yet judged; null: judged
	pid_t keeper_ = -1;
	unique_fd signals_;
	phase phase_ = phase::running;
	double deadline_ = 0; // of the phase: --timeout, then the grace period
	int live_ = 0;        // PEs whose child is not reaped
	int exit_code_ = 0;
	bool failed_ = false;
	const double began_ = now_s();
	double look_at_ = 0;   // for --progress: do not check before
	std::string progress_; // the last text printed
	size_t signals_poll_ = 0, mail_poll_ = 0;
	size_t watch_poll_ = 0; // first pidfd; those of the other pes_ that have one follow in order
};

} // namespace oshrun
