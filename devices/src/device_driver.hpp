// SPDX-License-Identifier: BSD-3-Clause
//
// A driver's library, opened at run time. The functions that a kind calls are a struct of driver_call members, each
// with its name in the library, so that a failed call can be reported by name. Building this needs nothing of the
// driver.
#pragma once

#include <cstddef>
#include <span>

namespace pgas::devices {

struct driver_symbol {
	const char *name;
	bool optional = false;
	void *address = nullptr;
};

// A function that returns a code, 0 for success, like all drivers' functions.
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
	const char *device;       // "CUDA device", likewise
	const char *const *files; // tried in turn; ends with null
	const char *variable;     // names the file instead, for tests
	// Patterns of files, at least one of which exists where a device does; ends with null. For driver_is_here().
	const char *const *nodes = nullptr;
};

// All functions that a kind calls; its api struct has nothing else.
using driver_symbols = std::span<driver_symbol>;
template <class Api>
driver_symbols symbols_of(Api &api)
{
	static_assert(sizeof(Api) % sizeof(driver_symbol) == 0, "nothing but calls");
	return {reinterpret_cast<driver_symbol *>(&api), sizeof(Api) / sizeof(driver_symbol)};
}

// Finds all symbols. -ENODEV: the library is missing or lacks a symbol, and `why` says which. The library stays loaded
// to the end of the process: drivers have threads and exit handlers of their own.
int load_driver(const driver_library &library, driver_symbols symbols, char *why, size_t room);

// Does another library of this process use the driver already?
bool driver_is_loaded(const driver_library &library);

// Is there a device, judging by its files, and can the library be loaded? If so, it stays loaded. A library that the
// variable names needs no device.
bool driver_is_here(const driver_library &library);

} // namespace pgas::devices
