// SPDX-License-Identifier: BSD-3-Clause
// boot.cpp: the public calls. Init picks a backend, and the calls forward to it.
#include "boot_unique.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>
#include <unistd.h>

using pgas::guard;
using pgas::boot::backend;
using pgas::boot::job;

namespace {

pgas::boot::forever<job> g_jobs[2];
job &g_job = g_jobs[0].it;
job &g_left = g_jobs[1].it; // kept after the last finalize: the number of keys used, a connection that stays open
pid_t g_pid;                // the process that joined; a child of fork() has the connection, but may not use it

// --- choice ----------------------------------------------------------------------------------------------------------

// srun without --mpi tells its tasks nothing about one another: a program of four PEs would become four programs of one
// PE, and nobody would notice. A batch script has no step.
bool srun_tells_nothing()
{
	const char *tasks = pgas_boot_getenv("SLURM_STEP_NUM_TASKS");
	return pgas_boot_getenv("SLURM_STEP_ID") && tasks && atoi(tasks) > 1;
}

// Why a backend has found that its launcher did not start this process; null: there is no such backend.
const char *why_not_mine(const char *name)
{
	if (strcmp(name, "oshrun") == 0)
		return pgas_boot_getenv("PGAS_BOOT") ? "the job of oshrun that this environment comes from is over, or "
						       "another launcher was started inside it"
						     : "oshrun did not start this process: PGAS_BOOT is not set";
	if (strcmp(name, "pmix") == 0)
		return "no PMIx launcher started this process: PMIX_NAMESPACE and PMIX_RANK are not set (mpirun of "
		       "Open MPI and srun --mpi=pmix set them)";
	if (strcmp(name, "pmi1") == 0)
		return "no PMI launcher started this process: PMI_FD, PMI_RANK and PMI_SIZE are not set, or the "
		       "descriptor that PMI_FD names was closed (mpiexec.hydra and srun --mpi=pmi2 set them)";
	if (strcmp(name, "pmi2") == 0)
		return "no PMI-2 launcher started this process: PMI_RANK is not set (srun --mpi=pmi2 sets it)";
	return nullptr;
}

// Tries launchers from the innermost outwards, as far as that can be known: g_native refuses if the environment shows a
// launcher that was started inside its job; a PMI_FD that still is a socket comes from our own parent, because mpirun
// closes what its processes would inherit from an outer launcher. PGAS_BOOT_LAUNCHER names one backend and turns the
// guessing off.
int choose_backend()
{
	const backend *const all[] = {&pgas::boot::g_native, &pgas::boot::g_pmi1, &pgas::boot::g_pmix,
				      &pgas::boot::g_pmi2, &pgas::boot::g_single};
	const char *wanted = pgas_boot_getenv("PGAS_BOOT_LAUNCHER");
	for (const backend *be : all) {
		if (wanted && strcmp(wanted, be->name) != 0)
			continue;
		if (be == &pgas::boot::g_single && !wanted && srun_tells_nothing()) {
			pgas::boot::print_error(
				"started by srun with %s tasks, but without --mpi=pmix or --mpi=pmi2 (for jobs "
				"of one each: PGAS_BOOT_LAUNCHER=single)",
				pgas_boot_getenv("SLURM_STEP_NUM_TASKS"));
			return -ENOTCONN;
		}
		job fresh;
		int rc = be->init(fresh);
		if (rc == pgas::boot::kBeSingle) {
			be = &pgas::boot::g_single;
			rc = be->init(fresh);
		}
		if (rc < 0)
			return rc;
		if (rc == pgas::boot::kJoined) {
			fresh.be = be;
			fresh.exchanges = g_left.exchanges;
			g_job = std::move(fresh);
			pgas::boot::complain_as(g_job.rank);
			pgas::boot::witness_joined(g_job);
			return 0;
		}
	}
	if (const char *why = why_not_mine(wanted)) {
		pgas::boot::print_error("PGAS_BOOT_LAUNCHER=%s: %s", wanted, why);
		return -EINVAL;
	}
	pgas::boot::print_error("PGAS_BOOT_LAUNCHER=%s: no such launcher (oshrun, pmix, pmi1, pmi2 or single)", wanted);
	return -EINVAL;
}

bool is_traced()
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[128];
	int tracer = 0;
	while (status && fgets(line, sizeof line, status))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	if (status)
		fclose(status);
	return tracer != 0;
}

