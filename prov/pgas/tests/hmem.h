/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of FI_HMEM: a node with a region of device memory and one of host memory. */
#ifndef TESTS_HMEM_H
#define TESTS_HMEM_H

#include "common.h"
#include "device_memory.h"

enum { KEY_DEVICE = 5, KEY_HOST = 6, BOX_BYTES = 4 << 20 };
static const uint64_t keys[2] = {KEY_HOST, KEY_DEVICE}; /* by `on the device` */

struct box {
	const struct device_kind *kind;
	struct node n;
	unsigned char *device, *host;
	struct fid_mr *mr_device, *mr_host;
};

static inline struct node_opts hmem_opts(void)
{
	/* the capabilities that fabtests requests; mr_mode selects the entry without other bits */
	return (struct node_opts){.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_HMEM | FI_DIRECTED_RECV,
				  .mr_mode = FI_MR_HMEM};
}

static inline int box_register(struct box *b, void *addr, size_t len, enum fi_hmem_iface iface, uint64_t key,
			       struct fid_mr **mr)
{
	const struct iovec iov = {addr, len};
	const struct fi_mr_attr attr = {
		.mr_iov = &iov, .iov_count = 1, .access = ACCESS_ALL, .requested_key = key, .iface = iface};
	return fi_mr_regattr(b->n.domain, &attr, 0, mr);
}

static inline void box_open(struct box *b, const struct device_kind *kind, const struct node_opts *o)
{
	const struct node_opts plain = hmem_opts();
	memset(b, 0, sizeof *b);
	b->kind = kind;
	device_open(kind);
	node_open(&b->n, o ? o : &plain);
	b->device = device_alloc(BOX_BYTES);
	b->host = calloc(1, BOX_BYTES);
	CHECK(b->host != NULL);
	CHECK_OK(box_register(b, b->device, BOX_BYTES, kind->iface, KEY_DEVICE, &b->mr_device));
	CHECK_OK(box_register(b, b->host, BOX_BYTES, FI_HMEM_SYSTEM, KEY_HOST, &b->mr_host));
	node_connect(&b->n);
}

static inline void box_close(struct box *b)
{
	team_barrier(&b->n);
	if (b->mr_device)
		CHECK_OK(fi_close(&b->mr_device->fid));
	CHECK_OK(fi_close(&b->mr_host->fid));
	node_close(&b->n);
	if (b->device)
		device_free(b->device);
	free(b->host);
	device_close(b->kind);
}

static inline unsigned char *box_at(struct box *b, int on_device, size_t off)
{
	return (on_device ? b->device : b->host) + off;
}

static inline void *box_desc(struct box *b, int on_device)
{
	return fi_mr_desc(on_device ? b->mr_device : b->mr_host);
}

static inline void box_set(struct box *b, int on_device, size_t off, const void *src, size_t len)
{
	if (on_device)
		device_put(b->device + off, src, len);
	else
		memcpy(b->host + off, src, len);
}

static inline void box_get(struct box *b, int on_device, size_t off, void *dst, size_t len)
{
	if (on_device)
		device_get(dst, b->device + off, len);
	else
		memcpy(dst, b->host + off, len);
}

static inline void box_fill(struct box *b, int on_device, size_t off, size_t len, uint64_t seed)
{
	unsigned char *bytes = malloc(len + 1);
	fill(bytes, len, seed);
	box_set(b, on_device, off, bytes, len);
	free(bytes);
}

static inline void box_check(struct box *b, int on_device, size_t off, size_t len, uint64_t seed)
{
	unsigned char *bytes = malloc(len + 1), *want = malloc(len + 1);
	box_get(b, on_device, off, bytes, len);
	fill(want, len, seed);
	CHECK_MEM(bytes, want, len);
	free(bytes);
	free(want);
}

/* Runs a case for every kind of device: on this host, and with neither windows nor the kernel's help. */
static inline void on_all_kinds(int ranks, team_fn fn)
{
	static const char *const alone[] = {"FI_PGAS_CMA=0", "FI_PGAS_MAP=0", NULL};
	for (int i = 0; i < DEVICE_KINDS; i++) {
		if (!device_wanted(&device_kinds[i]))
			continue;
		team_run(ranks, fn, (void *)(uintptr_t)&device_kinds[i]);
		team_run_env(ranks, fn, (void *)(uintptr_t)&device_kinds[i], alone);
	}
}

#endif /* TESTS_HMEM_H */
