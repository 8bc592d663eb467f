// SPDX-License-Identifier: BSD-3-Clause
//
// The library of a driver, opened at run time. What a kind calls is a struct of driver_call members, one for each
// function, each with its name in the library; so the name is there for the message when the call fails. Nothing of the
// driver is needed to build this.
#pragma once

#include <cstddef>

namespace pgas::devices {

struct driver_symbol {
	const char *name;
	bool optional = false;
	void *address = nullptr;
};

// A function that returns a code, 0 for success, as all drivers' functions do.
template <class... Args>
struct driver_call : driver_symbol {
	constexpr explicit driver_call(const char *name_in_library, bool may_lack = false)
		: driver_symbol{name_in_library, may_lack}
	{
	}
	int operator()(Args... args) const { return reinterpret_cast<int (*)(Args...)>(address)(args...); }
};

struct driver_library {
	const char *what;         // "the CUDA driver", for messages
	const char *const *files; // tried in turn; null ends them
	const char *variable;     // names the file instead, for tests
	// Patterns of files, one of which is there where a device is; null ends them. For driver_is_here().
	const char *const *nodes = nullptr;
};

// Finds all symbols of an api struct. -ENODEV: the library is missing or lacks one, and `why` says which. The library
// stays loaded to the end of the process: drivers have threads and exit handlers of their own.
int load_driver(const driver_library &library, driver_symbol *symbols, size_t count, char *why, size_t room);

// Does some other library of this process use the driver already?
bool driver_is_loaded(const driver_library &library);

// Is there a device, by its files, and can the library be loaded? It stays loaded then. A library that the variable
// names needs no device.
bool driver_is_here(const driver_library &library);

template <class Api>
int load_driver(const driver_library &library, Api &api, char *why, size_t room)
{
	static_assert(sizeof(Api) % sizeof(driver_symbol) == 0, "nothing but calls");
	return load_driver(library, reinterpret_cast<driver_symbol *>(&api), sizeof(Api) / sizeof(driver_symbol), why,
			   room);
}

} // namespace pgas::devices
