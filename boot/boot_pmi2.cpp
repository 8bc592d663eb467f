// SPDX-License-Identifier: BSD-3-Clause
// boot_pmi2.cpp: PMI-2 through the launcher's own library, for launchers that leave no PMI_FD socket but provide a
// libpmi2.
//
// The library is opened at run time: programs that start under oshrun, PMIx or alone must not need it. If there is a
// PMI_FD the wire (boot_pmi1.cpp) is tried first; PGAS_BOOT_LAUNCHER=pmi2 forces this one.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "boot.hpp"

#ifdef HAVE_PMI2
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>
#ifdef HAVE_SLURM_PMI2_H
#include <slurm/pmi2.h>
#else
#include <pmi2.h>
#endif
#ifndef PGAS_PMI2_SONAME
#define PGAS_PMI2_SONAME "libpmi2.so.0"
#endif

namespace pgas::boot {
namespace {

struct pmi2_state {
	decltype(&PMI2_Init) init;
	decltype(&PMI2_Finalize) finalize;
	decltype(&PMI2_Abort) abort;
	decltype(&PMI2_KVS_Put) put;
	decltype(&PMI2_KVS_Get) get;
	decltype(&PMI2_KVS_Fence) fence;
	decltype(&PMI2_Job_GetId) job_id;
	decltype(&PMI2_Info_GetJobAttr) attribute;
	int rank;
	char id[256];
	text_kvs kvs;
};
pmi2_state g_pmi;

template <class Function>
bool find(void *library, const char *name, Function &function)
{
	function = reinterpret_cast<Function>(dlsym(library, name));
	return function != nullptr;
}

bool open_library()
{
	void *library = dlopen(PGAS_PMI2_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		print_error("PMI-2 launcher found, but no library: %s", dlerror());
		return false;
	}
	bool all = find(library, "PMI2_Init", g_pmi.init) && find(library, "PMI2_Finalize", g_pmi.finalize) &&
		   find(library, "PMI2_Abort", g_pmi.abort) && find(library, "PMI2_KVS_Put", g_pmi.put) &&
		   find(library, "PMI2_KVS_Get", g_pmi.get) && find(library, "PMI2_KVS_Fence", g_pmi.fence) &&
		   find(library, "PMI2_Job_GetId", g_pmi.job_id) &&
		   find(library, "PMI2_Info_GetJobAttr", g_pmi.attribute);
	if (!all)
		print_error("%s lacks a PMI-2 function: %s", PGAS_PMI2_SONAME, dlerror());
	return all;
}

int put_text(const char *key, const char *value)
{
	return g_pmi.put(key, value) == PMI2_SUCCESS ? 0 : -EIO;
}

int get_text(int owner, const char *key, char *value, size_t room)
{
	int length = 0;
	int rc = g_pmi.get(g_pmi.id, owner, key, value, static_cast<int>(room), &length);
	if (rc != PMI2_SUCCESS || length <= 0 || static_cast<size_t>(length) >= room)
		return -ENOENT;
	value[length] = '\0';
	return 0;
}

int pmi2_init(job &job)
{
	if (!pgas_boot_getenv("PMI_RANK") && !pgas_boot_getenv("PMI_FD"))
		return kNotMine;
	if (!open_library())
		return -ELIBACC;
	int spawned, appnum;
	if (g_pmi.init(&spawned, &job.size, &job.rank, &appnum) != PMI2_SUCCESS ||
	    g_pmi.job_id(g_pmi.id, sizeof g_pmi.id) != PMI2_SUCCESS) {
		print_error("PMI2_Init failed: the launcher is gone, or it and %s do not understand each other%s",
			    PGAS_PMI2_SONAME,
			    pgas_boot_getenv("PMI_FD") ? "; PGAS_BOOT_LAUNCHER=pmi1 does without it" : "");
		return -ECONNREFUSED;
	}
	g_pmi.rank = job.rank;
	g_pmi.kvs = {PMI2_MAX_VALLEN - 1, put_text, get_text};
	char map[PMI2_MAX_ATTRVALUE];
	int found = 0;
	job.local_known = g_pmi.attribute("PMI_process_mapping", map, sizeof map, &found) == PMI2_SUCCESS && found &&
			  parse_process_mapping(map, job.rank, job.size, job.local);
	return kJoined;
}

int pmi2_finalize()
{
	return g_pmi.finalize() == PMI2_SUCCESS ? 0 : -EIO;
}
int pmi2_put(const char *key, const void *value, size_t bytes)
{
	return kvs_put(g_pmi.kvs, g_pmi.rank, key, value, bytes);
}
int pmi2_commit()
{
	return 0;
}
int pmi2_fence()
{
	return g_pmi.fence() == PMI2_SUCCESS ? 0 : -EIO;
}
ssize_t pmi2_get(int rank, const char *key, void *value, size_t room)
{
	return kvs_get(g_pmi.kvs, rank, key, value, room);
}
// The wire of PMI-2, on the socket that the library uses, too: the length of the command, and the command.
bool pmi2_describe_abort(abort_words &words)
{
	static constexpr char kCommand[] = "cmd=abort;isworld=TRUE;msg=a process ended without leaving the job;";
	const char *const fd = pgas_boot_getenv("PMI_FD");
	if (!fd)
		return false;
	words.fd = atoi(fd);
	words.length =
		static_cast<size_t>(snprintf(words.text, sizeof words.text, "%-6zu%s", sizeof kCommand - 1, kCommand));
	return words.length < sizeof words.text;
}
void pmi2_abort(int status, const char *message)
{
	alarm(10); // the library may hold a lock that this thread owns
	g_pmi.abort(1, message ? message : "");
	_exit(status & 0xff);
}

} // namespace

constinit const backend g_pmi2 = {"pmi2",     pmi2_init, pmi2_finalize, pmi2_put,           pmi2_commit,
				  pmi2_fence, pmi2_get,  nullptr,       pmi2_fence,         pmi2_abort,
				  true,       false,     nullptr,       pmi2_describe_abort};

} // namespace pgas::boot

#else

namespace pgas::boot {
static int pmi2_absent(job &)
{
	if (pgas_boot_getenv("PGAS_BOOT_LAUNCHER")) {
		print_error("PGAS_BOOT_LAUNCHER=pmi2, but built without PMI-2");
		return -ENOSYS;
	}
	if (!pgas_boot_getenv("PMI_RANK"))
		return kNotMine;
	// without this error each rank would run as a job of one
	print_error("started by a PMI-2 launcher without PMI_FD, but built without PMI-2");
	return -ENOSYS;
}
constinit const backend g_pmi2 = {"pmi2",  pmi2_absent, nullptr, nullptr, nullptr,
				  nullptr, nullptr,     nullptr, nullptr, nullptr};
} // namespace pgas::boot

#endif
