/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call that takes flags, with each of the 64 bits alone: a bit that the call honours is accepted, every other is
 * refused with -FI_EBADFLAGS, and a refused call moved no counter, changed no memory and made no completion. The
 * honoured flags are repeated here, from fi_pgas(7) and libfabric's manual pages.
 */
#include "common.h"
#include "flags.h"

/* Accepted: not refused for its flags. Other errors of such a call are for other tests. */
static void try_bits(struct bench *b, const struct flagged *call)
{
	static char doing[80];
	const uint64_t all = call->honoured | (b->n.info->caps & FI_HMEM ? call->hmem : 0);
	for (int bit = 0; bit < 64; bit++) {
		const uint64_t flag = 1ull << bit;
		const bool honoured = flag & all;
		snprintf(doing, sizeof doing, "%s with bit %d", call->name, bit);
		check_doing = doing;
		const ssize_t rc = call->run(b, flag | call->always);
		CHECK_EQ(rc == -FI_EBADFLAGS, !honoured && !(flag & call->always));
		bench_settle(b, honoured ? call->effects : 0);
	}
	check_doing = "";
}

static void all_calls(int rank, void *arg)
{
	const struct node_opts *o = arg;
	struct bench b;
	(void)rank;
	bench_open(&b, o);
	for (size_t i = 0; i < flagged_count; i++)
		try_bits(&b, &flagged_calls[i]);
	bench_close(&b);
}

static void test_flags_of_every_call_are_honoured_or_refused(void **state)
{
	static struct node_opts plain = {.two_cqs = true, .counters = BENCH_COUNTERS};
	(void)state;
	team_run(1, all_calls, &plain);
}

/* Transfers of a domain with device memory use other tables. */
static void test_flags_with_device_memory_are_honoured_or_refused(void **state)
{
	static struct node_opts hmem = {
		.two_cqs = true, .counters = BENCH_COUNTERS, .caps = BENCH_CAPS | FI_HMEM, .mr_mode = FI_MR_HMEM};
	(void)state;
	team_run(1, all_calls, &hmem);
}

/* Deferred work, if it were supported: the counter stands at 0 of 1000. */
static void trigger(int rank, void *arg)
{
	struct bench b;
	struct fi_msg_rma m;
	struct fi_rma_iov place;
	struct iovec src;
	uint64_t word = 0x1234;
	(void)rank;
	(void)arg;
	bench_open(&b, &(struct node_opts){.two_cqs = true, .counters = BENCH_COUNTERS});
	bench_rma(&b, &m, &src, &place, &word);
	CHECK_EQ(fi_writemsg(b.n.ep, &m, FI_TRIGGER), -FI_EBADFLAGS);
	CHECK_EQ(fi_writemsg(b.n.ep, &m, FI_TRIGGER | FI_COMPLETION | FI_INJECT), -FI_EBADFLAGS);
	bench_settle(&b, 0);
	CHECK_OK(fi_writemsg(b.n.ep, &m, FI_COMPLETION));
	bench_settle(&b, MAKES_ENTRY | MOVES_MEMORY);
	bench_close(&b);
}

static void test_flags_triggered_write_is_refused_and_does_nothing(void **state)
{
	(void)state;
	team_run(1, trigger, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags_of_every_call_are_honoured_or_refused),
		cmocka_unit_test(test_flags_with_device_memory_are_honoured_or_refused),
		cmocka_unit_test(test_flags_triggered_write_is_refused_and_does_nothing),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
