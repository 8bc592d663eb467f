// SPDX-License-Identifier: BSD-3-Clause
//
// The choice between libfabric's functions and ours, and loading libfabric for a link.
#include "pgas_libfabric.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <mutex>

namespace pgas {
namespace {

// Every set of calls that we were given is kept: another thread may be about to use it.
struct given {
	libfabric_calls calls;
	given *older;
};
constinit std::atomic<given *> g_given{nullptr};
constinit std::atomic<const libfabric_calls *> g_calls{nullptr};

// We stay loaded when libfabric unloads its modules, and call it until libfabric_leave(), so libfabric must stay too.
void keep_loaded(const libfabric_calls &calls)
{
	Dl_info where;
	if (dladdr(reinterpret_cast<void *>(calls.log), &where) && where.dli_fname)
		dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

const given *find(const libfabric_calls &calls)
{
	const given *g = g_given.load(std::memory_order_acquire);
	while (g && memcmp(&g->calls, &calls, sizeof calls) != 0)
		g = g->older;
	return g;
}

} // namespace

const libfabric_calls *libfabric()
{
	return g_calls.load(std::memory_order_acquire);
}

void libfabric_take(const libfabric_calls &calls)
{
	static std::mutex mutex;
	std::lock_guard lock(mutex);
	const given *g = find(calls);
	if (!g) {
		auto *added = new (std::nothrow) given{calls, g_given.load(std::memory_order_relaxed)};
		if (!added)
			return; // our own calls serve as well
		g_given.store(added, std::memory_order_release);
		keep_loaded(calls);
		g = added;
	}
	g_calls.store(&g->calls, std::memory_order_release);
}

void libfabric_leave()
{
	g_calls.store(nullptr, std::memory_order_release);
}

// --- for the link ----------------------------------------------------------------------------------------------------

namespace {

struct loaded {
	libfabric_network network;
	std::string why; // empty: everything was found
};

// Loads it by the soname that every version has had, so that a copy already in the process is found. RTLD_LOCAL: its
// symbols are only for libraries linked with it.
void load(loaded &into)
{
	void *const library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		into.why = std::string("libfabric cannot be loaded: ") + dlerror();
		return;
	}
	const auto find_call = [&](const char *name, auto &function) {
		function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
		if (!function)
			into.why = std::string("libfabric has no ") + name;
	};
	find_call("fi_getinfo", into.network.getinfo);
	find_call("fi_fabric", into.network.fabric);
	find_call("fi_dupinfo", into.network.dupinfo);
	find_call("fi_freeinfo", into.network.freeinfo);
}

} // namespace

const libfabric_network *libfabric_load(std::string &why)
{
	static loaded the_one;
	static std::once_flag once;
	std::call_once(once, load, std::ref(the_one));
	if (the_one.why.empty())
		return &the_one.network;
	why = the_one.why;
	return nullptr;
}

void libfabric_info_free(fi_info *info)
{
	std::string why;
	if (const libfabric_network *l = libfabric_load(why))
		l->freeinfo(info);
}

} // namespace pgas

// --- for SHMEM, GASNet and programs that open us by pgas_open.h ------------------------------------------------------

extern "C" {

__attribute__((visibility("default"))) struct fi_info *pgas_info_dup(const struct fi_info *info) noexcept
{
	const pgas::libfabric_calls *l = pgas::libfabric();
	return l ? l->dupinfo(info) : pgas::own_info_dup(info);
}

__attribute__((visibility("default"))) void pgas_info_free(struct fi_info *info) noexcept
{
	const pgas::libfabric_calls *l = pgas::libfabric();
	if (l)
		l->freeinfo(info);
	else
		pgas::own_info_free(info);
}

__attribute__((visibility("default"))) const char *pgas_strerror(int error) noexcept
{
	const pgas::libfabric_calls *l = pgas::libfabric();
	return l ? l->strerror(error) : pgas::own_strerror(error);
}

} // extern "C"
