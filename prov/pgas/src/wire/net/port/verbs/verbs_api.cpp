// SPDX-License-Identifier: BSD-3-Clause
//
// Loading libibverbs and librdmacm.
#include "verbs_api.hpp"

#include <dlfcn.h>

#include <mutex>

namespace pgas {
namespace {

struct loaded {
	verbs_api api;
	std::string why; // empty: complete
};

// Not RTLD_GLOBAL: another libibverbs may be in the process. Each library finds its own.
void *open_library(const char *name, loaded &into)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		into.why = dlerror();
	return library;
}

void load(loaded &into)
{
	void *const verbs = open_library("libibverbs.so.1", into);
	void *const cm = verbs ? open_library("librdmacm.so.1", into) : nullptr;
	if (!cm)
		return;
	const auto find = [&](const char *name, auto &function) {
		function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(*name == 'i' ? verbs : cm, name));
		if (!function)
			into.why = std::string("rdma-core has no ") + name;
	};
#define PGAS_VERBS_FUNCTION(name) find(#name, into.api.name);
	PGAS_VERBS_FUNCTIONS(PGAS_VERBS_FUNCTION)
#undef PGAS_VERBS_FUNCTION
}

} // namespace

const verbs_api *verbs_load(std::string &why)
{
	static loaded the_one;
	static std::once_flag once;
	std::call_once(once, load, std::ref(the_one));
	if (the_one.why.empty())
		return &the_one.api;
	why = the_one.why;
	return nullptr;
}

} // namespace pgas
