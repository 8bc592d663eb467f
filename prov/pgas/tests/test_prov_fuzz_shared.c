/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile peer of the same user: it attaches like any peer, and then writes garbage into everything the others have
 * mapped writable here, the rings, eager buffers, attach tables, doorbells, locks and counters, while they communicate.
 * What it destroys is lost; but no process crashes, every call returns, nothing outside of registered memory is
 * written, all can close their objects, and fresh endpoints work afterwards. Built twice.
 *
 * PGAS_FUZZ_SECONDS: how long each case lasts. PGAS_FUZZ_SEED: a seed printed by an earlier run.
 */
#include "common.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define TALKERS 3
#define RANKS (TALKERS + 1) /* the last is the vandal */
#define REGION 65536u
#define LONG_MESSAGE 100000u
#define RECEIVES 16
#define CALL_S 45.0 /* a call may wait for an abandoned lock: ten seconds, and a busy machine */

static const char *const env_mapped[] = {"FI_PGAS_RX_SLOTS=64", "FI_PGAS_EAGER_COUNT=8", NULL};
static const char *const env_requests[] = {"FI_PGAS_RX_SLOTS=64", "FI_PGAS_EAGER_COUNT=8", "FI_PGAS_MAP=0",
					   "FI_PGAS_CMA=0", NULL};

static uint64_t g_seed;
static double g_seconds;

static uint64_t next(uint64_t *s) /* splitmix64 */
{
	uint64_t z = (*s += 0x9E3779B97F4A7C15u);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

/* --- the vandal --------------------------------------------------------------------------------------------------- */

struct area {
	char *data;
	size_t len;
};

/* The provider's segments that are mapped writable here. */
static int writable_areas(struct area *list, int room)
{
	char line[512];
	int n = 0;
	FILE *f = fopen("/proc/self/maps", "re");
	CHECK(f != NULL);
	while (n < room && fgets(line, sizeof line, f)) {
		unsigned long source, dest;
		char rights[8];
		if (sscanf(line, "%lx-%lx %7s", &source, &dest, rights) == 3 && strcmp(rights, "rw-s") == 0 &&
		    strstr(line, "memfd:pgas-"))
			list[n++] = (struct area){(char *)source, dest - source};
	}
	fclose(f);
	return n;
}

static bool has_area(const struct area *list, int n, const struct area *a)
{
	for (int i = 0; i < n; i++)
		if (list[i].data == a->data)
			return true;
	return false;
}

/* A place to write to: usually pages that were used, because most of a segment never is. */
static char *place(const struct area *a, uint64_t *s, bool any)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = a->len / page;
	const size_t pos = next(s) % pages;
	unsigned char *here = malloc(pages);
	char *found = a->data + pos * page;
	if (!any && mincore(a->data, a->len, here) == 0)
		for (size_t i = 0; i < pages; i++)
			if (here[(pos + i) % pages] & 1) {
				found = a->data + (pos + i) % pages * page;
				break;
			}
	free(here);
	return found + next(s) % (page / 8) * 8;
}

static void spoil(char *pos, uint64_t *s)
{
	uint64_t *word = (uint64_t *)pos;
	const uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), r = next(s);
	uint64_t value;
	switch (next(s) % 7) {
	case 0:
		value = r;
		break;
	case 1:
		value = old ^ 1ull << r % 64;
		break;
	case 2:
		value = old + (r % 9) - 4; /* close to the right value */
		break;
	case 3:
		value = r % 3 ? 0 : UINT64_MAX;
		break;
	case 4:
		value = old + ((r % 17 - 8) << 24); /* another position of a slot */
		break;
	case 5:
		value = (old & ~0xffull << 8 * (r % 8)) | (r >> 56) << 8 * (r % 8);
		break;
	default:
		value = (old & 0xffffffff00000000u) | (uint32_t)r;
	}
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static void vandal(struct node *n, uint64_t *s, double end)
{
	struct area own[64], all[64];
	const int owned = writable_areas(own, 64);
	uint64_t v = 1;
	for (int i = 0; i < TALKERS; i++)
		CHECK_OK(RETRY(n, fi_inject(n->ep, &v, 8, n->peer[i])));
	int count = 0;
	const int mapped = writable_areas(all, 64);
	for (int i = 0; i < mapped; i++)
		if (!has_area(own, owned, &all[i]))
			all[count++] = all[i];
	CHECK_EQ(count, 2 * TALKERS);      /* an endpoint's and a domain's segment of each */
	const uint64_t calm = next(s) % 3; /* 0: no pause, little gets done */
	while (now_s() < end) {
		const struct area *a = &all[next(s) % (uint64_t)count];
		char *pos = place(a, s, next(s) % 16 == 0);
		for (uint64_t i = next(s) % 24; i; i--) {
			spoil(pos, s);
			pos = next(s) % 3 ? (char *)((uintptr_t)pos ^ (next(s) % 64 * 8)) : place(a, s, false);
		}
		if (next(s) % 4 < calm)
			usleep((useconds_t)(next(s) % 3000));
	}
}

