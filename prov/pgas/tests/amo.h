/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of atomics: which memory through which node, and bytes put and got around the atomics. */
#ifndef TESTS_AMO_H
#define TESTS_AMO_H

#include "common.h"

struct style {
	enum mem_kind kind;
	struct node_opts opts;
	uint64_t key;
};

static inline void put(struct node *n, const struct style *st, fi_addr_t dest, uint64_t pos, uint64_t key, void *buf,
		       size_t len)
{
	const uint64_t w = n->c_write ? fi_cntr_read(n->c_write) : 0;
	CHECK_OK(RETRY(n, fi_write(n->ep, buf, len, NULL, dest, pos, key, NULL)));
	if (n->tx_cq && !st->opts.selective)
		wait_tx(n, 1);
	if (n->c_write)
		wait_cntr(n, n->c_write, w + 1);
}

static inline void get(struct node *n, const struct style *st, fi_addr_t source, uint64_t pos, uint64_t key, void *buf,
		       size_t len)
{
	const uint64_t r = n->c_read ? fi_cntr_read(n->c_read) : 0;
	CHECK_OK(RETRY(n, fi_read(n->ep, buf, len, NULL, source, pos, key, NULL)));
	if (n->tx_cq && !st->opts.selective)
		wait_tx(n, 1);
	if (n->c_read)
		wait_cntr(n, n->c_read, r + 1);
}

#endif /* TESTS_AMO_H */