// PGAS_BOOT_ATTACH (oshrun --attach): this rank continues once a debugger is attached to it.
void await_debugger()
{
	const char *text = pgas_boot_getenv("PGAS_BOOT_ATTACH");
	char host[256] = "";
	if (!text || atoi(text) != g_job.rank || is_traced())
		return;
	gethostname(host, sizeof host - 1);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); // in case Yama would refuse the debugger
	fprintf(stderr, "PE %d waits for a debugger, on %s: gdb -p %d\n", g_job.rank, host, getpid());
	while (!is_traced())
		usleep(50'000);
}

bool register_close()
{
	// at the first init, so that it runs before this library and the launcher's are torn down
	static const bool registered = atexit([] { pgas_boot_close(); }) == 0;
	g_pid = getpid();
	return registered;
}

int join()
{
	if (!register_close())
		return -ENOMEM;
	if (!g_left.be) {
		const int rc = choose_backend();
		if (rc == 0)
			await_debugger();
		return rc;
	}
	g_job = std::move(g_left);
	g_left = job{};
	pgas::boot::complain_as(g_job.rank);
	pgas::boot::witness_joined(g_job);
	return 0;
}

// The processes of such a job may have been in other jobs before, and not all in the same ones.
int join_unique(const void *id, int rank, int size)
{
	if (!register_close())
		return -ENOMEM;
	pgas_boot_close(); // of a launcher whose connection was kept
	pgas::boot::unique_id copy;
	memcpy(&copy, id, sizeof copy);
	job fresh;
	if (const int rc = pgas::boot::unique_join(copy, rank, size, fresh))
		return rc;
	fresh.be = &pgas::boot::g_unique;
	g_job = std::move(fresh);
	pgas::boot::witness_joined(g_job);
	g_job.users = 1;
	return 0;
}

int leave()
{
	int rc = 0;
	pgas::boot::witness_left();
	g_left = std::move(g_job);
	g_job = job{};
	pgas::boot::complain_as(pgas::boot::kNobody);
	if (!g_left.be->once) {
		rc = g_left.be->finalize();
		g_left.be = nullptr;
	}
	return rc;
}

// The library's own keys begin with x, those of callers with u.
int exchange(const void *mine, size_t bytes, void *all)
{
	char key[16];
	snprintf(key, sizeof key, "x%u", g_job.exchanges++);
	int rc = g_job.be->put(key, mine, bytes);
	if (rc == 0)
		rc = g_job.be->fence();
	for (int rank = 0; rc == 0 && rank < g_job.size; rank++) {
		ssize_t got = g_job.be->get(rank, key, static_cast<char *>(all) + rank * bytes, bytes);
		if (got < 0 || static_cast<size_t>(got) != bytes) {
			pgas::boot::print_error("allgather: rank %d gave %zd bytes, %zu expected", rank, got, bytes);
			rc = got < 0 ? static_cast<int>(got) : -EMSGSIZE;
		}
	}
	return rc;
}

int check_key(const char *key)
{
	return key && *key && strlen(key) <= PGAS_BOOT_KEY_MAX ? 0 : -EINVAL;
}

std::string user_key(const char *key)
{
	return std::string("u") + key;
}

} // namespace

