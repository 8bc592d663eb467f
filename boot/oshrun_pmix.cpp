// SPDX-License-Identifier: BSD-3-Clause
// oshrun_pmix.cpp: a PMIx server for the PEs of this machine, for programs that want PMIx by name: MPI beside or
// instead of SHMEM. PEs that use our own library never talk to it. Runs in the guard; libpmix is opened at run time.
//
// One server, one host: a fence is complete when all local clients have arrived, and what they put is already here.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "oshrun.hpp"

#include <filesystem>

namespace oshrun {

void remove_tmpdir(pgas::boot::board_header &head)
{
	if (!head.tmpdir[0])
		return;
	std::error_code ignored; // nothing can be done about it, and nobody is there to hear it
	std::filesystem::remove_all(head.tmpdir, ignored);
	head.tmpdir[0] = '\0';
}

} // namespace oshrun

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
	guard_setup setup;
	char nspace[64];
	std::atomic<uint32_t> pending; // registrations under way in the library's thread
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
	void *library = dlopen(PGAS_PMIX_SONAME, RTLD_NOW | RTLD_GLOBAL); // global: its plugins look for its symbols
	return library && find(library, "PMIx_server_init", g_server.init) &&
	       find(library, "PMIx_server_register_nspace", g_server.register_nspace) &&
	       find(library, "PMIx_server_register_client", g_server.register_client) &&
	       find(library, "PMIx_server_setup_fork", g_server.setup_fork) &&
	       find(library, "PMIx_generate_regex", g_server.generate_regex) &&
	       find(library, "PMIx_generate_ppn", g_server.generate_ppn);
}

// --- what the library asks of its host -------------------------------------------------------------------------------

void mark(const pmix_proc_t *proc, uint32_t state)
{
	if (proc->rank < g_server.setup.board.head().size)
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
	if (text && strcmp(text, "N/A") != 0) // Open MPI's way to say nothing
		snprintf(mail.text, sizeof mail.text, "%s", text);
	ssize_t ignored = write(g_server.setup.mail_write_fd, &mail, sizeof mail);
	(void)ignored;
	if (done)
		done(PMIX_SUCCESS, token);
	return PMIX_SUCCESS;
}

