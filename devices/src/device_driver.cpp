// SPDX-License-Identifier: BSD-3-Clause
#include "device_driver.hpp"

#include "device_error.hpp"

#include <dlfcn.h>
#include <glob.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace pgas::devices {
namespace {

const char *named_file(const driver_library &library)
{
	const char *named = secure_getenv(library.variable);
	return named && *named ? named : nullptr;
}

// Device files tell at once; the driver would have to open every device.
bool device_is_here(const driver_library &library)
{
	const char *root = secure_getenv("PGAS_DEVICE_ROOT"); // for tests
	for (const char *const *one = library.nodes; one && *one; one++) {
		glob_t found{};
		const int rc = glob(((root ? root : "") + std::string(*one)).c_str(), GLOB_NOSORT, nullptr, &found);
		globfree(&found);
		if (rc == 0)
			return true;
	}
	return false;
}

void *open_library(const driver_library &library, int flags, const char *&file)
{
	if (const char *named = named_file(library)) {
		file = named;
		return dlopen(named, RTLD_NOW | RTLD_LOCAL | flags);
	}
	void *opened = nullptr;
	for (const char *const *one = library.files; *one && !opened; one++) {
		file = *one;
		opened = dlopen(*one, RTLD_NOW | RTLD_LOCAL | flags);
	}
	return opened;
}

} // namespace

bool driver_is_loaded(const driver_library &library)
{
	const char *file = "";
	void *opened = open_library(library, RTLD_NOLOAD, file);
	if (opened)
		dlclose(opened);
	return opened != nullptr;
}

bool driver_is_here(const driver_library &library)
{
	const char *file = "";
	if (!named_file(library) && !device_is_here(library))
		return false;
	return open_library(library, 0, file) != nullptr; // stays loaded: see load_driver()
}

int load_driver(const driver_library &library, driver_symbols symbols, char *why, size_t room)
{
	const char *file = "";
	void *opened = open_library(library, 0, file);
	if (!opened) {
		const char *text = dlerror();
		snprintf(why, room, "%s is missing: %s", library.what, text ? text : file);
		return failed(-ENODEV, "dlopen", why);
	}
	for (driver_symbol &one : symbols) {
		one.address = dlsym(opened, one.name);
		if (!one.address && !one.optional) {
			snprintf(why, room, "%s is too old: %s has no %s", library.what, file, one.name);
			return failed(-ENODEV, "dlsym", why);
		}
	}
	return 0;
}

} // namespace pgas::devices
