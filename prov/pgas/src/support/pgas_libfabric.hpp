// SPDX-License-Identifier: BSD-3-Clause
//
// The functions that we need from libfabric itself. On one host these are eight small ones. When libfabric has loaded
// our module, the module passes us libfabric's own; otherwise they are ours (pgas_log.cpp, pgas_info_copy.cpp), and
// libfabric is not even loaded: the libraries that it loads may sleep or take over signals before main. A link through
// one of its network providers needs all of libfabric, and loads it then.
#pragma once

#include <cstdint>
#include <string>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include <pgas/pgas_open.h>

namespace pgas {

// libfabric's functions as the module sees them. Passed from libpgas-fi.so to libpgas.so: grows at its end only.
struct libfabric_calls {
	size_t size;
	decltype(&::fi_dupinfo) dupinfo;
	decltype(&::fi_freeinfo) freeinfo;
	decltype(&::fi_strerror) strerror;
	decltype(&::fi_log) log;
	decltype(&::fi_log_enabled) log_enabled;
	decltype(&::fi_param_define) param_define;
	decltype(&::fi_param_get) param_get;
	decltype(&::fi_version) version;
};

// Null: libfabric has not loaded us, or has released us.
const libfabric_calls *libfabric();
void libfabric_take(const libfabric_calls &calls);
void libfabric_leave();

// Version of the libfabric that loaded us; 0: none did, and no structure is longer than in our headers.
inline uint32_t libfabric_version()
{
	const libfabric_calls *l = libfabric();
	return l ? l->version() : 0;
}

// For the link. One libfabric per process: a copy that the program has already loaded is used.
struct libfabric_network {
	decltype(&::fi_getinfo) getinfo;
	decltype(&::fi_fabric) fabric;
	decltype(&::fi_dupinfo) dupinfo;
	decltype(&::fi_freeinfo) freeinfo;
};
const libfabric_network *libfabric_load(std::string &why); // null: not loaded, see `why`
void libfabric_info_free(fi_info *info);                   // for infos allocated by its functions

// A copy that fi_freeinfo() of any libfabric can free; own_info_free() can free any of theirs. Null: an empty one.
fi_info *own_info_dup(const fi_info *info);
void own_info_free(fi_info *info);
const char *own_strerror(int error);
void open_reason_set(const char *text); // sets pgas_open_reason(); logs the text unless it is empty

bool log_enabled(fi_log_level level, fi_log_subsys subsys);
void log_line(fi_log_level level, fi_log_subsys subsys, const char *function, int line, const char *format,
	      ...) noexcept __attribute__((format(printf, 5, 6)));

} // namespace pgas

// Returns the provider, for the module to pass to libfabric; from now on the provider uses these calls.
extern "C" __attribute__((visibility("default"))) fi_provider *
pgas_provider_loaded(const pgas::libfabric_calls *calls) noexcept;
