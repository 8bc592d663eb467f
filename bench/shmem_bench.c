/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_bench: runs the rows of shmem_rows.c between PE 0 and PE 1 of a job of two, and those of shmem_rows_coll.c in a
 * job of any size, and prints one line per row: its name and the value of every sample. shmem_compare compiles it with
 * each library's oshcc, runs it, and makes the table. hosts_compare does the same on two hosts, with hosts_rows.c.
 *
 * A sample is short, begins when all PEs are known to run, and is repeated if one of them was descheduled meanwhile.
 */
#define _GNU_SOURCE 1
#include "shmem_rows.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Control words between PE 0 and the other PEs; each word is written by one side only. */
static struct {
	long row, count, go;  /* by PE 0, at the others */
	long ready;           /* by the others, at PE 0, which they increment */
	long begin;           /* by PE 0, at the others */
	long done, disturbed; /* by the others, at PE 0, which they increment */
	long end;             /* by PE 0, at the others: the origin's part of the sample is over */
} control;

struct options {
	uint64_t samples, row_ns, timeout_s;
	int quick;
	int disturbed; /* a sample counts even if a PE was descheduled: for machines where that is the rule */
	const char *rows;
};

enum { QUIT = -1 };
static const char *const unit_names[] = {"ns", "Mop/s", "MB/s"};
static const char kLaunch[] = "launch";
static const char kInit[] = "init";

static size_t rows_in_all(void)
{
	return bench_row_count + bench_more_row_count;
}

static const struct bench_row *row_at(size_t i)
{
	return i < bench_row_count ? &bench_rows[i] : &bench_more_rows[i - bench_row_count];
}

static void tell_others(long *word, long value)
{
	for (int pe = 1; pe < shmem_n_pes(); pe++)
		shmem_long_p(word, value, pe);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long switches(void)
{
	struct rusage use;
	getrusage(RUSAGE_THREAD, &use); /* a library's own threads may sleep and wake freely */
	return use.ru_nivcsw + (bench_rules.sleep_disturbs ? use.ru_nvcsw : 0);
}

static void on_alarm(int sig)
{
	static const char text[] = "\ttimeout\n";
	(void)sig;
	if (shmem_my_pe() == 0 && write(1, text, sizeof text - 1) < 0)
		_exit(3);
	_exit(2);
}

/* Returns the nanoseconds of one sample of count iterations. *disturbed: a PE was descheduled meanwhile. */
static uint64_t sample(struct bench_memory *m, size_t row, uint64_t count, int *disturbed)
{
	static long number;
	const struct bench_row *r = row_at(row);
	const long others = shmem_n_pes() - 1, disturbed_before = control.disturbed;
	number++;
	tell_others(&control.row, (long)row);
	tell_others(&control.count, (long)count);
	shmem_fence();
	tell_others(&control.go, number);
	shmem_quiet();
	shmem_long_wait_until(&control.ready, SHMEM_CMP_EQ, number * others);
	tell_others(&control.begin, number);
	shmem_quiet();
	m->untimed_ns = 0;
	const long before = switches();
	const uint64_t start = now_ns(CLOCK_MONOTONIC);
	r->origin(m, r, count);
	const uint64_t end = now_ns(CLOCK_MONOTONIC) - m->untimed_ns;
	const long after = switches();
	tell_others(&control.end, number);
	shmem_quiet();
	shmem_long_wait_until(&control.done, SHMEM_CMP_EQ, number * others);
	*disturbed = before != after || control.disturbed != disturbed_before;
	return end > start ? end - start : 1;
}

static void target(struct bench_memory *m, uint64_t timeout_s)
{
	for (long number = 1;; number++) {
		alarm((unsigned)timeout_s);
		shmem_long_wait_until(&control.go, SHMEM_CMP_EQ, number);
		if (control.row == QUIT)
			return;
		const struct bench_row *r = row_at((size_t)control.row);
		shmem_long_atomic_inc(&control.ready, 0);
		shmem_quiet();
		shmem_long_wait_until(&control.begin, SHMEM_CMP_EQ, number);
		const long before = switches();
		if (r->target)
			r->target(m, r, (uint64_t)control.count);
		const int disturbed = switches() != before && r->target;
		shmem_long_wait_until(&control.end, SHMEM_CMP_EQ, number);
		if (disturbed)
			shmem_long_atomic_inc(&control.disturbed, 0);
		shmem_quiet();
		shmem_long_atomic_inc(&control.done, 0);
		shmem_quiet();
	}
}

static double value_of(const struct bench_row *row, uint64_t count, uint64_t ns)
{
	const double trips = (double)count * row->trips, t = (double)ns;
	return row->unit == BENCH_NS     ? t / trips
	       : row->unit == BENCH_MOPS ? trips * 1e3 / t
					 : trips * (double)row->bytes * 1e3 / t;
}

static uint64_t calibrate(struct bench_memory *m, const struct options *o, size_t row)
{
	const uint64_t wanted = row_at(row)->unit == BENCH_MBS ? bench_rules.stream_ns : bench_rules.sample_ns;
	int disturbed;
	if (!o->quick)
		/* the first sample touches memory and makes connections, so it is not representative */
		sample(m, row, 1, &disturbed);
	for (uint64_t count = o->quick ? 10 : 1;;) {
		uint64_t ns = sample(m, row, count, &disturbed);
		for (int again = 0; disturbed && !o->disturbed && again < 5; again++)
			ns = sample(m, row, count, &disturbed);
		if (ns * 2 > wanted || count > (uint64_t)1 << 24 || o->quick)
			return count;
		const uint64_t grow = wanted / ns;
		count *= grow < 2 ? 2 : grow > 16 ? 16 : grow;
	}
}

static int selected(const struct options *o, const char *name)
{
	const size_t n = strlen(name);
	for (const char *pos = o->rows; pos && *pos; pos = strchr(pos, ',') ? strchr(pos, ',') + 1 : NULL)
		if (!strncmp(pos, name, n) && (pos[n] == ',' || pos[n] == 0))
			return 1;
	return !o->rows;
}

static void origin(struct bench_memory *m, const struct options *o)
{
	for (size_t r = shmem_n_pes() == 2 ? 0 : bench_row_count; r < rows_in_all(); r++) {
		if (!selected(o, row_at(r)->name))
			continue;
		alarm((unsigned)o->timeout_s);
		printf("%s", row_at(r)->name);
		fflush(stdout);
		const uint64_t limit = now_ns(CLOCK_MONOTONIC) + o->row_ns;
		const uint64_t count = calibrate(m, o, r);
		for (uint64_t k = 0, tries = 0; k < o->samples;) {
			int disturbed;
			const uint64_t ns = sample(m, r, count, &disturbed);
			disturbed = disturbed && !o->disturbed;
			const int late = now_ns(CLOCK_MONOTONIC) > limit;
			if (disturbed && !late && !o->quick && tries++ < 20 * o->samples)
				continue;
			if (disturbed && late && k)
				break;
			printf("\t%.6g", value_of(row_at(r), count, ns));
			k += late ? o->samples : 1;
		}
		printf("\n");
		fflush(stdout);
	}
	alarm((unsigned)o->timeout_s);
	tell_others(&control.row, QUIT);
	shmem_fence();
	tell_others(&control.go, shmem_long_g(&control.go, 1) + 1);
	shmem_quiet();
}

static int list(void)
{
	printf("%s\tstart\tns\tdelivered\tlaunch: oshrun to init done\n%s\tstart\tns\tdelivered\tshmem_init\n", kLaunch,
	       kInit);
	for (size_t r = 0; r < rows_in_all(); r++)
		printf("%s\t%s\t%s\tdelivered\t%s\n", row_at(r)->name, row_at(r)->group, unit_names[row_at(r)->unit],
		       row_at(r)->label);
	return 0;
}

static int parse(int argc, char **argv, struct options *o)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--quick"))
			o->quick = 1, o->samples = 1;
		else if (!strcmp(argv[i], "--disturbed"))
			o->disturbed = 1;
		else if (!strcmp(argv[i], "--rows") && i + 1 < argc)
			o->rows = argv[++i];
		else if (!strcmp(argv[i], "--samples") && i + 1 < argc)
			o->samples = strtoull(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--timeout-ms") && i + 1 < argc)
			o->timeout_s = (strtoull(argv[++i], NULL, 10) + 999) / 1000;
		else if (argv[i][0] == '-')
			return 0; /* a plain word is the column's title */
	}
	return o->samples > 0;
}

