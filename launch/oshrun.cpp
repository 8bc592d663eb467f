// SPDX-License-Identifier: BSD-3-Clause
// oshrun.cpp: starts the PEs of a job, on this machine or on several hosts. It needs nothing but the C library; libpmix
// and hwloc are used if they are installed.
//
//   oshrun_opts   command line            oshrun_program which file to start    oshrun_env     environment of a PE
//   oshrun_start  board, pipes, fork      oshrun_bind    which PE on which core  oshrun_io      stdout, stderr, stdin
//   oshrun_job    watch and end the job   oshrun_pes     the PEs of this host    oshrun_process what /proc says
//   oshrun_judge  mail and ends of PEs    oshrun_verdict the first failure       oshrun_say     messages to the user
//   oshrun_keeper helper process          oshrun_pmix    PMIx server in it       oshrun_elf     does a PE want one?
//   oshrun_survey where the PEs are                                              oshrun_scratch its directory
// and for several hosts (the design is in oshrun_agent.hpp):
//
//   oshrun_hosts  which hosts, which PE   oshrun_hostlist lists of hosts         oshrun_rankfile hosts, CPUs by rank
//   oshrun_head   streams and verdict     oshrun_agent   the oshrun of one host  oshrun_branch  agents that one started
//   oshrun_protocol messages between them oshrun_jobtext what agents are told    oshrun_relay   streams by messages
//   oshrun_exchange a barrier over hosts  oshrun_stops   which PEs are stopped   oshrun_pmix_link PMIx over hosts
//
// Calls go in one direction: from options to hosts, from heads and agents to jobs, from jobs to PEs. What has to go the
// other way goes through an interface or a function that was given at start: job_owner, branch_owner,
// verdict::announcer.
#include "oshrun.hpp"

#include <cstring>

int main(int argc, char **argv)
{
	sigset_t question; // SIGUSR1 would end us until signal_source() has been called
	sigemptyset(&question);
	sigaddset(&question, SIGUSR1);
	sigprocmask(SIG_BLOCK, &question, nullptr);
	if (argc == 2 && strcmp(argv[1], "--agent") == 0)
		return oshrun::run_agent();
	oshrun::options opts;
	int rc = oshrun::parse_options(argc, argv, opts);
	if (rc >= 0)
		return rc;
	return opts.hosts.empty() ? oshrun::run_job(opts) : oshrun::run_head(opts);
}
