// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of the kinds share: the devices that they run on, and a process of its own that plays a peer.
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
	const char *value;         // "@NAME": the module of that name beside this program
	const char *batch;         // the call for several pieces, if there is a fake that counts it
	bool queued;               // a driver's, and no emulation of ours
	const char *omp = nullptr; // what the fake OpenMP runtime of this program gives (fake_omp.cpp)
};

extern const device *const kDevices[]; // null ends them
extern const device *const kFakes[];   // those of them whose driver is a fake
extern const device *g_device;         // what the cases run on
extern kind *g_kind;

void choose(const device &d); // sets its environment and finds the kind; is not open yet
int open_kind(void **);       // setup and teardown of a case: the kind is open, and leaves nothing behind
int close_kind(void **);

// The fake's counters; -1: the driver is none.
int fake_calls(const char *name);
int fake_left();
bool fake_has(const char *function);
void fake_forget(); // all that is left

// Checks and bytes.
void good(int rc, const char *what); // fails with last_error()
#define GOOD(call_arg) good(call_arg, #call_arg)
void pattern(void *dst, size_t bytes, unsigned seed);
void put(uintptr_t end, const void *src, size_t bytes); // and finishes
void fetch(void *dst, uintptr_t begin, size_t bytes);

// A process of this program that runs the role of that name on the same device, with a pipe each way.
struct peer {
	pid_t pid = -1;
	int target = -1, source = -1;
};
peer start_peer(const char *role, int rank);
void tell(const peer &p, const void *data, size_t bytes);
void hear(const peer &p, void *data, size_t bytes); // fails when the peer has ended
void end_peer(peer &p);                             // it must have ended well
int hold_region(const peer &with, size_t bytes);    // a role: gives a region, and holds it until the pipe ends
int run_role(int argc, char **argv);                // of main(): -1 when this process is no peer

using group = int(); // runs the cases on the chosen device, and returns how many failed
int run_devices(const device *const *devices, group *run); // of main()

// What the program's peers do; 0 when all is well. Defined by each program.
int play(const char *role, int rank, const peer &with);

} // namespace device_test

extern "C" int fake_omp_left() __attribute__((weak)); // blocks; absent where the program has no fake_omp.cpp