pmix_status_t on_fence(const pmix_proc_t[], size_t, const pmix_info_t[], size_t, char *data, size_t bytes,
		       pmix_modex_cbfunc_t done, void *token)
{
	if (done)
		done(
			PMIX_SUCCESS, data, bytes, token, [](void *block) { free(block); }, data);
	return PMIX_SUCCESS;
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

// The work is done by a thread of the library; it takes well under a millisecond.
void await_pending()
{
	const struct timespec nap = {0, 50'000};
	for (int i = 0; i < 200'000 && g_server.pending.load(std::memory_order_acquire) > 0; i++)
		nanosleep(&nap, nullptr);
}

bool make_tmpdir(pgas::boot::board_header &head)
{
	const char *base = getenv("TMPDIR");
	int used = snprintf(head.tmpdir, sizeof head.tmpdir, "%s/oshrun.XXXXXX", base && *base ? base : "/tmp");
	if (used < static_cast<int>(sizeof head.tmpdir) && mkdtemp(head.tmpdir))
		return true;
	head.tmpdir[0] = '\0';
	return false;
}

info_list describe_job(uint32_t size, const std::string &tmpdir)
{
	char host[256] = "localhost";
	gethostname(host, sizeof host - 1);
	std::string ranks;
	for (uint32_t rank = 0; rank < size; rank++)
		ranks += (rank ? "," : "") + std::to_string(rank);
	info_list job;
	char *text = nullptr;
	if (g_server.generate_regex(host, &text) == PMIX_SUCCESS)
		job.add(PMIX_NODE_MAP, PMIX_REGEX).value.data.bo = {text, strlen(text) + 1};
	if (g_server.generate_ppn(ranks.c_str(), &text) == PMIX_SUCCESS)
		job.add(PMIX_PROC_MAP, PMIX_REGEX).value.data.bo = {text, strlen(text) + 1};
	job.text(PMIX_JOBID, g_server.nspace);
	for (const char *key : {PMIX_JOB_SIZE, PMIX_UNIV_SIZE, PMIX_MAX_PROCS, PMIX_LOCAL_SIZE, PMIX_NODE_SIZE})
		job.u32(key, size);
	job.u32(PMIX_NUM_NODES, 1);
	job.u32(PMIX_NODEID, 0);
	job.rank(PMIX_LOCALLDR, 0);
	job.text(PMIX_LOCAL_PEERS, ranks);
	job.text(PMIX_TMPDIR, tmpdir);
	job.text(PMIX_NSDIR, tmpdir);
	job.flag(PMIX_TDIR_RMCLEAN, true);
	for (uint32_t rank = 0; rank < size; rank++) {
		info_list proc;
		proc.rank(PMIX_RANK, rank);
		proc.rank(PMIX_GLOBAL_RANK, rank);
		proc.rank(PMIX_APP_RANK, rank);
		proc.u32(PMIX_APPNUM, 0);
		proc.u16(PMIX_LOCAL_RANK, static_cast<uint16_t>(rank));
		proc.u16(PMIX_NODE_RANK, static_cast<uint16_t>(rank));
		proc.u32(PMIX_NODEID, 0);
		proc.text(PMIX_HOSTNAME, host);
		job.array(PMIX_PROC_DATA, std::move(proc));
	}
	return job;
}

bool start_server(const std::string &tmpdir)
{
	static pmix_server_module_t host; // the library keeps the address
	host.client_connected2 = on_connected;
	host.client_finalized = on_finalized;
	host.abort = on_abort;
	host.fence_nb = on_fence;
	info_list how;
	how.text(PMIX_SERVER_TMPDIR, tmpdir);
	how.text(PMIX_SYSTEM_TMPDIR, tmpdir);
	return g_server.init(&host, how.data(), how.size()) == PMIX_SUCCESS;
}

bool register_pes(uint32_t size, const std::string &tmpdir)
{
	info_list job = describe_job(size, tmpdir);
	g_server.pending = 1;
	if (g_server.register_nspace(g_server.nspace, static_cast<int>(size), job.data(), job.size(), finished,
				     nullptr) != PMIX_SUCCESS)
		return false;
	await_pending(); // after that `job` is ours again
	pmix_proc_t proc;
	memset(&proc, 0, sizeof proc);
	snprintf(proc.nspace, sizeof proc.nspace, "%s", g_server.nspace);
	g_server.pending = size;
	for (proc.rank = 0; proc.rank < size; proc.rank++)
		if (g_server.register_client(&proc, getuid(), getgid(), nullptr, finished, nullptr) != PMIX_SUCCESS)
			return false;
	await_pending();
	return g_server.pending == 0;
}

// The variables of rank 0 without its rank, which each PE writes itself.
bool publish_environment(pgas::boot::board_header &head)
{
	pmix_proc_t proc;
	memset(&proc, 0, sizeof proc);
	snprintf(proc.nspace, sizeof proc.nspace, "%s", g_server.nspace);
	char **env = nullptr;
	if (g_server.setup_fork(&proc, &env) != PMIX_SUCCESS || !env)
		return false;
	size_t used = 0;
	for (; *env; env++) {
		size_t length = strlen(*env) + 1;
		if (strncmp(*env, "PMIX_RANK=", 10) == 0)
			continue;
		if (used + length > sizeof head.env_text)
			return false;
		memcpy(head.env_text + used, *env, length);
		used += length;
	}
	head.env_bytes = static_cast<uint32_t>(used);
	return true;
}

} // namespace

bool start_pmix_server(const guard_setup &setup)
{
	g_server.setup = setup;
	pgas::boot::board_header &head = setup.board.head();
	pgas::boot::board_nspace(head.cookie, g_server.nspace, sizeof g_server.nspace);
	strings clean = base_environment();
	clearenv();
	for (const std::string &entry : clean)
		putenv(strdup(entry.c_str()));
	setenv("PMIX_MCA_gds", "hash", 0); // the other components leave files in shared memory
	setenv(kHwlocPlugins, "/nonexistent", 0);
	if (!open_library() || !make_tmpdir(head))
		return false;
	const std::string tmpdir = head.tmpdir;
	if (start_server(tmpdir) && register_pes(head.size, tmpdir) && publish_environment(head))
		return true;
	remove_tmpdir(head);
	return false;
}

bool pmix_available()
{
	return true;
}

} // namespace oshrun

#else

namespace oshrun {
bool start_pmix_server(const guard_setup &)
{
	return false;
}
bool pmix_available()
{
	return false;
}
} // namespace oshrun

#endif
