/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer that sends by one wire and is best reached by another. Its sender inserted only the part of our address that
 * leads over the slower wire; our replies must use the wire on which the request arrived, whatever else we know of that
 * peer. A process on another host could just as well claim a name of our own host.
 */
#include "common.h"

#include <rdma/fi_tagged.h>

enum { LONG = 1 << 20, WORDS = 4096 };

/* Extracts the part of an address whose wire has this name ("" is shared memory). */
static void only_part(const char *address, const char *wire, char *out)
{
	static const char scheme[] = "fi_pgas://";
	char text[ADDR_BYTES], *rest = NULL;
	CHECK(strncmp(address, scheme, sizeof scheme - 1) == 0);
	strcpy(text, address + sizeof scheme - 1);
	for (char *part = strtok_r(text, "+", &rest); part; part = strtok_r(NULL, "+", &rest)) {
		const char *slash = strchr(part, '/');
		const size_t len = slash ? (size_t)(slash - part) : 0;
		if (len != strlen(wire) || strncmp(part, wire, len) != 0)
			continue;
		snprintf(out, ADDR_BYTES, "%s%s", scheme, part);
		return;
	}
	check_failed(__FILE__, __LINE__, "%s has no part of wire \"%s\"", address, wire);
}

/* Polls both, until the sender's operation and the receiver's are complete. */
static void wait_both(struct node *a, struct node *b, struct fid_cq *of_a, struct fid_cq *of_b)
{
	struct fi_cq_tagged_entry e;
	bool got_a = !of_a, got_b = !of_b;
	for (const double end = hang_end(); !(got_a && got_b);) {
		CHECK(now_s() < end);
		ssize_t rc = got_a ? 0 : fi_cq_read(of_a, &e, 1);
		CHECK(rc == 1 || rc == -FI_EAGAIN || got_a);
		got_a |= rc == 1;
		rc = got_b ? 0 : fi_cq_read(of_b, &e, 1);
		CHECK(rc == 1 || rc == -FI_EAGAIN || got_b);
		got_b |= rc == 1;
		node_poll(a);
		node_poll(b);
	}
}

#define RETRY_BOTH(a_arg, b_arg, call_arg) RETRY(a_arg, (node_poll(b_arg), (call_arg)))

static void send_long(struct node *a, struct node *b, fi_addr_t to_a)
{
	char *out = malloc(LONG), *input = calloc(1, LONG);
	fill(out, LONG, 7);
	CHECK_OK(fi_recv(a->ep, input, LONG, NULL, FI_ADDR_UNSPEC, input));
	CHECK_OK(RETRY_BOTH(b, a, fi_send(b->ep, out, LONG, NULL, to_a, out)));
	wait_both(a, b, a->rx_cq, b->tx_cq);
	CHECK(filled(input, LONG, 7));
	/* one that is discarded: its sender is notified of that, too */
	struct fi_msg_tagged m = {.addr = FI_ADDR_UNSPEC, .tag = 5, .context = input};
	struct fi_cq_tagged_entry e;
	CHECK_OK(RETRY_BOTH(b, a, fi_tsend(b->ep, out, LONG, NULL, to_a, 5, out)));
	ssize_t rc = -FI_EAVAIL;
	for (const double end = hang_end(); rc != 1;) {
		CHECK(now_s() < end);
		CHECK_OK(fi_trecvmsg(a->ep, &m, FI_PEEK | FI_DISCARD));
		node_poll(b);
		if ((rc = fi_cq_read(a->rx_cq, &e, 1)) == -FI_EAVAIL) {
			struct fi_cq_err_entry err = {0};
			CHECK_EQ(fi_cq_readerr(a->rx_cq, &err, 0), 1);
			CHECK_EQ(err.err, FI_ENOMSG);
		}
	}
	wait_both(a, b, NULL, b->tx_cq);
	free(out);
	free(input);
}

static void one_sided(struct node *a, struct node *b, fi_addr_t to_a)
{
	struct mem m;
	uint64_t *out = malloc(WORDS * 8), old = 0, one = 1;
	mem_open(a, &m, MEM_PRIVATE, WORDS * 8, 3);
	fill(out, WORDS * 8, 9);
	CHECK_OK(RETRY_BOTH(b, a, fi_write(b->ep, out, WORDS * 8, NULL, to_a, m.start, m.key, out)));
	wait_both(a, b, NULL, b->tx_cq);
	CHECK(filled(m.base, WORDS * 8, 9));
	memset(out, 0, WORDS * 8);
	CHECK_OK(RETRY_BOTH(b, a, fi_read(b->ep, out, WORDS * 8, NULL, to_a, m.start, m.key, out)));
	wait_both(a, b, NULL, b->tx_cq);
	CHECK(filled(out, WORDS * 8, 9));
	CHECK_OK(RETRY_BOTH(
		b, a, fi_fetch_atomic(b->ep, &one, 1, NULL, &old, NULL, to_a, m.start, m.key, FI_UINT64, FI_SUM, out)));
	wait_both(a, b, NULL, b->tx_cq);
	CHECK_EQ(old, out[0]);
	mem_close(&m);
	free(out);
}

/* known: the receiver has the sender in its vector, and has sent to it before. */
static void answers(int rank, void *known)
{
	const struct node_opts o = {.two_cqs = true};
	struct node a, b;
	fi_addr_t to_a, to_b;
	char part[ADDR_BYTES];
	uint64_t word = 1;
	(void)rank;
	node_open(&a, &o);
	node_open(&b, &o);
	only_part(a.name, "", part);
	CHECK_EQ(fi_av_insert(b.av, part, 1, &to_a, 0, NULL), 1);
	if (known) {
		CHECK_EQ(fi_av_insert(a.av, b.name, 1, &to_b, 0, NULL), 1);
		CHECK_OK(fi_recv(b.ep, &word, 8, NULL, FI_ADDR_UNSPEC, &word));
		CHECK_OK(RETRY_BOTH(&a, &b, fi_send(a.ep, &word, 8, NULL, to_b, &word)));
		wait_both(&a, &b, a.tx_cq, b.rx_cq);
	}
	for (int i = 0; i < 2; i++) {
		send_long(&a, &b, to_a);
		one_sided(&a, &b, to_a);
	}
	node_close(&b);
	node_close(&a);
}

static void by_memory(bool known, const char *const *env)
{
	team_run_env(1, answers, known ? &known : NULL, env);
}

static const char *const env_map[] = {"FI_PGAS_LOOP=1", NULL};
static const char *const env_ask[] = {"FI_PGAS_LOOP=1", "FI_PGAS_CMA=0", "FI_PGAS_MAP=0", NULL};

static void test_wires_stranger_is_answered_by_the_wire_it_came_by(void **state)
{
	(void)state;
	by_memory(false, env_map);
	by_memory(false, env_ask);
}

static void test_wires_known_peer_is_answered_by_the_wire_it_came_by(void **state)
{
	(void)state;
	by_memory(true, env_map);
	by_memory(true, env_ask);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wires_stranger_is_answered_by_the_wire_it_came_by),
		cmocka_unit_test(test_wires_known_peer_is_answered_by_the_wire_it_came_by),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
