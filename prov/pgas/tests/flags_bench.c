/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bench: an endpoint that talks to itself, with memory and all kinds of objects, on which calls are tried. It knows
 * what a call may have changed, and restores it.
 */
#include "flags.h"

enum { BYTES = 4096, WORD = 8 };

static void counts_of(struct bench *b, uint64_t *out)
{
	struct fid_cntr *const c[] = {b->n.c_send,  b->n.c_recv,     b->n.c_read,
				      b->n.c_write, b->n.c_rem_read, b->n.c_rem_write};
	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		out[i] = fi_cntr_read(c[i]) + fi_cntr_readerr(c[i]);
}

void bench_open(struct bench *b, const struct node_opts *o)
{
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE, .flags = FI_WRITE};
	memset(b, 0, sizeof *b);
	node_open(&b->n, o);
	node_connect(&b->n);
	mem_open(&b->n, &b->m, MEM_PRIVATE, BYTES, 7);
	fill(b->m.base, BYTES, 1);
	b->before = malloc(BYTES);
	memcpy(b->before, b->m.base, BYTES);
	CHECK_OK(fi_eq_open(b->n.fabric, &attr, &b->eq, NULL));
	counts_of(b, b->counts);
}

void bench_close(struct bench *b)
{
	CHECK_OK(fi_close(&b->eq->fid));
	mem_close(&b->m);
	node_close(&b->n);
	free(b->before);
}

/* Takes all entries of both queues, good and bad, returns their number, and adds to `cancelled` those of fi_cancel. */
static int entries_with(struct bench *b, int *cancelled)
{
	int count = 0;
	struct fid_cq *const queues[] = {b->n.tx_cq, b->n.rx_cq};
	for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
		struct fi_cq_tagged_entry e;
		struct fi_cq_err_entry err = {0};
		ssize_t rc;
		while ((rc = fi_cq_read(queues[i], &e, 1)) != -FI_EAGAIN) {
			count++;
			if (rc == -FI_EAVAIL) {
				CHECK_EQ(fi_cq_readerr(queues[i], &err, 0), 1);
				*cancelled += err.err == FI_ECANCELED;
			}
		}
	}
	return count;
}

static int entries(struct bench *b)
{
	int cancelled = 0;
	return entries_with(b, &cancelled);
}

/* Cancels all receives with that context and returns their number; fi_cancel returns 0 also if there is none. */
static int cancel_all(struct bench *b, void *context)
{
	int count = 0;
	for (int before = -1; count != before;) {
		before = count;
		CHECK_OK(fi_cancel(&b->n.ep->fid, context));
		entries_with(b, &count);
	}
	return count;
}

static void take_all(struct bench *b)
{
	char rest[64];
	cancel_all(b, b->received);
	/* messages that were not received */
	for (int more = 1; more;) {
		CHECK_OK(fi_recv(b->n.ep, rest, sizeof rest, NULL, FI_ADDR_UNSPEC, rest));
		CHECK_OK(fi_trecv(b->n.ep, rest, sizeof rest, NULL, FI_ADDR_UNSPEC, 0, UINT64_MAX, rest));
		for (int i = 0; i < 8; i++)
			node_poll(&b->n);
		more = 2 - cancel_all(b, rest); /* of the two receives, those not cancelled got a message */
	}
	for (int i = 0; i < 50; i++) { /* what its receiver ended */
		node_poll(&b->n);
		entries(b);
	}
}

void bench_settle(struct bench *b, int effects)
{
	uint64_t now[6];
	int made = 0;
	for (int i = 0; i < (effects ? 200 : 8); i++) {
		node_poll(&b->n);
		made += entries(b);
	}
	counts_of(b, now);
	if (!(effects & MAKES_ENTRY)) {
		CHECK_EQ(made, 0);
		CHECK_MEM(now, b->counts, sizeof now);
	}
	if (!(effects & MOVES_MEMORY))
		CHECK_MEM(b->m.base, b->before, BYTES);
	if (effects & MAKES_ENTRY)
		take_all(b);
	memcpy(b->m.base, b->before, BYTES);
	counts_of(b, b->counts);
}

void bench_rma(struct bench *b, struct fi_msg_rma *m, struct iovec *src, struct fi_rma_iov *dst, uint64_t *word)
{
	*src = (struct iovec){word, WORD};
	*dst = (struct fi_rma_iov){b->m.start, WORD, b->m.key};
	*m = (struct fi_msg_rma){
		.msg_iov = src, .iov_count = 1, .addr = b->n.self, .rma_iov = dst, .rma_iov_count = 1, .context = src};
}
