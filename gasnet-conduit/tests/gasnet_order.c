/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The promises of "Order" in gasnet_pgas_rma.h, each line as a race between the even nodes, which write, and their odd
 * neighbours, which read. Data is in 64 places that change from round to round, so that some are far away when the
 * flag, which is always near, is written: a machine that may reorder the two does. Numbers only grow, so a stale one
 * shows.
 *
 * 	gasnet_order [rounds]
 *
 * Compiled with GASNET_PGAS_STRICT_ORDER it also checks longer transfers without anything between them.
 */
#include "gasnet_test.h"
#include <gasnet_tools.h>
#include <sched.h>

#define SEGMENT (1u << 20)
#define PLACES 64
#define BYTES 256 /* of a longer transfer */
#define WORDS (BYTES / sizeof(uint64_t))
enum { H_LOOK = 128, H_SEEN };
enum { DATA = 65536, ONE = 512, OTHER = 1024, FLAG = 2048, ACK = 4096, OWN = 262144, STRIDE = 1024 };

static gasnet_node_t peer;
static volatile uint64_t seen, looked;

static size_t place(uint64_t round)
{
	return DATA + round * 7 % PLACES * STRIDE;
}

static void expect_all(const volatile uint64_t *p, uint64_t least, const char *what)
{
	for (size_t i = 0; i < WORDS; i++)
		if (p[i] < least) {
			fprintf(stderr, "node %d: %s: word %d is %llu, older than %llu\n", (int)gasnet_mynode(), what,
				(int)i, (unsigned long long)p[i], (unsigned long long)least);
			gasnet_exit(1);
		}
}

static void fill(uint64_t *data, uint64_t round)
{
	for (size_t i = 0; i < WORDS; i++)
		data[i] = round;
}

/* Waits for a word of a node's segment, by gets. */
static void await(gasnet_node_t node, size_t off, uint64_t value)
{
	for (unsigned spins = 0; gasnet_get_val(node, test_at(node, off), 8) != value; spins++) {
		gasnet_AMPoll();
		if (spins > 1000)
			sched_yield();
	}
}

/* Waits for a word of our own segment like a program that knows nothing of gets. */
static void await_own(size_t off, uint64_t value)
{
	const volatile uint64_t *word = (const volatile uint64_t *)test_at(gasnet_mynode(), off);
	for (unsigned spins = 0; *word != value; spins++) {
		gasnet_AMPoll();
		if (spins > 1000)
			sched_yield();
	}
	gasnett_local_rmb();
}

static void look(gasnet_token_t token, gasnet_handlerarg_t round)
{
	expect_all((const volatile uint64_t *)test_at(gasnet_mynode(), place((uint64_t)round)), (uint64_t)round,
		   "put, then a request");
	looked = (uint64_t)round;
	CHECK_OK(gasnet_AMReplyShort1(token, H_SEEN, round));
}

static void saw(gasnet_token_t token, gasnet_handlerarg_t round)
{
	(void)token;
	seen = (uint64_t)round;
}

/* --- longer puts, then something that announces them -------------------------------------------------------------- */

static void put_then_request(uint64_t rounds, int writer)
{
	uint64_t data[WORDS];
	for (uint64_t r = 1; r <= rounds; r++) {
		if (writer) {
			fill(data, r);
			if (r % 2)
				gasnet_put_bulk(peer, test_at(peer, place(r)), data, BYTES);
			else
				gasnet_put_nbi_bulk(peer, test_at(peer, place(r)), data, BYTES);
			gasnet_wait_syncnbi_puts();
			CHECK_OK(gasnet_AMRequestShort1(peer, H_LOOK, (gasnet_handlerarg_t)r));
			GASNET_BLOCKUNTIL(seen == r);
		} else {
			GASNET_BLOCKUNTIL(looked >= r);
		}
	}
}

static void put_then_barrier(uint64_t rounds, int writer)
{
	uint64_t data[WORDS];
	for (uint64_t r = 1; r <= rounds; r++) {
		if (writer) {
			fill(data, r);
			gasnet_put_nbi_bulk(peer, test_at(peer, place(r)), data, BYTES);
			gasnet_wait_syncnbi_puts();
		}
		test_barrier();
		if (!writer)
			expect_all((const volatile uint64_t *)test_at(gasnet_mynode(), place(r)), r,
				   "put, then a barrier");
		test_barrier();
	}
}

/* The flag is a word, put in four ways; the reader finds it in two ways. */
static void put_then_flag(uint64_t rounds, int writer)
{
	uint64_t data[WORDS], copy[WORDS];
	for (uint64_t r = 1; r <= rounds; r++) {
		if (writer) {
			fill(data, r);
			gasnet_put_bulk(peer, test_at(peer, place(r)), data, BYTES);
			const volatile size_t eight = 8; /* a length that the compiler does not know */
			switch (r % 4) {
			case 0:
				gasnet_put_val(peer, test_at(peer, FLAG), r, 8);
				break;
			case 1:
				gasnet_put(peer, test_at(peer, FLAG), &r, 8);
				break;
			case 2:
				gasnet_put_nbi(peer, test_at(peer, FLAG), &r, 8);
				break;
			default:
				gasnet_put_nbi_bulk(peer, test_at(peer, FLAG), &r, eight);
				break;
			}
			await(gasnet_mynode(), ACK, r);
		} else {
			if (r / 4 % 2) {
				await(gasnet_mynode(), FLAG, r);
				gasnet_get_bulk(copy, gasnet_mynode(), test_at(gasnet_mynode(), place(r)), BYTES);
				expect_all(copy, r, "put, then a flag, got");
			} else {
				await_own(FLAG, r);
				expect_all((const volatile uint64_t *)test_at(gasnet_mynode(), place(r)), r,
					   "put, then a flag, read");
			}
			gasnet_put_val(peer, test_at(peer, ACK), r, 8);
		}
	}
}

