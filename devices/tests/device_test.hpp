// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the tests of the kinds: the devices that they run on, and a separate process that acts as a peer.
//
// DEVICES_TEST_KIND=cuda runs the tests on that kind alone, with its real driver.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" { // cmocka.h has no linkage of its own
#include <cmocka.h>
}
#undef fail // a name of the C++ library

#include <devices/devices_kind.hpp>

#include <sys/types.h>

namespace device_test {

using namespace pgas::devices;

// A kind, and the environment in which it finds its driver.
struct device {
	const char *title;
	const char *kind;
	const char *variable;      // null: none
	const char *value;         // "@NAME": the module NAME next to this program
	const char *batch;         // the call for several pieces, if a fake counts it
	bool queued;               // by a driver, not emulated
	const char *omp = nullptr; // the memory that this program's fake OpenMP runtime returns (fake_omp.cpp)
};

extern const device *const kDevices[]; // ends with null
extern const device *const kFakes[];   // those whose driver is a fake
extern const device *g_device;         // the device that the cases run on
extern kind *g_kind;

void choose(const device &d); // sets its environment and finds the kind, but does not open it
int open_kind(void **);       // setup and teardown of a case: opens the kind, and checks that nothing is left
int close_kind(void **);

// The fake's counters; -1 if the driver is not a fake.
int fake_calls(const char *name);
int fake_left();
bool fake_has(const char *function);
void fake_forget(); // everything left

// Checks and bytes.
void good(int rc, const char *what); // fails with last_error()
#define GOOD(call_arg) good(call_arg, #call_arg)
void pattern(void *dst, size_t bytes, unsigned seed);
void put(uintptr_t dst, const void *src, size_t bytes); // and finishes
void fetch(void *dst, uintptr_t src, size_t bytes);

// A process of this program that runs the named role on the same device, with a pipe in each direction.
struct peer {
	pid_t pid = -1;
	int target = -1, source = -1;
};
peer start_peer(const char *role, int rank);
void tell(const peer &p, const void *data, size_t bytes);
void hear(const peer &p, void *data, size_t bytes); // fails when the peer has ended
void end_peer(peer &p);                             // checks that it ended successfully
int hold_region(const peer &with, size_t bytes);    // a role: shares a region, and keeps it until the pipe ends
int run_role(int argc, char **argv);                // for main(): -1 if this process is not a peer

using group = int(); // runs the cases on the chosen device; returns how many failed
int run_devices(const device *const *devices, group *run); // for main()

// Runs a peer's role; returns 0 on success. Defined by each program.
int play(const char *role, int rank, const peer &with);

} // namespace device_test

extern "C" int fake_omp_left() __attribute__((weak)); // blocks; absent if the program has no fake_omp.cpp
