// SPDX-License-Identifier: BSD-3-Clause
// oshrun.cpp: starts the PEs of a job on this machine. It needs nothing but the C library; libpmix and hwloc are used
// when they are there.
//
//   oshrun_opts   command line            oshrun_env   environment of a PE      oshrun_bind    which PE on which core
//   oshrun_start  board, pipes, fork      oshrun_job   watch and end the job    oshrun_io      stdout, stderr, stdin
//   oshrun_guard  helper process          oshrun_pmix  PMIx server in it        oshrun_elf     does a program want one?
//   oshrun_say    messages to the user
#include "oshrun.hpp"

int main(int argc, char **argv)
{
	oshrun::options opts;
	int rc = oshrun::parse_options(argc, argv, opts);
	return rc >= 0 ? rc : oshrun::run_job(opts);
}
