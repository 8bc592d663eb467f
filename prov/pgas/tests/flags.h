/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that take flags, each as a function of flags alone, on objects made for it (test_prov_flags.c).
 */
#ifndef TESTS_FLAGS_H
#define TESTS_FLAGS_H

#include "common.h"

#define BENCH_COUNTERS (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define BENCH_CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_MULTI_RECV | FI_RMA_EVENT | FI_FENCE)

/* What an accepted call may change. */
#define MAKES_ENTRY 1  /* completions and counts */
#define MOVES_MEMORY 2 /* the target's memory */

/* An endpoint that talks to itself, with memory and all kinds of objects. */
struct bench {
	struct node n;
	struct mem m;
	struct fid_eq *eq;
	unsigned char *before;
	uint64_t counts[6];
	char received[64]; /* what is received */
};
void bench_open(struct bench *b, const struct node_opts *o);
void bench_close(struct bench *b);
/* Checks everything that a call could have changed. effects: what it may have changed; everything else must be
 * unchanged. Restores the initial state. */
void bench_settle(struct bench *b, int effects);
/* A write of one word into the memory. */
void bench_rma(struct bench *b, struct fi_msg_rma *m, struct iovec *src, struct fi_rma_iov *dst, uint64_t *word);

struct flagged {
	/* The call; after a colon, the call of pgas_flags.def whose flags it takes, if that is a different one. */
	const char *name;
	uint64_t honoured; /* all others: refused */
	uint64_t always;   /* added to every flag, because the call requires it */
	int effects;
	uint64_t hmem; /* honoured too in a domain with FI_HMEM */
	ssize_t (*run)(struct bench *b, uint64_t flags);
};
extern const struct flagged flagged_calls[];
extern const size_t flagged_count;

#endif /* TESTS_FLAGS_H */