/* --- the talkers -------------------------------------------------------------------------------------------------- */

struct talker {
	struct node n;
	struct mem window, plain; /* key 0, and private memory under key 7 */
	unsigned char *out, *received[RECEIVES];
	int waiting; /* operations whose completion is outstanding */
	uint64_t calls, good, bad;
	double slowest;
};

/* Every call is timed: whatever it returns, it must return. */
#define TIMED(t_arg, call_arg)                                                                                         \
	({                                                                                                             \
		const double begin_ = now_s();                                                                         \
		const ssize_t rc_ = (call_arg);                                                                        \
		const double took_ = now_s() - begin_;                                                                 \
		(t_arg)->calls++;                                                                                      \
		(t_arg)->slowest = took_ > (t_arg)->slowest ? took_ : (t_arg)->slowest;                                \
		CHECK(took_ < CALL_S);                                                                                 \
		rc_;                                                                                                   \
	})

static void post(struct talker *t, int i)
{
	struct fid_ep *ep = t->n.ep;
	if (i % 2)
		TIMED(t, fi_recv(ep, t->received[i], LONG_MESSAGE, NULL, FI_ADDR_UNSPEC, t->received[i]));
	else
		TIMED(t,
		      fi_trecv(ep, t->received[i], LONG_MESSAGE, NULL, FI_ADDR_UNSPEC, 0, UINT64_MAX, t->received[i]));
}

static void repost(struct talker *t, const void *context)
{
	for (int i = 0; i < RECEIVES; i++)
		if (context == t->received[i]) {
			post(t, i);
			return;
		}
	if (t->waiting)
		t->waiting--;
}

static void take_completions(struct talker *t, bool sleep)
{
	struct fi_cq_tagged_entry e[8];
	struct fi_cq_err_entry err = {0};
	for (int round = 0; round < 4; round++) {
		const ssize_t n =
			TIMED(t, sleep ? fi_cq_sread(t->n.tx_cq, e, 8, NULL, 3) : fi_cq_read(t->n.tx_cq, e, 8));
		for (ssize_t i = 0; i < n; i++)
			repost(t, e[i].op_context);
		t->good += n > 0 ? (uint64_t)n : 0;
		if (n == -FI_EAVAIL && TIMED(t, fi_cq_readerr(t->n.tx_cq, &err, 0)) == 1) {
			t->bad++;
			repost(t, err.op_context);
		} else if (n <= 0) {
			return;
		}
	}
}

static void say_something(struct talker *t, uint64_t *s)
{
	struct fid_ep *ep = t->n.ep;
	static const size_t sizes[] = {0, 8, 88, 89, 104, 105, 3000, 8192, LONG_MESSAGE};
	const fi_addr_t dest = t->n.peer[next(s) % TALKERS];
	const size_t len = sizes[next(s) % ARRAY_SIZE(sizes)];
	const uint64_t off = next(s) % (REGION - 4096) & ~15ull, key = next(s) % 2 * 7;
	ssize_t rc;
	switch (next(s) % 9) {
	case 0:
		TIMED(t, fi_inject(ep, t->out, 8, dest));
		return;
	case 1:
		TIMED(t, fi_tinject(ep, t->out, 64, dest, next(s)));
		return;
	case 2:
		rc = TIMED(t, fi_send(ep, t->out, len, NULL, dest, NULL));
		break;
	case 3:
		rc = TIMED(t, fi_tsend(ep, t->out, len, NULL, dest, next(s), NULL));
		break;
	case 4:
		rc = TIMED(t, fi_write(ep, t->out, 1 + next(s) % 4096, NULL, dest, off, key, NULL));
		break;
	case 5:
		rc = TIMED(t, fi_read(ep, t->out, 1 + next(s) % 4096, NULL, dest, off, key, NULL));
		break;
	case 6: /* wider than a word: under the lock */
		rc = TIMED(t, fi_atomic(ep, t->out, 4, NULL, dest, off, key, FI_DOUBLE_COMPLEX, FI_SUM, NULL));
		break;
	case 7:
		rc = TIMED(t, fi_fetch_atomic(ep, t->out, 4, NULL, t->out + 4096, NULL, dest, off, key, FI_UINT64,
					      FI_SUM, NULL));
		break;
	default:
		rc = TIMED(t, fi_writedata(ep, t->out, 16, NULL, 42, dest, off, key, NULL));
	}
	t->waiting += rc == 0;
}

