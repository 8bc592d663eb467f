// SPDX-License-Identifier: BSD-3-Clause
// oshrun_pmix.cpp: a PMIx server for the PEs of this machine, for programs that need PMIx by name: MPI in addition to
// or instead of SHMEM. PEs that use our own library never talk to it. Runs in the keeper; libpmix is opened at run
// time.
//
// On one host a fence is complete when all local clients have arrived, and what they put is already here. On several
// hosts the servers exchange it through the agents (oshrun_pmix_link.hpp).
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "oshrun_start.hpp"
#include "oshrun_pmix_link.hpp"

#ifdef HAVE_PMIX
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pmix_server.h>
#include <time.h>
#ifndef PGAS_PMIX_SONAME
#define PGAS_PMIX_SONAME "libpmix.so.2"
#endif

namespace oshrun {
namespace {

struct server_state {
	decltype(&PMIx_server_init) init;
	decltype(&PMIx_server_register_nspace) register_nspace;
	decltype(&PMIx_server_register_client) register_client;
	decltype(&PMIx_server_setup_fork) setup_fork;
	decltype(&PMIx_generate_regex) generate_regex;
	decltype(&PMIx_generate_ppn) generate_ppn;
	decltype(&PMIx_server_dmodex_request) dmodex_request;
	keeper_setup setup;
	char nspace[64];
	pmix_link others;              // on other hosts
	std::atomic<uint32_t> pending; // registrations in progress in the library's thread
};
server_state g_server;

template <class Function>
bool find(void *library, const char *name, Function &function)
{
	function = reinterpret_cast<Function>(dlsym(library, name));
	return function != nullptr;
}

bool open_library()
{
	void *library = dlopen(PGAS_PMIX_SONAME, RTLD_NOW | RTLD_GLOBAL); // global: its plugins need its symbols
	return library && find(library, "PMIx_server_init", g_server.init) &&
	       find(library, "PMIx_server_register_nspace", g_server.register_nspace) &&
	       find(library, "PMIx_server_register_client", g_server.register_client) &&
	       find(library, "PMIx_server_setup_fork", g_server.setup_fork) &&
	       find(library, "PMIx_generate_regex", g_server.generate_regex) &&
	       find(library, "PMIx_generate_ppn", g_server.generate_ppn) &&
	       find(library, "PMIx_server_dmodex_request", g_server.dmodex_request);
}

// --- callbacks of the library ----------------------------------------------------------------------------------------

void mark(const pmix_proc_t *proc, uint32_t state)
{
	if (proc->rank < g_server.setup.board.plan.size)
		std::atomic_ref<uint32_t>(g_server.setup.board.slot(proc->rank).pmix)
			.store(state, std::memory_order_release);
}

pmix_status_t on_connected(const pmix_proc_t *proc, void *, pmix_info_t *, size_t, pmix_op_cbfunc_t done, void *token)
{
	mark(proc, pgas::boot::kPmixConnected);
	if (done)
		done(PMIX_SUCCESS, token);
	return PMIX_SUCCESS;
}

pmix_status_t on_finalized(const pmix_proc_t *proc, void *, pmix_op_cbfunc_t done, void *token)
{
	mark(proc, pgas::boot::kPmixFinalized);
	if (done)
		done(PMIX_SUCCESS, token);
	return PMIX_SUCCESS;
}

pmix_status_t on_abort(const pmix_proc_t *proc, void *, int status, const char text[], pmix_proc_t *, size_t,
		       pmix_op_cbfunc_t done, void *token)
{
	pgas::boot::mail_record mail = {};
	mail.kind = pgas::boot::kMailPmixAbort;
	mail.rank = static_cast<int32_t>(proc->rank);
	mail.status = status;
	if (text && strcmp(text, "N/A") != 0) // Open MPI's text for an empty message
		snprintf(mail.text, sizeof mail.text, "%s", text);
	ssize_t ignored = write(g_server.setup.mail_write_fd, &mail, sizeof mail);
	(void)ignored;
	if (done)
		done(PMIX_SUCCESS, token);
	return PMIX_SUCCESS;
}

// Completes a client's request. The library frees the copy after use.
void complete(pmix_modex_cbfunc_t done, void *token, bool known, const std::string &data)
{
	char *block = static_cast<char *>(malloc(data.size() + 1));
	if (block)
		memcpy(block, data.data(), data.size());
	done(
		known && block ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, block, block ? data.size() : 0, token,
		[](void *it) { free(it); }, block);
}

// Fences between hosts always include all processes.
bool everybody(const pmix_proc_t procs[], size_t count)
{
	return (count == 1 && procs[0].rank == PMIX_RANK_WILDCARD) || count == g_server.setup.board.plan.size;
}

pmix_status_t on_fence(const pmix_proc_t procs[], size_t count, const pmix_info_t[], size_t, char *data, size_t bytes,
		       pmix_modex_cbfunc_t done, void *token)
{
	if (!g_server.others.is_open()) {
		if (done)
			done(
				PMIX_SUCCESS, data, bytes, token, [](void *block) { free(block); }, data);
		return PMIX_SUCCESS;
	}
	if (!everybody(procs, count))
		return PMIX_ERR_NOT_SUPPORTED;
	std::string mine(data ? data : "", data ? bytes : 0);
	free(data);
	g_server.others.fence(std::move(mine), [done, token](bool known, const std::string &all) {
		if (done)
			complete(done, token, known, all);
	});
	return PMIX_SUCCESS;
}

// A local client needs what a client on another host has put, and no fence has delivered it.
pmix_status_t on_direct_modex(const pmix_proc_t *proc, const pmix_info_t[], size_t, pmix_modex_cbfunc_t done,
			      void *token)
{
	const placement &where = *g_server.setup.where;
	if (!g_server.others.is_open() || proc->rank >= where.host_of.size() || where.host_of[proc->rank] == where.host)
		return PMIX_ERR_NOT_FOUND;
	g_server.others.ask(static_cast<int>(proc->rank), static_cast<int>(where.host_of[proc->rank]),
			    [done, token](bool known, const std::string &data) { complete(done, token, known, data); });
	return PMIX_SUCCESS;
}

// ... and the other side of that.
void on_question(const message &question)
{
	pmix_proc_t proc;
	memset(&proc, 0, sizeof proc);
	snprintf(proc.nspace, sizeof proc.nspace, "%s", g_server.nspace);
	proc.rank = static_cast<pmix_rank_t>(question.arg);
	auto *kept = new message(question);
	auto found = [](pmix_status_t status, char *data, size_t bytes, void *token) {
		message *it = static_cast<message *>(token);
		g_server.others.answer(*it, status == PMIX_SUCCESS, data, bytes);
		delete it;
	};
	if (g_server.dmodex_request(&proc, found, kept) != PMIX_SUCCESS)
		found(PMIX_ERR_NOT_FOUND, nullptr, 0, kept);
}

// --- start -----------------------------------------------------------------------------------------------------------

class info_list {
public:
	pmix_info_t &add(const char *key, pmix_data_type_t type)
	{
		pmix_info_t info;
		memset(&info, 0, sizeof info);
		snprintf(info.key, sizeof info.key, "%s", key);
		info.value.type = type;
		list_.push_back(info);
		return list_.back();
	}
	void text(const char *key, const std::string &value)
	{
		// never freed: it happens once per job
		add(key, PMIX_STRING).value.data.string = strdup(value.c_str());
	}
	void u32(const char *key, uint32_t value) { add(key, PMIX_UINT32).value.data.uint32 = value; }
	void u16(const char *key, uint16_t value) { add(key, PMIX_UINT16).value.data.uint16 = value; }
	void rank(const char *key, uint32_t value) { add(key, PMIX_PROC_RANK).value.data.rank = value; }
	void flag(const char *key, bool value) { add(key, PMIX_BOOL).value.data.flag = value; }
	void array(const char *key, info_list &&inner)
	{
		auto *darray = new pmix_data_array_t{};
		auto *kept = new std::vector<pmix_info_t>(std::move(inner.list_));
		darray->type = PMIX_INFO;
		darray->size = kept->size();
		darray->array = kept->data();
		add(key, PMIX_DATA_ARRAY).value.data.darray = darray;
	}
	pmix_info_t *data() { return list_.data(); }
	size_t size() const { return list_.size(); }

private:
	std::vector<pmix_info_t> list_;
};

void finished(pmix_status_t, void *)
{
	g_server.pending.fetch_sub(1, std::memory_order_release);
}

// A thread of the library does the work; it takes well under a millisecond.
void await_pending()
{
	const struct timespec nap = {0, 50'000};
	for (int i = 0; i < 200'000 && g_server.pending.load(std::memory_order_acquire) > 0; i++)
		nanosleep(&nap, nullptr);
}

// Ranks of each host, "0,1;2,3", and for each rank its number on its host.
std::string ranks_by_host(const placement &where, std::vector<uint16_t> &local_rank)
{
	strings lists(where.names.size());
	std::vector<uint16_t> next(where.names.size(), 0);
	for (uint32_t rank = 0; rank < where.host_of.size(); rank++) {
		std::string &list = lists[where.host_of[rank]];
		list += (list.empty() ? "" : ",") + std::to_string(rank);
		local_rank.push_back(next[where.host_of[rank]]++);
	}
	std::string text;
	for (const std::string &list : lists)
		text += (text.empty() ? "" : ";") + list;
	return text;
}

void describe_ranks(const placement &where, const std::vector<uint16_t> &local_rank, info_list &job)
{
	for (uint32_t rank = 0; rank < where.host_of.size(); rank++) {
		info_list proc;
		proc.rank(PMIX_RANK, rank);
		proc.rank(PMIX_GLOBAL_RANK, rank);
		proc.rank(PMIX_APP_RANK, rank);
		proc.u32(PMIX_APPNUM, 0);
		proc.u16(PMIX_LOCAL_RANK, local_rank[rank]);
		proc.u16(PMIX_NODE_RANK, local_rank[rank]);
		proc.u32(PMIX_NODEID, where.host_of[rank]);
		proc.text(PMIX_HOSTNAME, where.names[where.host_of[rank]]);
		job.array(PMIX_PROC_DATA, std::move(proc));
	}
}

info_list describe_job(const placement &where, const std::string &tmpdir)
{
	std::string hosts, peers;
	for (const std::string &name : where.names)
		hosts += (hosts.empty() ? "" : ",") + name;
	uint32_t leader = 0;
	for (uint32_t rank = static_cast<uint32_t>(where.host_of.size()); rank-- > 0;)
		if (where.host_of[rank] == where.host) {
			peers = std::to_string(rank) + (peers.empty() ? "" : ",") + peers;
			leader = rank;
		}
	std::vector<uint16_t> local_rank;
	const std::string ranks = ranks_by_host(where, local_rank);
	info_list job;
	char *text = nullptr;
	if (g_server.generate_regex(hosts.c_str(), &text) == PMIX_SUCCESS)
		job.add(PMIX_NODE_MAP, PMIX_REGEX).value.data.bo = {text, strlen(text) + 1};
	if (g_server.generate_ppn(ranks.c_str(), &text) == PMIX_SUCCESS)
		job.add(PMIX_PROC_MAP, PMIX_REGEX).value.data.bo = {text, strlen(text) + 1};
	job.text(PMIX_JOBID, g_server.nspace);
	for (const char *key : {PMIX_JOB_SIZE, PMIX_UNIV_SIZE, PMIX_MAX_PROCS})
		job.u32(key, static_cast<uint32_t>(where.host_of.size()));
	for (const char *key : {PMIX_LOCAL_SIZE, PMIX_NODE_SIZE})
		job.u32(key, where.local_size());
	job.u32(PMIX_NUM_NODES, static_cast<uint32_t>(where.names.size()));
	job.u32(PMIX_NODEID, where.host);
	job.rank(PMIX_LOCALLDR, leader);
	job.text(PMIX_LOCAL_PEERS, peers);
	job.text(PMIX_TMPDIR, tmpdir);
	job.text(PMIX_NSDIR, tmpdir);
	job.flag(PMIX_TDIR_RMCLEAN, true);
	describe_ranks(where, local_rank, job);
	return job;
}

bool start_server(const placement &where, const std::string &tmpdir)
{
	static pmix_server_module_t host; // the library keeps the address
	host.client_connected2 = on_connected;
	host.client_finalized = on_finalized;
	host.abort = on_abort;
	host.fence_nb = on_fence;
	host.direct_modex = on_direct_modex;
	info_list how;
	how.text(PMIX_SERVER_TMPDIR, tmpdir);
	how.text(PMIX_SYSTEM_TMPDIR, tmpdir);
	how.text(PMIX_HOSTNAME, where.name()); // as in the map of hosts
	return g_server.init(&host, how.data(), how.size()) == PMIX_SUCCESS;
}

bool register_pes(const placement &where, const std::string &tmpdir)
{
	info_list job = describe_job(where, tmpdir);
	const uint32_t local = where.local_size();
	g_server.pending = 1;
	if (g_server.register_nspace(g_server.nspace, static_cast<int>(local), job.data(), job.size(), finished,
				     nullptr) != PMIX_SUCCESS)
		return false;
	await_pending(); // afterwards the library no longer uses `job`
	pmix_proc_t proc;
	memset(&proc, 0, sizeof proc);
	snprintf(proc.nspace, sizeof proc.nspace, "%s", g_server.nspace);
	g_server.pending = local;
	for (proc.rank = 0; proc.rank < where.host_of.size(); proc.rank++)
		if (where.host_of[proc.rank] == where.host &&
		    g_server.register_client(&proc, getuid(), getgid(), nullptr, finished, nullptr) != PMIX_SUCCESS)
			return false;
	await_pending();
	return g_server.pending == 0;
}

// The variables of the first local PE without its rank, which each PE sets itself.
bool publish_environment(const placement &where, keeper_page &page)
{
	pmix_proc_t proc;
	memset(&proc, 0, sizeof proc);
	snprintf(proc.nspace, sizeof proc.nspace, "%s", g_server.nspace);
	while (where.host_of[proc.rank] != where.host)
		proc.rank++;
	char **env = nullptr;
	if (g_server.setup_fork(&proc, &env) != PMIX_SUCCESS || !env)
		return false;
	size_t used = 0;
	for (; *env; env++) {
		size_t length = strlen(*env) + 1;
		if (strncmp(*env, "PMIX_RANK=", 10) == 0)
			continue;
		if (used + length > sizeof page.env_text)
			return false;
		memcpy(page.env_text + used, *env, length);
		used += length;
	}
	page.env_bytes = static_cast<uint32_t>(used);
	return true;
}

} // namespace

bool start_pmix_server(const keeper_setup &setup)
{
	g_server.setup = setup;
	pgas::boot::board_nspace(setup.board.plan.job_cookie, g_server.nspace, sizeof g_server.nspace);
	strings clean = base_environment();
	clearenv();
	for (const std::string &entry : clean)
		putenv(strdup(entry.c_str()));
	setenv("PMIX_MCA_gds", "hash", 0); // the other components leave files in shared memory
	setenv(kHwlocPlugins, "/nonexistent", 0);
	if (setup.pmix_fd >= 0 && !g_server.others.open(setup.pmix_fd, static_cast<int>(setup.where->host)))
		return false;
	const std::string &tmpdir = setup.scratch->path();
	return !tmpdir.empty() && open_library() && start_server(*setup.where, tmpdir) &&
	       register_pes(*setup.where, tmpdir) && publish_environment(*setup.where, *setup.page);
}

bool handle_pmix_link()
{
	return g_server.others.is_open() && g_server.others.handle(on_question);
}

bool pmix_available()
{
	return true;
}

} // namespace oshrun

#else

namespace oshrun {
bool start_pmix_server(const keeper_setup &)
{
	return false;
}
bool handle_pmix_link()
{
	return false;
}
bool pmix_available()
{
	return false;
}
} // namespace oshrun

#endif
