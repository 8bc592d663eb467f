/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A long job for link_soak.sh, which stops its PEs and cuts its network: link_soak SECONDS. Each PE has its own places
 * in the memory of every other one, works on them at random (puts, gets, atomics, long ones of both), and knows what
 * must be there. At the end nothing may have grown: memory, descriptors, threads.
 */
#include "shmem_test.h"

#include <dirent.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define MOST_PES 16
#define WORDS 64
#define LONG_BYTES 60000
#define MEMORY_KIB 4096 /* allowed growth: buffers that a longer outage filled */

struct usage {
	long memory_kib, descriptors, threads;
};

static long g_words[MOST_PES][WORDS], g_sums[MOST_PES];     /* written by others, by writer */
static long g_expected[MOST_PES][WORDS], g_added[MOST_PES]; /* written to others, by target */
static unsigned char *g_long, g_there[LONG_BYTES], g_back[LONG_BYTES];
static unsigned char g_long_seed[MOST_PES];
static int g_me, g_n;
static uint64_t g_random;

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned below(unsigned n)
{
	g_random = g_random * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(g_random >> 33) % n;
}

static struct usage usage(void)
{
	struct usage u = {0, 0, 0};
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	DIR *d;
	while (f && fgets(line, sizeof line, f)) {
		sscanf(line, "VmRSS: %ld", &u.memory_kib);
		sscanf(line, "Threads: %ld", &u.threads);
	}
	if (f)
		fclose(f);
	d = opendir("/proc/self/fd");
	while (d && readdir(d))
		u.descriptors++;
	if (d)
		closedir(d);
	return u;
}

static void fill_long(unsigned char seed)
{
	for (size_t i = 0; i < LONG_BYTES; i++)
		g_there[i] = (unsigned char)(i * 7 + seed + i / 251);
}

static void do_words(int pe)
{
	const unsigned pos = below(WORDS);
	long *const expected = &g_expected[pe][pos];
	switch (below(4)) {
	case 0:
		*expected = (long)below(1u << 30);
		shmem_long_p(&g_words[g_me][pos], *expected, pe);
		shmem_quiet();
		CHECK_EQ(shmem_long_g(&g_words[g_me][pos], pe), *expected);
		break;
	case 1:
		for (unsigned i = 0; i < WORDS; i++) {
			g_expected[pe][i] = (long)below(1u << 30);
			shmem_long_p(&g_words[g_me][i], g_expected[pe][i], pe);
		}
		shmem_quiet();
		break;
	case 2:
		CHECK_EQ(shmem_long_atomic_fetch_add(&g_words[g_me][pos], 3, pe), *expected);
		*expected += 3;
		break;
	default:
		CHECK_EQ(shmem_long_atomic_compare_swap(&g_words[g_me][pos], *expected, *expected + 1, pe), *expected);
		*expected += 1;
	}
	shmem_long_atomic_add(&g_sums[g_me], 1, pe);
	g_added[pe]++;
	CHECK_EQ(shmem_long_g(&g_words[g_me][pos], pe), *expected);
}

static void do_long(int pe)
{
	unsigned char *const place = g_long + (size_t)g_me * LONG_BYTES;
	if (below(2)) {
		g_long_seed[pe] = (unsigned char)below(256);
		fill_long(g_long_seed[pe]);
		shmem_putmem(place, g_there, LONG_BYTES, pe);
		shmem_quiet();
	} else {
		fill_long(g_long_seed[pe]);
	}
	memset(g_back, 0, sizeof g_back);
	shmem_getmem(g_back, place, LONG_BYTES, pe);
	CHECK_MEM(g_back, g_there, LONG_BYTES);
}

/* Everything that the others report to have done here has arrived. */
static void check_all(void)
{
	static long said[MOST_PES], told[MOST_PES];
	memcpy(said, g_added, sizeof said);
	shmem_barrier_all();
	for (int pe = 0; pe < g_n; pe++) {
		shmem_long_p(&told[g_me], said[pe], pe);
		for (unsigned i = 0; i < WORDS; i++)
			CHECK_EQ(shmem_long_g(&g_words[g_me][i], pe), g_expected[pe][i]);
	}
	shmem_barrier_all();
	for (int pe = 0; pe < g_n; pe++)
		CHECK_EQ(g_sums[pe], told[pe]);
}

static void start_long(void)
{
	g_long = shmem_calloc((size_t)g_n, LONG_BYTES);
	CHECK(g_long != NULL);
	fill_long(0);
	for (int pe = 0; pe < g_n; pe++)
		shmem_putmem(g_long + (size_t)g_me * LONG_BYTES, g_there, LONG_BYTES, pe);
	shmem_barrier_all();
}

int main(int argc, char **argv)
{
	const double length = argc > 1 ? atof(argv[1]) : 10, warm = length < 20 ? length / 4 : 5;
	double begin, last, gap = 0;
	struct usage before = {0, 0, 0}, after;
	long operations = 0;
	shmem_init();
	g_me = shmem_my_pe();
	g_n = shmem_n_pes();
	CHECK(g_n <= MOST_PES);
	g_random = (uint64_t)g_me * 977 + (uint64_t)time(NULL);
	start_long();
	if (g_me == 0) {
		printf("running\n");
		fflush(stdout);
	}
	begin = last = seconds();
	while (last < begin + length) {
		const int pe = (int)below((unsigned)g_n);
		if (below(16))
			do_words(pe);
		else
			do_long(pe);
		operations++;
		const double now = seconds();
		gap = now - last > gap ? now - last : gap;
		last = now;
		if (!before.threads && now > begin + warm)
			before = usage();
	}
	check_all();
	after = usage();
	printf("PE %d: %ld operations, longest gap %.2f s; memory %ld -> %ld KiB, descriptors %ld -> %ld, threads %ld "
	       "-> "
	       "%ld\n",
	       g_me, operations, gap, before.memory_kib, after.memory_kib, before.descriptors, after.descriptors,
	       before.threads, after.threads);
	fflush(stdout);
	CHECK(after.memory_kib < before.memory_kib + MEMORY_KIB);
	CHECK(after.descriptors <= before.descriptors);
	CHECK(after.threads <= before.threads);
	shmem_barrier_all();
	if (g_me == 0)
		printf("all right\n");
	shmem_finalize();
	return 0;
}
