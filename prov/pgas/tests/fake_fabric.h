/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts what the tests' network provider (fake_fabric.cpp) did in this process. */
#ifndef TESTS_FAKE_FABRIC_H
#define TESTS_FAKE_FABRIC_H

#include <stdint.h>

struct fake_fabric_counts {
	uint64_t hmem_hints;   /* calls of fi_getinfo with FI_HMEM */
	uint64_t asked;        /* requested registrations of device memory */
	uint64_t registered;   /* currently registered */
	uint64_t device_bytes; /* moved from or to a device's memory */
};
#define FAKE_FABRIC_COUNT "fake_fabric_count" /* struct fake_fabric_counts (*)(void), of the module */

#endif /* TESTS_FAKE_FABRIC_H */
