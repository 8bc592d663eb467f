// SPDX-License-Identifier: BSD-3-Clause
// oshrun_env.cpp: the environment of the PEs. It is oshrun's own, without what an outer launcher set for oshrun. A PE
// that reads those variables would take itself for a rank of the outer job.
#include "oshrun.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>

namespace oshrun {
namespace {

constexpr const char *kOuter[] = {"PGAS_BOOT=",
				  "OSHRUN_",
				  "PMIX_",
				  "PMI_",
				  "PMI2_",
				  "OMPI_COMM_",
				  "OMPI_UNIVERSE_",
				  "OMPI_APP_",
				  "OMPI_ARGV=",
				  "OMPI_COMMAND=",
				  "OMPI_FILE_",
				  "OMPI_FIRST_",
				  "OMPI_NUM_",
				  "OMPI_MCA_ess",
				  "OMPI_MCA_orte_",
				  "OMPI_MCA_pmix",
				  "OMPI_MCA_initial_",
				  "HYDI_CONTROL_FD=",
				  "HYDRA_",
				  "MPI_LOCALNRANKS=",
				  "MPI_LOCALRANKID="};
constexpr const char *kKeep[] = {"PMIX_MCA_"}; // the user's own settings of the PMIx library

// Other hosts have an environment of their own, to which these variables are added; -x adds more.
constexpr const char *kCarried[] = {"SHMEM_", "FI_", "GASNET_", "PGAS_", "OMPI_MCA_", "PMIX_MCA_"};

template <size_t Count>
bool begins(const char *entry, const char *const (&list)[Count])
{
	for (const char *prefix : list)
		if (strncmp(entry, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

void no_inherit(int fd)
{
	if (fd > STDERR_FILENO && fcntl(fd, F_GETFD) >= 0)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

} // namespace

void set_env(strings &env, const std::string &assignment)
{
	size_t name = assignment.find('=') + 1;
	for (std::string &entry : env)
		if (entry.compare(0, name, assignment, 0, name) == 0) {
			entry = assignment;
			return;
		}
	env.push_back(assignment);
}

strings base_environment()
{
	if (const char *fd = getenv("PMI_FD"))
		no_inherit(atoi(fd));
	int version, pid, board;
	if (const char *outer = getenv(pgas::boot::kBoardEnv);
	    outer && sscanf(outer, "%d:%d:%d:", &version, &pid, &board) == 3 && version == pgas::boot::kBoardEnvVersion)
		no_inherit(board);
	strings env;
	for (char **entry = environ; *entry; entry++)
		if (!begins(*entry, kOuter) || begins(*entry, kKeep))
			env.push_back(*entry);
	// A libfabric built with PSM catches SIGSEGV and SIGTERM for its backtrace, which hides how a PE died.
	if (!getenv("IPATH_NO_BACKTRACE"))
		env.push_back("IPATH_NO_BACKTRACE=1");
	return env;
}

strings carried_environment()
{
	strings carried;
	for (const std::string &entry : base_environment())
		if (begins(entry.c_str(), kCarried))
			carried.push_back(entry);
	return carried;
}

} // namespace oshrun