extern "C" {

int pgas_boot_init(void) noexcept
{
	return guard([] {
		if (g_job.users == 0)
			if (int rc = join())
				return rc;
		g_job.users++;
		return 0;
	});
}

int pgas_boot_get_uniqueid(void *id) noexcept
{
	return guard([&] {
		pgas::boot::unique_id made;
		if (!register_close())
			return -ENOMEM;
		const int rc = pgas::boot::serve_unique(made);
		if (rc == 0)
			memcpy(id, &made, sizeof made);
		return rc;
	});
}

int pgas_boot_init_uniqueid(const void *id, int rank, int size) noexcept
{
	return guard([&] { return g_job.users ? -EALREADY : join_unique(id, rank, size); });
}

int pgas_boot_finalize(void) noexcept
{
	return guard([] {
		if (g_job.users == 0)
			return -EINVAL;
		if (--g_job.users > 0)
			return 0;
		return leave();
	});
}

void pgas_boot_close(void) noexcept
{
	guard([] {
		if (g_left.be && g_pid == getpid())
			g_left.be->finalize();
		g_left.be = nullptr;
		pgas::boot::forget_served();
		return 0;
	});
}

int pgas_boot_rank(void) noexcept
{
	return g_job.rank;
}
int pgas_boot_size(void) noexcept
{
	return g_job.size;
}
const char *pgas_boot_launcher(void) noexcept
{
	return g_job.be ? g_job.be->name : "";
}
int pgas_boot_watches(void) noexcept
{
	return g_job.be && g_job.be->watches;
}

int pgas_boot_is_stopped(int rank) noexcept
{
	return rank >= 0 && rank < g_job.size && g_job.be && g_job.be->is_stopped && g_job.be->is_stopped(rank);
}

int pgas_boot_is_asked(void) noexcept
{
	return g_job.be && g_job.be->is_asked && g_job.be->is_asked();
}

void pgas_boot_answer(const char *place) noexcept
{
	if (g_job.be && g_job.be->answer)
		g_job.be->answer(place);
}

int pgas_boot_local(int *ranks, int room) noexcept
{
	if (!g_job.be)
		return -EINVAL;
	if (!g_job.local_known)
		return -ENOSYS;
	int count = static_cast<int>(g_job.local.size());
	for (int i = 0; i < count && i < room; i++)
		ranks[i] = g_job.local[i];
	return count;
}

int pgas_boot_put(const char *key, const void *value, size_t bytes) noexcept
{
	return guard([&] {
		if (!g_job.be || check_key(key))
			return -EINVAL;
		return g_job.be->put(user_key(key).c_str(), value, bytes);
	});
}

int pgas_boot_commit(void) noexcept
{
	return guard([] { return g_job.be ? g_job.be->commit() : -EINVAL; });
}
int pgas_boot_fence(void) noexcept
{
	return guard([] { return g_job.be ? g_job.be->fence() : -EINVAL; });
}
int pgas_boot_barrier(void) noexcept
{
	return guard([] { return g_job.be ? g_job.be->barrier() : -EINVAL; });
}

ssize_t pgas_boot_get(int rank, const char *key, void *value, size_t room) noexcept
{
	return guard([&]() -> ssize_t {
		if (!g_job.be || check_key(key) || rank < 0 || rank >= g_job.size)
			return -EINVAL;
		return g_job.be->get(rank, user_key(key).c_str(), value, room);
	});
}

int pgas_boot_allgather(const void *mine, size_t bytes, void *all) noexcept
{
	return guard([&] {
		if (!g_job.be)
			return -EINVAL;
		if (bytes == 0)
			return g_job.be->barrier();
		return g_job.be->allgather ? g_job.be->allgather(mine, bytes, all) : exchange(mine, bytes, all);
	});
}

int pgas_boot_secret(void *bytes, size_t room) noexcept
{
	return g_job.be && g_job.be->secret && g_job.be->secret(bytes, room);
}

int pgas_boot_meet(int over_hosts) noexcept
{
	if (!over_hosts)
		return pgas_boot_barrier();
	return guard([] {
		std::vector<char> all(static_cast<size_t>(std::max(g_job.size, 0)));
		const char here = 1;
		return pgas_boot_allgather(&here, 1, all.data());
	});
}

void pgas_boot_abort(int status, const char *message) noexcept
{
	if (g_job.be)
		g_job.be->abort(status, message);
	else if (message)
		pgas::boot::print_error("%s", message);
	_exit(status & 0xff);
}

int pgas_boot_env_share(const char *prefix) noexcept
{
	return guard([&] {
		if (!g_job.be || !prefix || !*prefix)
			return -EINVAL;
		if (g_job.size == 1)
			return 0;
		std::string block;
		if (g_job.rank == 0)
			for (char **entry = environ; *entry; entry++)
				if (strncmp(*entry, prefix, strlen(prefix)) == 0)
					block.append(*entry, strlen(*entry) + 1);
		char key[16];
		snprintf(key, sizeof key, "x%u", g_job.exchanges++);
		int rc = g_job.rank == 0 ? g_job.be->put(key, block.data(), block.size()) : 0;
		if (rc == 0)
			rc = g_job.be->fence();
		if (rc || g_job.rank == 0)
			return rc;
		ssize_t bytes = g_job.be->get(0, key, nullptr, 0);
		if (bytes <= 0)
			return static_cast<int>(bytes);
		block.resize(static_cast<size_t>(bytes));
		bytes = g_job.be->get(0, key, block.data(), block.size());
		if (bytes < 0)
			return static_cast<int>(bytes);
		for (size_t pos = 0; pos < block.size(); pos += strlen(&block[pos]) + 1)
			if (size_t equals = block.find('=', pos); equals != std::string::npos)
				setenv(block.substr(pos, equals - pos).c_str(), &block[equals + 1], 0);
		return 0;
	});
}

} // extern "C"
