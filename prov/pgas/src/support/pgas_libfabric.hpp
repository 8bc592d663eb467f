// SPDX-License-Identifier: BSD-3-Clause
//
// What we want of libfabric itself. On one host that is eight small functions. When libfabric has loaded our module
// they are its own, which the module hands over; otherwise they are ours (pgas_log.cpp, pgas_info_copy.cpp), and
// libfabric is not even loaded: the libraries that it brings along may sleep or take over signals before main. A link
// by one of its network providers needs all of it, and loads it then.
#pragma once

#include <cstdint>
#include <string>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include <pgas/pgas_open.h>

namespace pgas {

// libfabric's functions as the module knows them. Crosses the border between libpgas-fi.so and libpgas.so: grows at
// its end only.
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

// Null: libfabric has not loaded us, or has let us go.
const libfabric_calls *libfabric();
void libfabric_take(const libfabric_calls &calls);
void libfabric_leave();

// Of the libfabric that loaded us; 0: none did, and no structure is longer than our headers know.
inline uint32_t libfabric_version()
{
	const libfabric_calls *l = libfabric();
	return l ? l->version() : 0;
}

// For the link. One libfabric per process: what the program has loaded already is taken.
struct libfabric_network {
	decltype(&::fi_getinfo) getinfo;
	decltype(&::fi_fabric) fabric;
	decltype(&::fi_dupinfo) dupinfo;
	decltype(&::fi_freeinfo) freeinfo;
};
const libfabric_network *libfabric_load(std::string &why); // null, and why
void libfabric_info_free(fi_info *info);                   // one that its functions have made

// A copy that fi_freeinfo() of any libfabric can free, as this can free any of theirs. Null: an empty one.
fi_info *own_info_dup(const fi_info *info);
void own_info_free(fi_info *info);
const char *own_strerror(int error);
void open_reason_set(const char *text); // what pgas_open_reason() returns, and a line of the log unless it is empty

bool log_enabled(fi_log_level level, fi_log_subsys subsys);
void log_line(fi_log_level level, fi_log_subsys subsys, const char *function, int line, const char *format,
	      ...) noexcept __attribute__((format(printf, 5, 6)));

} // namespace pgas

// What libfabric gets from the module: the provider, which from now on uses these calls.
extern "C" __attribute__((visibility("default"))) fi_provider *
pgas_provider_loaded(const pgas::libfabric_calls *calls) noexcept;
