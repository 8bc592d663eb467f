// SPDX-License-Identifier: BSD-3-Clause
// boot_pmix.cpp: client of a PMIx server: mpirun, srun --mpi=pmix, and oshrun for programs that ask for PMIx by name.
//
// libpmix is opened at run time: it brings libevent, hwloc and a thread, which a PE under oshrun or alone should
// neither need nor pay for. In a process that has libpmix already (MPI alongside SHMEM) the dynamic linker returns that
// same copy.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "boot.hpp"

#ifdef HAVE_PMIX
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pmix.h>
#include <unistd.h>
#ifndef PGAS_PMIX_SONAME
#define PGAS_PMIX_SONAME "libpmix.so.2"
#endif

namespace pgas::boot {
namespace {

struct pmix_state {
	decltype(&PMIx_Init) init;
	decltype(&PMIx_Finalize) finalize;
	decltype(&PMIx_Abort) abort;
	decltype(&PMIx_Put) put;
	decltype(&PMIx_Get) get;
	decltype(&PMIx_Commit) commit;
	decltype(&PMIx_Fence) fence;
	decltype(&PMIx_Error_string) error_string;
	pmix_proc_t me;
};
pmix_state g_px;

template <class Function>
bool find(void *library, const char *name, Function &function)
{
	function = reinterpret_cast<Function>(dlsym(library, name));
	return function != nullptr;
}

bool open_library()
{
	void *library = dlopen(PGAS_PMIX_SONAME, RTLD_NOW | RTLD_GLOBAL); // global: its plugins need its symbols
	if (!library) {
		print_error("PMIx launcher found, but no library: %s", dlerror());
		return false;
	}
	bool all = find(library, "PMIx_Init", g_px.init) && find(library, "PMIx_Finalize", g_px.finalize) &&
		   find(library, "PMIx_Abort", g_px.abort) && find(library, "PMIx_Put", g_px.put) &&
		   find(library, "PMIx_Get", g_px.get) && find(library, "PMIx_Commit", g_px.commit) &&
		   find(library, "PMIx_Fence", g_px.fence) && find(library, "PMIx_Error_string", g_px.error_string);
	if (!all)
		print_error("%s lacks a PMIx function: %s", PGAS_PMIX_SONAME, dlerror());
	return all;
}

// Frees a value of PMIx_Get, which is malloc'ed; only the types that this file requests occur. The library's own call
// for this is a macro or a function, depending on its version.
void release(pmix_value_t *value)
{
	if (value->type == PMIX_STRING)
		free(value->data.string);
	else if (value->type == PMIX_BYTE_OBJECT)
		free(value->data.bo.bytes);
	free(value);
}

pmix_value_t *job_value(const char *key, pmix_rank_t rank)
{
	pmix_proc_t who = g_px.me;
	who.rank = rank;
	pmix_value_t *value = nullptr;
	return g_px.get(&who, key, nullptr, 0, &value) == PMIX_SUCCESS ? value : nullptr;
}

bool job_size(int &size)
{
	pmix_value_t *value = job_value(PMIX_JOB_SIZE, PMIX_RANK_WILDCARD);
	if (!value)
		return false;
	size = static_cast<int>(value->data.uint32);
	bool good = value->type == PMIX_UINT32;
	release(value);
	return good;
}

bool local_ranks(std::vector<int> &local)
{
	pmix_value_t *value = job_value(PMIX_LOCAL_PEERS, PMIX_RANK_WILDCARD);
	if (!value)
		return false;
	if (value->type == PMIX_STRING && value->data.string)
		for (const char *pos = value->data.string; *pos;) {
			char *end;
			local.push_back(static_cast<int>(strtol(pos, &end, 10)));
			if (end == pos)
				break;
			pos = *end == ',' ? end + 1 : end;
		}
	release(value);
	return !local.empty();
}

int pmix_init(job &job)
{
	if (!pgas_boot_getenv("PMIX_NAMESPACE") || !pgas_boot_getenv("PMIX_RANK"))
		return kNotMine;
	if (!open_library())
		return -ELIBACC;
	pmix_status_t rc = g_px.init(&g_px.me, nullptr, 0);
	if (rc != PMIX_SUCCESS) {
		print_error("PMIx_Init failed: %s", g_px.error_string(rc));
		return -ECONNREFUSED;
	}
	job.rank = static_cast<int>(g_px.me.rank);
	if (!job_size(job.size)) {
		print_error("PMIx: the launcher does not tell the size of the job");
		g_px.finalize(nullptr, 0);
		return -EPROTO;
	}
	job.local_known = local_ranks(job.local);
	return kJoined;
}

int pmix_finalize()
{
	return g_px.finalize(nullptr, 0) == PMIX_SUCCESS ? 0 : -EIO;
}

int report(const char *call, pmix_status_t rc)
{
	if (rc == PMIX_SUCCESS)
		return 0;
	print_error("PMIx: %s failed: %s", call, g_px.error_string(rc));
	return -EIO;
}

int pmix_put(const char *key, const void *bytes, size_t length)
{
	// some versions take an empty byte object for a missing value, so one extra byte precedes it
	std::string framed(1, '\0');
	framed.append(static_cast<const char *>(bytes), length);
	pmix_value_t value;
	memset(&value, 0, sizeof value);
	value.type = PMIX_BYTE_OBJECT;
	value.data.bo.bytes = framed.data();
	value.data.bo.size = framed.size();
	return report("put", g_px.put(PMIX_GLOBAL, (std::string("pgas.") + key).c_str(), &value));
}

int pmix_commit()
{
	return report("commit", g_px.commit());
}

int fence_with(bool collect)
{
	pmix_info_t info;
	memset(&info, 0, sizeof info);
	strcpy(info.key, PMIX_COLLECT_DATA);
	info.value.type = PMIX_BOOL;
	info.value.data.flag = collect;
	pmix_status_t rc = g_px.fence(nullptr, 0, &info, 1);
	if (rc != PMIX_SUCCESS)
		sleep(1); // a rank has died: let the launcher notice that first, name it, and end the job
	return report("fence", rc);
}

int pmix_fence()
{
	if (int rc = pmix_commit())
		return rc;
	return fence_with(true);
}
int pmix_barrier()
{
	return fence_with(false);
}

ssize_t pmix_get(int rank, const char *key, void *bytes, size_t room)
{
	pmix_value_t *value = job_value((std::string("pgas.") + key).c_str(), static_cast<pmix_rank_t>(rank));
	if (!value)
		return -ENOENT;
	ssize_t length = -EPROTO;
	if (value->type == PMIX_BYTE_OBJECT && value->data.bo.size > 0) {
		length = static_cast<ssize_t>(value->data.bo.size) - 1;
		size_t copy = room < static_cast<size_t>(length) ? room : static_cast<size_t>(length);
		if (copy)
			memcpy(bytes, value->data.bo.bytes + 1, copy);
	}
	release(value);
	return length;
}

void pmix_abort(int status, const char *message)
{
	if (message)
		print_error("%s", message);
	signal(SIGALRM, SIG_DFL);
	alarm(10); // the library may hold a lock that this thread owns
	g_px.abort(status & 0xff, message ? message : "", nullptr, 0);
	_exit(status & 0xff);
}

} // namespace

constinit const backend g_pmix = {"pmix", pmix_init, pmix_finalize, pmix_put, pmix_commit, pmix_fence,
				  // once: a fence fails when some ranks joined again before others left
				  pmix_get, nullptr, pmix_barrier, pmix_abort, true};

} // namespace pgas::boot

#else

namespace pgas::boot {
static int pmix_absent(job &)
{
	if (pgas_boot_getenv("PGAS_BOOT_LAUNCHER")) {
		print_error("PGAS_BOOT_LAUNCHER=pmix, but built without PMIx");
		return -ENOSYS;
	}
	if (!pgas_boot_getenv("PMIX_NAMESPACE"))
		return kNotMine;
	// without this error each rank would run as a job of one
	print_error("started by a PMIx launcher, but built without PMIx");
	return -ENOSYS;
}
constinit const backend g_pmix = {"pmix",  pmix_absent, nullptr, nullptr, nullptr,
				  nullptr, nullptr,     nullptr, nullptr, nullptr};
} // namespace pgas::boot

#endif