static void talk(struct talker *t, int rank, uint64_t *s, double end)
{
	for (int i = 0; i < RECEIVES; i++) {
		t->received[i] = malloc(LONG_MESSAGE);
		post(t, i);
	}
	while (now_s() < end) {
		if (t->waiting < 200) /* destroyed operations never complete */
			say_something(t, s);
		else
			t->waiting = 0;
		take_completions(t, rank == 1 && next(s) % 64 == 0);
	}
}

static void talker_open(struct talker *t, int rank)
{
	const struct node_opts o = {
		.wait = rank == 1 ? FI_WAIT_UNSPEC : FI_WAIT_NONE,
		.threading = rank == 2 ? FI_THREAD_SAFE : FI_THREAD_DOMAIN,
		.progress = rank == 2 ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL,
	};
	memset(t, 0, sizeof *t);
	node_open(&t->n, &o);
	mem_open(&t->n, &t->window, MEM_MEMFD, REGION, 0);
	mem_open(&t->n, &t->plain, MEM_PRIVATE, REGION, 7);
	t->out = calloc(1, LONG_MESSAGE);
}

static void talker_close(struct talker *t)
{
	CHECK_OK(TIMED(t, fi_close(&t->n.ep->fid)));
	t->n.ep = NULL;
	mem_close(&t->window); /* nothing outside the regions was written */
	mem_close(&t->plain);
	node_close(&t->n);
	for (int i = 0; i < RECEIVES; i++)
		free(t->received[i]);
	free(t->out);
}

/* After all that, with new endpoints: messages of every length and one-sided transfers, checked. */
static void afterwards(int rank)
{
	static const size_t sizes[] = {8, 3000, LONG_MESSAGE};
	struct talker t;
	unsigned char *input = malloc(LONG_MESSAGE);
	const int left = (rank + RANKS - 1) % RANKS, right = (rank + 1) % RANKS;
	talker_open(&t, rank);
	node_connect(&t.n);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct fi_cq_tagged_entry e;
		fill(t.out, sizes[i], (uint64_t)rank + i);
		CHECK_OK(fi_trecv(t.n.ep, input, LONG_MESSAGE, NULL, FI_ADDR_UNSPEC, i, 0, input));
		CHECK_OK(RETRY(&t.n, fi_tsend(t.n.ep, t.out, sizes[i], NULL, t.n.peer[right], i, t.out)));
		wait_cq(&t.n, t.n.tx_cq, &e);
		wait_cq(&t.n, t.n.tx_cq, &e);
		CHECK(filled(input, sizes[i], (uint64_t)left + i));
		CHECK_OK(RETRY(&t.n, fi_write(t.n.ep, t.out, 3000, NULL, t.n.peer[right], 4096 * i, i % 2 * 7, NULL)));
		wait_cq(&t.n, t.n.tx_cq, &e);
		team_barrier(&t.n);
		fill(t.out, sizes[i], (uint64_t)left + i);
		CHECK_MEM((i % 2 ? t.plain.base : t.window.base) + 4096 * i, t.out, sizes[i] < 3000 ? sizes[i] : 3000);
		team_barrier(&t.n);
	}
	talker_close(&t);
	free(input);
}

static void fuzz(int rank, void *arg)
{
	(void)arg;
	uint64_t s = g_seed + (uint64_t)rank * 1000003;
	struct talker t;
	talker_open(&t, rank);
	node_connect(&t.n);
	const double end = now_s() + g_seconds;
	if (rank == TALKERS) {
		vandal(&t.n, &s, end);
	} else {
		talk(&t, rank, &s, end);
		if (getenv("PGAS_FUZZ_TELL"))
			fprintf(stderr, "rank %d: %lu calls, %lu completions, %lu errors, slowest call %.3f s\n", rank,
				(unsigned long)t.calls, (unsigned long)t.good, (unsigned long)t.bad, t.slowest);
		CHECK(t.calls > 0);
	}
	talker_close(&t);
	team_barrier(NULL);
	afterwards(rank);
}

static void test_fuzz_shared_memory_of_those_who_map_it(void **state)
{
	(void)state;
	team_run_env(RANKS, fuzz, NULL, env_mapped);
}

static void test_fuzz_shared_memory_of_those_who_send_requests(void **state)
{
	(void)state;
	team_run_env(RANKS, fuzz, NULL, env_requests);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_fuzz_shared_memory_of_those_who_map_it),
	cmocka_unit_test(test_fuzz_shared_memory_of_those_who_send_requests),
};

int main(void)
{
	const char *seconds = getenv("PGAS_FUZZ_SECONDS"), *seed = getenv("PGAS_FUZZ_SEED");
	g_seconds = seconds ? atof(seconds) : 12;
	g_seed = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) * 65537 + (uint64_t)getpid();
	printf("PGAS_FUZZ_SEED=%llu\n", (unsigned long long)g_seed);
	fflush(stdout);
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
