// SPDX-License-Identifier: BSD-3-Clause
// oshrun_job.hpp: the life of the part of a job that runs on this host.
#pragma once

#include "oshrun_judge.hpp"

namespace oshrun {

unique_fd signal_source(); // from now on, the signals that oshrun handles arrive by this descriptor

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
	void set_share(const cpu_share &share) { share_ = share; }           // before start()
	void fail_if_joined(const char *who) { judge_.fail_if_joined(who); } // that PE will never join
	std::vector<std::pair<int, bool>> check_stops() { return pes_.check_stops(); }
	verdict &result() { return verdict_; }
	const job_files &files() const { return files_; }
	const placement &where() const { return where_; }

private:
	enum class phase { running, ending, killing };
	bool start_keeper_first(bool &pmix);
	void start_pes(bool pmix, const struct rlimit &file_limit);
	bool plan_cpus(std::vector<cpu_set_t> &cpus, std::string &why);
	void announce(int code, const char *line, int sig);
	void read_signals();
	void ask_places();
	bool makes_hang_reports() const;
	void reap();
	void replace_keeper();
	pid_t begin_keeper(bool pmix);
	void check_deadlines();
	void show_progress(double now);
	void signal_all(int sig);
	bool anyone_left();
	std::vector<pid_t> strangers() const;

	options &opts_;
	placement where_;
	cpu_share share_;
	pe_output &out_;
	pe_input &in_;
	job_owner *owner_;
	job_files files_;
	scratch_dir scratch_;
	pe_table pes_{where_, files_};
	verdict verdict_;
	survey survey_{pes_, files_, where_};
	judge judge_{pes_, files_, where_, verdict_, survey_, owner_};
	pid_t keeper_ = -1;
	unique_fd signals_;
	phase phase_ = phase::running;
	double deadline_ = 0; // of the phase: --timeout, then the grace period
	const double began_ = now_s();
	double progress_at_ = 0; // do not check before
	std::string progress_;   // the last text printed
	size_t signals_poll_ = 0, mail_poll_ = 0;
};

} // namespace oshrun