/* The writer's own stores, published by gasnett_local_wmb and a flag. */
static void store_then_flag(uint64_t rounds, int writer)
{
	uint64_t copy[WORDS];
	for (uint64_t r = 1; r <= rounds; r++) {
		if (writer) {
			fill((uint64_t *)test_at(gasnet_mynode(), OWN + place(r)), r);
			gasnett_local_wmb();
			gasnet_put_nbi_val(peer, test_at(peer, FLAG), r, 8);
			await(gasnet_mynode(), ACK, r);
		} else {
			await(gasnet_mynode(), FLAG, r);
			gasnet_get_bulk(copy, peer, test_at(peer, OWN + place(r)), BYTES);
			expect_all(copy, r, "stores, then a flag");
			gasnet_put_val(peer, test_at(peer, ACK), r, 8);
		}
	}
}

/* The reader reports that it has got the data; what the writer puts after that must not be in it. */
static void get_then_flag(uint64_t rounds, int writer)
{
	uint64_t data[WORDS];
	for (uint64_t r = 1; r <= rounds; r++) {
		if (writer) {
			fill(data, r);
			gasnet_put_bulk(peer, test_at(peer, place(0)), data, BYTES);
			gasnet_put_val(peer, test_at(peer, FLAG), r, 8);
			await(gasnet_mynode(), ACK, r);
		} else {
			await(gasnet_mynode(), FLAG, r);
			if (r % 2)
				gasnet_get_bulk(data, gasnet_mynode(), test_at(gasnet_mynode(), place(0)), BYTES);
			else
				gasnet_get_nbi_bulk(data, gasnet_mynode(), test_at(gasnet_mynode(), place(0)), BYTES);
			gasnet_wait_syncnbi_gets();
			gasnet_put_val(peer, test_at(peer, ACK), r, 8);
			for (size_t i = 0; i < WORDS; i++)
				CHECK(data[i] == r);
		}
	}
}

/* --- no handshake: the writer runs, the reader compares what it sees ---------------------------------------------- */

static void words(uint64_t rounds, int writer)
{
	uint64_t r = 0;
	while (r < rounds) {
		if (writer) {
			r++;
			gasnet_put_nbi_val(peer, test_at(peer, place(r)), r, 8);
			gasnet_put_nbi_val(peer, test_at(peer, FLAG), r, 8);
		} else {
			r = gasnet_get_val(gasnet_mynode(), test_at(gasnet_mynode(), FLAG), 8);
			CHECK(gasnet_get_val(gasnet_mynode(), test_at(gasnet_mynode(), place(r)), 8) >= r);
			if (r % 64 == 0)
				sched_yield();
		}
	}
}

/* Two longer puts, and two longer gets in reverse order; fences between them, or none where the order is strict. */
static void longer(uint64_t rounds, int writer)
{
	uint64_t one[WORDS], other[WORDS], r = 0;
	while (r < rounds) {
		if (writer) {
			fill(one, ++r);
			gasnet_put_bulk(peer, test_at(peer, place(r) + ONE), one, BYTES);
#ifndef GASNET_PGAS_STRICT_ORDER
			gasnett_local_wmb();
#endif
			gasnet_put_bulk(peer, test_at(peer, OTHER), one, BYTES);
		} else {
			gasnet_get_bulk(other, gasnet_mynode(), test_at(gasnet_mynode(), OTHER), BYTES);
#ifndef GASNET_PGAS_STRICT_ORDER
			gasnett_local_rmb();
#endif
			for (size_t i = 0; i < WORDS; i++) {
				r = other[i];
				gasnet_get_bulk(one, gasnet_mynode(), test_at(gasnet_mynode(), place(r) + ONE), BYTES);
				expect_all(one, r, "two longer puts, two longer gets");
			}
			if (r % 64 == 0)
				sched_yield();
		}
	}
}

int main(int argc, char **argv)
{
	gasnet_handlerentry_t table[] = {{H_LOOK, (void (*)())look}, {H_SEEN, (void (*)())saw}};
	static void (*const races[])(uint64_t, int) = {
		put_then_request, put_then_barrier, put_then_flag, store_then_flag, get_then_flag, words, longer};
	test_start(&argc, &argv, table, 2, SEGMENT);
	const uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000;
	const int writer = gasnet_mynode() % 2 == 0;
	peer = gasnet_mynode() ^ 1;
	CHECK(gasnet_nodes() % 2 == 0);
	for (size_t i = 0; i < sizeof races / sizeof *races; i++) {
		memset(test_at(gasnet_mynode(), 0), 0, SEGMENT);
		seen = looked = 0;
		test_barrier();
		races[i](rounds * (i < 5 ? 1 : 10), writer);
		test_barrier();
	}
	if (gasnet_mynode() == 0)
		printf("order: %d nodes: ok\n", (int)gasnet_nodes());
	test_end();
}
