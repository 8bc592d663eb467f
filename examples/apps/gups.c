/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gups: random access to a table that is spread over all PEs, in three ways. The arithmetic is an exclusive or.
 *
 *	get     the PE gets a word from its owner, changes it and puts it back; the owner does not take part. Variants
 *	        host and partition.
 *	bulk    the same with many words at once: nonblocking gets, a quiet, nonblocking puts, a quiet. If words are
 *	        in device memory, the cost of a word is waiting for the driver: here many words share a wait.
 *	signal  for an owner whose memory cannot be accessed from outside: the PE sends it a request for the word. The
 *	        owner copies the word out of the table and puts it, with a signal; the new word returns the same way.
 *	        Every PE serves requests while it waits for its own. All variants; the only one for staged.
 *
 * Each PE changes words of every table, but only words that no other PE changes: gets and puts of two PEs at one word
 * would lose one of the updates. Afterwards every PE repeats the changes of all PEs to its table in a copy, and
 * compares each word.
 *
 *	oshrun -n 4 ./gups [--variant host|staged|partition] [--partition ID] [--method get|bulk|signal]
 *	                   [WORDS_PER_PE [UPDATES_PER_PE]]
 */
#include "app.h"

#include <sched.h>

static const char usage[] = "usage: gups [--variant host|staged|partition] [--partition ID] "
			    "[--method get|bulk|signal] [WORDS_PER_PE [UPDATES_PER_PE]]; staged takes signal only, "
			    "words at least as many as PEs";

enum method { GET, BULK, SIGNAL };
static const char *const method_names[] = {"get", "bulk", "signal"};

struct gups {
	struct app app;
	struct array table;
	long words, updates;
	enum method method;
};

/* for the method signal; in the symmetric heap, a place for each PE, except answer: a PE asks one owner at a time */
static uint64_t *asked;       /* 1 + the place in the table that PE i wants */
static uint64_t *changed;     /* the new value for PE i's word */
static uint64_t *changed_sig; /* it has arrived */
static uint64_t answer, answer_sig, finished;

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* --- serving others ----------------------------------------------------------------------------------------------- */

/* pending[i]: the place of PE i's last request, where its change will go */
static void serve(struct gups *g, size_t *pending)
{
	static int idle;
	uint64_t *table = (uint64_t *)g->table.home;
	if (++idle > 100) { /* the PE that must reply may wait for this core */
		idle = 0;
		sched_yield();
	}
	for (int i = 0; i < g->app.n; i++) {
		/* The request is read first: there is a fence between a change and the next request of the same PE, so
		 * a PE that sees the request sees the change. */
		const uint64_t place = shmem_uint64_atomic_fetch(&asked[i], g->app.me);
		if (shmem_signal_fetch(&changed_sig[i])) {
			shmem_uint64_atomic_set(&changed_sig[i], 0, g->app.me);
			shmemx_partition_copy(table + pending[i], &changed[i], sizeof *table);
		}
		if (place) {
			uint64_t word;
			idle = 0;
			shmem_uint64_atomic_set(&asked[i], 0, g->app.me);
			pending[i] = (size_t)(place - 1);
			shmemx_partition_copy(&word, table + pending[i], sizeof word);
			shmem_uint64_put_signal(&answer, &word, 1, &answer_sig, 1, SHMEM_SIGNAL_SET, i);
		}
	}
}

static void change_by_signal(struct gups *g, size_t *pending, int pe, size_t place, uint64_t value)
{
	shmem_uint64_atomic_set(&asked[g->app.me], (uint64_t)place + 1, pe);
	while (!shmem_signal_fetch(&answer_sig))
		serve(g, pending);
	shmem_uint64_atomic_set(&answer_sig, 0, g->app.me);
	const uint64_t word = answer ^ value;
	shmem_uint64_put_signal(&changed[g->app.me], &word, 1, &changed_sig[g->app.me], 1, SHMEM_SIGNAL_SET, pe);
	shmem_fence();
}

/* --- updates ------------------------------------------------------------------------------------------------------ */

static void change_by_get(struct gups *g, int pe, size_t place, uint64_t value)
{
	uint64_t *addr = (uint64_t *)g->table.wire + place;
	const uint64_t word = shmem_uint64_g(addr, pe);
	shmem_uint64_p(addr, word ^ value, pe);
	shmem_quiet(); /* the next get may read the same word */
}

/* The sequence of changes of one PE: in which table, at which place, by what value. */
struct change {
	int pe;
	size_t place;
	uint64_t value;
};

static struct change next_change(const struct gups *g, int offset, uint64_t *state)
{
	const uint64_t n = (uint64_t)g->app.n, slots = (uint64_t)g->words / n, value = next(state);
	const size_t place = (size_t)((value >> 20) % slots * n) + (size_t)offset; /* no other PE's, in any table */
	return (struct change){(int)(value % n), place, value};
}

/* Changes that are made together. A word that occurs twice is changed once, by both values. */
enum { MOST = 128, SLOTS = 4 * MOST };
struct bulk {
	int count;
	struct change all[MOST];
	int numbers[SLOTS]; /* hash table by word: 1 + the index in `all` */
};