/* Pins each PE to a core of its own, whatever the launcher did, so that both libraries get the same. */
static void pin(int pe)
{
	cpu_set_t all, one;
	if (sched_getaffinity(getppid(), sizeof all, &all) != 0 || CPU_COUNT(&all) < 2)
		return;
	int cpu = -1;
	for (int k = -1; k < pe && cpu < CPU_SETSIZE - 1;)
		k += CPU_ISSET(++cpu, &all) ? 1 : 0;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof one, &one); /* a refusal only costs accuracy */
}

int main(int argc, char **argv)
{
	struct options o = {.samples = 5, .row_ns = 3000000000u, .timeout_s = 20};
	if (argc > 1 && !strcmp(argv[1], "--list"))
		return list();
	if (!parse(argc, argv, &o)) {
		fprintf(stderr, "usage: oshrun -n N shmem_bench [--list] [--quick] [--samples N] [--rows A,B] "
				"[--timeout-ms N] [--disturbed] [TITLE]\n");
		return 2;
	}
	const char *launched = getenv("SHMEM_BENCH_START"); /* nanoseconds of CLOCK_REALTIME, by shmem_compare */
	const uint64_t start = now_ns(CLOCK_REALTIME);
	shmem_init();
	const uint64_t end = now_ns(CLOCK_REALTIME);
	if (shmem_n_pes() < 2) {
		fprintf(stderr, "shmem_bench: needs two PEs, or more for collectives\n");
		return 2;
	}
	const int me = shmem_my_pe();
	signal(SIGALRM, on_alarm);
	pin(me);
	if (me == 0 && launched && selected(&o, kLaunch))
		printf("%s\t%.6g\n", kLaunch, (double)end - strtod(launched, NULL));
	if (me == 0 && selected(&o, kInit))
		printf("%s\t%.6g\n", kInit, (double)(end - start));
	struct bench_memory m = {.remote = shmem_malloc(SHMEM_BENCH_BYTES), .local = malloc(SHMEM_BENCH_BYTES)};
	m.words = shmem_align(64, 64 * BENCH_LINE * sizeof(long));
	if (!m.remote || !m.local || !m.words) {
		fprintf(stderr, "shmem_bench: no memory\n");
		return 2;
	}
	memset(m.remote, 0, SHMEM_BENCH_BYTES);
	memset(m.local, 1, SHMEM_BENCH_BYTES);
	memset(m.words, 0, 64 * BENCH_LINE * sizeof(long));
	shmem_barrier_all();
	if (me == 0)
		origin(&m, &o);
	else
		target(&m, o.timeout_s);
	alarm((unsigned)o.timeout_s);
	shmem_barrier_all();
	shmem_free(m.words);
	shmem_free(m.remote);
	free(m.local);
	shmem_finalize();
	return 0;
}
