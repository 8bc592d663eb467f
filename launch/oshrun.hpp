// SPDX-License-Identifier: BSD-3-Clause
// oshrun.hpp: what the files of the launcher share. oshrun.cpp has an overview of them.
#pragma once

#include "boot_board.hpp"
#include "oshrun_scratch.hpp"

#include <pgas/pgas_base.hpp>

#include <csignal>
#include <sched.h>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

namespace oshrun {

using strings = std::vector<std::string>;

// oshrun's own exit codes; those of PEs are passed on.
enum : int { kExitUsage = 1, kExitCannotStart = 1, kExitTimeout = 124, kExitNotExecutable = 126, kExitNotFound = 127 };

using pgas::unique_fd;

enum class bind_to { automatic, none, core, hwthread };
enum class pmix_mode { automatic, enabled, disabled };

// One program of the job: "-n 2 ./a" of "-n 2 ./a : -n 2 ./b".
struct app {
	int count = 0; // 0 before parse_options() returns: not given
	strings argv;
	std::string path; // file to exec, found by resolve()
	strings set_env;  // NAME=value, from -x for this program
	std::string wdir;
};

struct host {
	std::string name;
	int slots = 0;     // PEs that it takes; 0: not given in the list
	bool here = false; // this machine: its agent is started without a command
};
enum class map_by { slot, node, other };

struct options {
	std::vector<app> apps;
	int count = 0; // PEs of all apps; 0 before find_hosts(): as many as there are slots
	// Where PEs go. hosts is empty if that is this machine alone: find_hosts() fills it from the others.
	std::vector<host> hosts;
	strings host_lists, host_files;
	int ppn = 0; // PEs per host; 0: not given
	map_by map = map_by::slot;
	bool oversubscribe = false;
	std::string rankfile;
	std::vector<uint32_t> rank_hosts; // of --rankfile: host of each rank; empty: by slots
	strings rank_cpus;                // and its CPUs, "0-2,5"; an empty text: not bound
	std::string launch_agent;         // words; %h is the host, which otherwise is appended
	int tree = 16;                    // agents that one process starts
	double host_timeout_s = 0;        // time a host may be unreachable; 0 before parse_options() returns: not given
	bind_to bind = bind_to::automatic;
	pmix_mode pmix = pmix_mode::automatic;
	bool aslr = true; // off: PEs of one program have the same addresses
	bool tag_output = false;
	int stdin_pe = 0;       // which PE gets oshrun's standard input; -1: none
	int attach_pe = -1;     // which PE waits for a debugger; -1: none
	std::string output_dir; // for a file per stream of each PE; empty: none
	bool verbose = false;
	bool progress = false;
	bool report_bindings = false;
	strings tool_env;     // NAME=value of --stats, --trace, --hang-after, for all programs
	double timeout_s = 0; // 0: no limit
	double grace_s = 2;   // between SIGTERM and SIGKILL
};

// main: "oshrun --agent", the oshrun of another host, started there by `oshrun` (oshrun_agent.cpp).
int run_agent();
// ... and the process that the user started, if there are other hosts (oshrun_head.cpp).
int run_head(options &opts);

// opts: fills options and returns -1, or returns the exit code after printing help, version or an error line.
int parse_options(int argc, char **argv, options &opts);

// program:
int resolve(app &program); // 0, or 126/127 after an error line
// elf: why an ELF file cannot be whole; empty: it is, or is something else. Why execve failed with that error, in words
// about the file. Whether a shell may read the file.
std::string truncation_of(const std::string &path);
std::string why_not_executed(const std::string &path, int error);
bool is_script(const std::string &path);
void add_words(strings &words, const std::string &text);

// Prints "oshrun: ..." to stderr, one line, one write; or passes the line, without the name, to the sink of say_to().
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
void say_to(void (*sink)(const char *line));

// env: the environment that all PEs share, without leftovers of an outer launcher.
strings base_environment();
strings carried_environment(); // the part sent to other hosts: settings of this package, of libfabric and of MPI
void set_env(strings &env, const std::string &assignment);

// hwloc, whether ours or the one in libpmix, loads plugins that search for GPUs. That takes 200 ms, and nothing here
// needs it.
constexpr const char *kHwlocPlugins = "HWLOC_PLUGINS_PATH";

// bind: this host's part of a machine that is several hosts of the job.
struct cpu_share {
	int first = 0;    // PEs of the hosts before this one, which take the first cores
	int total = 0;    // PEs of all of them; 0: this host has the machine for itself
	bool even = true; // all of them may use the same CPUs
};
// A CPU set per PE, or none at all if PEs are not bound.
std::vector<cpu_set_t> plan_binding(bind_to how, int count, const cpu_share &share, std::string &why);
// The CPUs that --rankfile gives to these ranks; an empty set: not bound. False if some of them cannot be used here,
// and `why` says which.
bool plan_by_rankfile(const strings &rank_cpus, const std::vector<int> &ranks, std::vector<cpu_set_t> &plan,
		      std::string &why);
std::string cpu_list(const cpu_set_t &set);
bool parse_cpus(const std::string &text, cpu_set_t &set); // "0-2,5"

// Memory shared by oshrun, its keeper and its children until they exec. No program of a PE has it: it is anonymous
// memory, so what is read here can be trusted.
enum : uint32_t { kEnvPending = 0, kEnvReady = 1, kEnvNone = 2 };
struct keeper_page {
	uint32_t env_state; // kEnv... of the PMIx environment, which the keeper writes; futex
	uint32_t env_bytes;
	char env_text[8000];  // NAME=value, each ended by a zero byte
	uint32_t child_pid[]; // oshrun: its children, leaders of the PEs' process groups; 0: not started, or reaped
};

// keeper: a helper process that survives a killed oshrun until it has cleaned up, and that hosts the PMIx server.
struct keeper_setup {
	pgas::boot::board_view board;
	keeper_page *page;
	pid_t launcher;
	int life_read_fd, life_write_fd, mail_write_fd;
	int uplink_fd; // an agent's stream to its parent, or -1: when it ends, so does the job on this host
	int pmix_fd;   // from the PMIx server to the agent, or -1 in a job on one host
	const struct placement *where;
	scratch_dir *scratch; // for the PMIx server; whichever process outlives the server removes it
	double grace_s;
	bool pmix;
	bool verbose;
};
pid_t start_keeper(const keeper_setup &setup); // -1 and errno if fork fails

// pmix: runs inside the keeper. Writes the environment of a PE to the keeper's page. Returns false if there is no PMIx
// here.
bool start_pmix_server(const keeper_setup &setup);
bool handle_pmix_link(); // reads what arrived on pmix_fd; false: its end
bool pmix_available();
bool wants_pmix(const app &program);
bool is_mpi(const app &program); // it clearly needs MPI or PMIx

int run_job(options &opts);

} // namespace oshrun
