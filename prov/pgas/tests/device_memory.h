/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory for tests of FI_HMEM: what an application would get from CUDA, HIP or Level Zero, through the kinds of
 * devices/. The drivers are the fakes of devices/tests, whose memory faults when the CPU touches it;
 * HMEM_TEST_KIND=cuda runs the cases with that kind's real driver.
 */
#ifndef TESTS_DEVICE_MEMORY_H
#define TESTS_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <rdma/fi_domain.h>

#ifdef __cplusplus
extern "C" {
#endif

struct device_kind {
	const char *name;
	enum fi_hmem_iface iface;
	const char *variable, *module; /* where the provider finds its driver, and the fake's file */
	const char *copy;              /* the driver's copy call, which a fake can make fail */
};
#define DEVICE_KINDS 3
extern const struct device_kind device_kinds[DEVICE_KINDS];

bool device_real(void);                          /* HMEM_TEST_KIND is set */
bool device_wanted(const struct device_kind *k); /* all of them, or the one it names */
void device_choose(const struct device_kind *k); /* sets the environment, for all drivers; before the first use */
void device_open(const struct device_kind *k);   /* once for each thread that is a rank */
void device_close(const struct device_kind *k);  /* fails if any fake resource is left after the last */
void *device_alloc(size_t bytes);                /* zeroed */
void device_free(void *addr);
void device_put(void *dst, const void *src, size_t bytes);
void device_get(void *dst, const void *src, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* TESTS_DEVICE_MEMORY_H */