static void add_to_bulk(struct bulk *b, struct change c)
{
	size_t slot = (c.place * 31 + (size_t)c.pe) % SLOTS;
	for (; b->numbers[slot]; slot = (slot + 1) % SLOTS) {
		struct change *other = &b->all[b->numbers[slot] - 1];
		if (other->pe == c.pe && other->place == c.place) {
			other->value ^= c.value;
			return;
		}
	}
	b->all[b->count] = c;
	b->numbers[slot] = ++b->count;
}

static void change_by_bulk(struct gups *g, struct bulk *b)
{
	static uint64_t words[MOST];
	uint64_t *table = (uint64_t *)g->table.wire;
	for (int i = 0; i < b->count; i++)
		shmem_uint64_get_nbi(&words[i], table + b->all[i].place, 1, b->all[i].pe);
	shmem_quiet();
	for (int i = 0; i < b->count; i++) {
		words[i] ^= b->all[i].value;
		shmem_uint64_put_nbi(table + b->all[i].place, &words[i], 1, b->all[i].pe);
	}
	shmem_quiet();
	memset(b, 0, sizeof *b);
}

static void update(struct gups *g)
{
	static struct bulk bulk;
	const size_t n = (size_t)g->app.n;
	size_t *pending = app_memory(calloc(n, sizeof *pending), n * sizeof *pending);
	uint64_t state = 1 + (uint64_t)g->app.me;
	for (long i = 0; i < g->updates; i++) {
		const struct change c = next_change(g, g->app.me, &state);
		if (g->method == SIGNAL) {
			change_by_signal(g, pending, c.pe, c.place, c.value);
		} else if (g->method == GET) {
			change_by_get(g, c.pe, c.place, c.value);
		} else {
			add_to_bulk(&bulk, c);
			if (bulk.count == MOST)
				change_by_bulk(g, &bulk);
		}
	}
	change_by_bulk(g, &bulk);
	if (g->method == SIGNAL) { /* until no PE needs me; the last changes arrive before the last "finished" */
		shmem_quiet();
		for (int i = 0; i < g->app.n; i++)
			shmem_uint64_atomic_inc(&finished, i);
		while (shmem_uint64_atomic_fetch(&finished, g->app.me) < (uint64_t)n)
			serve(g, pending);
		serve(g, pending);
	}
	shmem_barrier_all();
	free(pending);
}

static uint64_t first_word(const struct gups *g, long i)
{
	return (uint64_t)i * (uint64_t)g->app.n + (uint64_t)g->app.me;
}

static double check(struct gups *g)
{
	uint64_t *expected = app_memory(malloc(g->table.bytes), g->table.bytes);
	double wrong = 0;
	for (long i = 0; i < g->words; i++)
		expected[i] = first_word(g, i);
	for (int pe = 0; pe < g->app.n; pe++) {
		uint64_t state = 1 + (uint64_t)pe;
		for (long i = 0; i < g->updates; i++) {
			const struct change c = next_change(g, pe, &state);
			if (c.pe == g->app.me)
				expected[c.place] ^= c.value;
		}
	}
	array_read(&g->table, 0, g->table.bytes);
	for (long i = 0; i < g->words; i++)
		wrong += ((const uint64_t *)g->table.host)[i] != expected[i];
	free(expected);
	return wrong;
}

static void open_all(struct gups *g)
{
	const size_t n = (size_t)g->app.n;
	array_open(&g->app, &g->table, (size_t)g->words * sizeof(uint64_t));
	asked = app_memory(shmem_calloc(n, sizeof *asked), n * sizeof *asked);
	changed = app_memory(shmem_calloc(n, sizeof *changed), n * sizeof *changed);
	changed_sig = app_memory(shmem_calloc(n, sizeof *changed_sig), n * sizeof *changed_sig);
	for (long i = 0; i < g->words; i++)
		((uint64_t *)g->table.host)[i] = first_word(g, i);
	array_write(&g->table, 0, g->table.bytes);
}

int main(int argc, char **argv)
{
	static struct gups g;
	app_start(&g.app, &argc, argv, usage);
	g.method = g.app.variant == STAGED ? SIGNAL : GET;
	if (argc > 2 && strcmp(argv[1], "--method") == 0) {
		int m = 0;
		while (m <= SIGNAL && strcmp(argv[2], method_names[m]) != 0)
			m++;
		if (m > SIGNAL || (m != SIGNAL && g.app.variant == STAGED))
			app_usage(&g.app, usage);
		g.method = (enum method)m;
		argc -= 2;
		argv += 2;
	}
	g.words = app_number(&g.app, argc, argv, 1, 1 << 14, usage);
	g.updates = app_number(&g.app, argc, argv, 2, 4000, usage);
	if (argc > 3 || g.words < g.app.n)
		app_usage(&g.app, usage);
	open_all(&g);
	shmem_barrier_all();

	const double begin = seconds();
	update(&g);
	const double total = g.app.exchange = seconds() - begin;

	const double wrong = check(&g);
	shmem_barrier_all();
	shmem_free(changed_sig);
	shmem_free(changed);
	shmem_free(asked);
	array_close(&g.app, &g.table);
	char sizes[96];
	snprintf(sizes, sizeof sizes, "method=%s words=%ld updates=%ld", method_names[g.method], g.words, g.updates);
	return app_finish(&g.app, "gups", sizes, total, "gups", 1e-9 * (double)g.updates * g.app.n, wrong);
}
