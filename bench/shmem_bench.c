/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_bench: runs the rows of shmem_rows.c between PE 0 and PE 1 of a job of two, and those of shmem_rows_coll.c in a
 * job of any size, and prints one line per row: its name and the value of every sample. shmem_compare compiles it with
 * each library's oshcc, runs it, and makes the table. hosts_compare does the same on two hosts, with --between-hosts:
 * then the rows of hosts_rows.c take the place of those of shmem_rows_coll.c.
 *
 * A sample is short, begins when all PEs are known to run, and is repeated if one of them was descheduled meanwhile.
 */
#define _GNU_SOURCE 1
#include "shmem_rows.h"

#include "cores.h"
#include "place.h"

#include <signal.h>
#include <unistd.h>

/* Control words between PE 0 and the other PEs; each word is written by one side only. */
static struct {
	long row, count, go;  /* by PE 0, at the others */
	long ready;           /* by the others, at PE 0, which they increment */
	long begin;           /* by PE 0, at the others */
	long done, disturbed; /* by the others, at PE 0, which they increment */
	long end;             /* by PE 0, at the others: the origin's part of the sample is over */
} control;

/* How samples are taken. */
struct rules {
	uint64_t sample_ns;
	uint64_t stream_ns; /* the same for rows in MB/s */
	int sleep_disturbs; /* a PE that slept was descheduled */
};
static const struct rules on_one_host = {1000000, 1000000, 1};
/* Longer: a round trip takes longer, and TCP streams need many to reach their pace. Sleep is a way to wait here. */
static const struct rules between_hosts = {4000000, 16000000, 0};

struct options {
	struct bench_wish wish;
	uint64_t timeout_s;
	const struct rules *rules;
	int is_list;
	int where; /* say where the PEs run */
	int wired; /* there are simulated hosts: a row that is faster than a network could be is no result */
};

enum { QUIT = -1 };
static const char kLaunch[] = "launch";
static const char kInit[] = "init";
static const struct bench_table *const tables[] = {&bench_two_pes, &bench_collectives, &bench_between_hosts,
						   &bench_hosts_pairs, &bench_hosts_collectives};
enum { TABLES = sizeof tables / sizeof tables[0] };

/* The i-th row of all tables. Null: there is none. */
static const struct bench_row *row_at(size_t i)
{
	for (int t = 0; t < TABLES; i -= tables[t++]->count)
		if (i < tables[t]->count)
			return &tables[t]->row[i];
	return NULL;
}

static const struct bench_table *table_of(size_t i)
{
	int t = 0;
	for (; i >= tables[t]->count; t++)
		i -= tables[t]->count;
	return tables[t];
}

static int is_listed(size_t i, const struct options *o)
{
	return o->rules == &between_hosts ? table_of(i)->is_between : table_of(i)->is_here;
}

static void tell_others(long *word, long value)
{
	for (int pe = 1; pe < shmem_n_pes(); pe++)
		shmem_long_p(word, value, pe);
}

static void on_alarm(int sig)
{
	static const char text[] = "\ttimeout\n";
	(void)sig;
	if (shmem_my_pe() == 0 && write(1, text, sizeof text - 1) < 0)
		_exit(3);
	_exit(2);
}

/* A row that is measured, for sample(). */
struct measured {
	struct bench_memory *memory;
	size_t row;
	int sleep_disturbs;
};

static uint64_t sample(void *arg, uint64_t count, int *disturbed)
{
	static long number;
	const struct measured *measured = arg;
	struct bench_memory *m = measured->memory;
	const struct bench_row *r = row_at(measured->row);
	const long others = shmem_n_pes() - 1, disturbed_before = control.disturbed;
	number++;
	tell_others(&control.row, (long)measured->row);
	tell_others(&control.count, (long)count);
	shmem_fence();
	tell_others(&control.go, number);
	shmem_quiet();
	shmem_long_wait_until(&control.ready, SHMEM_CMP_EQ, number * others);
	tell_others(&control.begin, number);
	shmem_quiet();
	m->untimed_ns = 0;
	const long before = bench_switches(measured->sleep_disturbs);
	const uint64_t start = bench_clock_ns(CLOCK_MONOTONIC);
	r->origin(m, r, count);
	const uint64_t end = bench_clock_ns(CLOCK_MONOTONIC) - m->untimed_ns;
	const long after = bench_switches(measured->sleep_disturbs);
	tell_others(&control.end, number);
	shmem_quiet();
	shmem_long_wait_until(&control.done, SHMEM_CMP_EQ, number * others);
	*disturbed = before != after || control.disturbed != disturbed_before;
	return end > start ? end - start : 1;
}

static void target(struct bench_memory *m, const struct options *o)
{
	for (long number = 1;; number++) {
		alarm((unsigned)o->timeout_s);
		shmem_long_wait_until(&control.go, SHMEM_CMP_EQ, number);
		if (control.row == QUIT)
			return;
		const struct bench_row *r = row_at((size_t)control.row);
		shmem_long_atomic_inc(&control.ready, 0);
		shmem_quiet();
		shmem_long_wait_until(&control.begin, SHMEM_CMP_EQ, number);
		const long before = bench_switches(o->rules->sleep_disturbs);
		if (r->target)
			r->target(m, r, (uint64_t)control.count);
		const int disturbed = bench_switches(o->rules->sleep_disturbs) != before && r->target;
		shmem_long_wait_until(&control.end, SHMEM_CMP_EQ, number);
		if (disturbed)
			shmem_long_atomic_inc(&control.disturbed, 0);
		shmem_quiet();
		shmem_long_atomic_inc(&control.done, 0);
		shmem_quiet();
	}
}

/*
 * Whether the network of PE 0's host carried what the samples of a row must have sent: all bytes of large blocks, and a
 * packet for each operation that is waited for. Half of that is enough, since others count what comes and goes their
 * own way. Simulated hosts are one machine, so that a library may find its memory instead.
 */
static int is_on_wire(const struct bench_row *r, const struct bench_subject *s, struct bench_traffic before)
{
	const struct bench_traffic after = bench_read_traffic();
	const uint64_t operations = s->count * s->taken, packets = after.packets - before.packets;
	const uint64_t bytes = r->bytes >= 4096 ? operations * r->bytes : 0;
	const uint64_t least = r->unit == BENCH_NS && !r->streams ? operations : s->taken;
	return packets * 2 >= least && (after.bytes - before.bytes) * 2 >= bytes;
}

static void measure(struct bench_memory *m, const struct options *o, size_t i)
{
	const struct bench_row *r = row_at(i);
	struct measured measured = {m, i, o->rules->sleep_disturbs};
	struct bench_subject s = {.sample = sample,
				  .arg = &measured,
				  .unit = r->unit,
				  .trips = r->trips * (r->pairs && r->unit != BENCH_NS ? shmem_n_pes() / 2 : 1),
				  .bytes = (double)r->bytes,
				  .first = o->wish.quick ? 10 : 1,
				  .most = (uint64_t)1 << 24,
				  .wanted_ns = r->unit == BENCH_MBS ? o->rules->stream_ns : o->rules->sample_ns};
	int disturbed;
	printf("%s", r->name);
	fflush(stdout);
	if (!o->wish.quick)
		/* the first sample touches memory and makes connections, so it is not representative */
		sample(&measured, 1, &disturbed);
	const struct bench_traffic before = bench_read_traffic();
	bench_measure(stdout, &s, &o->wish);
	printf(o->wired && !is_on_wire(r, &s, before) ? "\tno-wire\n" : "\n");
	fflush(stdout);
}

static void origin(struct bench_memory *m, const struct options *o)
{
	for (size_t i = 0; row_at(i); i++) {
		const int enough = table_of(i)->any_pes || shmem_n_pes() == 2;
		if (!enough || !is_listed(i, o) || !bench_selected(o->wish.rows, row_at(i)->name))
			continue;
		alarm((unsigned)o->timeout_s);
		measure(m, o, i);
	}
	alarm((unsigned)o->timeout_s);
	tell_others(&control.row, QUIT);
	shmem_fence();
	tell_others(&control.go, shmem_long_g(&control.go, 1) + 1);
	shmem_quiet();
}

/* PE 0 prints where every PE runs. They tell it through the library that is measured. */
static void print_places(void)
{
	const int n = shmem_n_pes(), me = shmem_my_pe();
	struct bench_place mine, *all = shmem_malloc((size_t)n * sizeof mine);
	if (!all) {
		fprintf(stderr, "shmem_bench: no memory for the places of %d PEs\n", n);
		shmem_global_exit(2);
	}
	bench_find_place(&mine);
	shmem_putmem(&all[me], &mine, sizeof mine, 0);
	shmem_barrier_all();
	if (me == 0) {
		printf("where");
		for (int pe = 0; pe < n; pe++)
			printf("\t%s", all[pe].text);
		printf("\n");
		fflush(stdout);
	}
	shmem_free(all);
}

static int list(const struct options *o)
{
	bench_list_row(kLaunch, "start", "ns", 1, "launch: oshrun to init done");
	bench_list_row(kInit, "start", "ns", 1, "shmem_init");
	for (size_t i = 0; row_at(i); i++)
		if (is_listed(i, o))
			bench_list_row(row_at(i)->name, row_at(i)->group, bench_unit_names[row_at(i)->unit], 1,
				       row_at(i)->label);
	return 0;
}

/* Returns false if an option is wrong. */
static int parse(int argc, char **argv, struct options *o)
{
	for (int i = 1; i < argc; i++) {
		if (bench_take_option(&o->wish, argc, argv, &i))
			continue;
		if (!strcmp(argv[i], "--list"))
			o->is_list = 1;
		else if (!strcmp(argv[i], "--where"))
			o->where = 1;
		else if (!strcmp(argv[i], "--wired"))
			o->wired = 1;
		else if (!strcmp(argv[i], "--between-hosts"))
			o->rules = &between_hosts;
		else if (!strcmp(argv[i], "--timeout-ms") && i + 1 < argc)
			o->timeout_s = (strtoull(argv[++i], NULL, 10) + 999) / 1000;
		else if (argv[i][0] == '-')
			return 0; /* a plain word is the column's title */
	}
	return o->wish.samples > 0;
}

/* All PEs call it together. */
static struct bench_memory open_memory(void)
{
	struct bench_memory m = {.remote = shmem_malloc(SHMEM_BENCH_BYTES), .local = malloc(SHMEM_BENCH_BYTES)};
	m.words = shmem_align(64, 64 * BENCH_LINE * sizeof(long));
	if (!m.remote || !m.local || !m.words) {
		fprintf(stderr, "shmem_bench: no memory\n");
		exit(2);
	}
	memset(m.remote, 0, SHMEM_BENCH_BYTES);
	memset(m.local, 1, SHMEM_BENCH_BYTES);
	memset(m.words, 0, 64 * BENCH_LINE * sizeof(long));
	shmem_barrier_all();
	return m;
}

int main(int argc, char **argv)
{
	struct options o = {.wish = {.samples = 5, .row_ns = 3000000000u}, .timeout_s = 20, .rules = &on_one_host};
	if (!parse(argc, argv, &o)) {
		fprintf(stderr, "usage: oshrun -n N shmem_bench [--list] [--quick] [--samples N] [--rows A,B] "
				"[--timeout-ms N] [--disturbed] [--between-hosts] [--where] [--wired] [TITLE]\n");
		return 2;
	}
	if (o.is_list)
		return list(&o);
	const char *launched = getenv("SHMEM_BENCH_START"); /* nanoseconds of CLOCK_REALTIME, by shmem_compare */
	const uint64_t start = bench_clock_ns(CLOCK_REALTIME);
	shmem_init();
	const uint64_t end = bench_clock_ns(CLOCK_REALTIME);
	if (shmem_n_pes() < 2) {
		fprintf(stderr, "shmem_bench: needs two PEs, or more for collectives\n");
		return 2;
	}
	const int me = shmem_my_pe();
	signal(SIGALRM, on_alarm);
	/* a core for each PE, whatever the launcher did, so that both libraries get the same */
	bench_stay_on(o.rules == &between_hosts ? bench_core_around(getppid(), me) : bench_core(getppid(), me));
	if (o.where)
		print_places();
	if (me == 0 && launched && bench_selected(o.wish.rows, kLaunch))
		printf("%s\t%.6g\n", kLaunch, (double)end - strtod(launched, NULL));
	if (me == 0 && bench_selected(o.wish.rows, kInit))
		printf("%s\t%.6g\n", kInit, (double)(end - start));
	struct bench_memory m = open_memory();
	if (me == 0)
		origin(&m, &o);
	else
		target(&m, &o);
	alarm((unsigned)o.timeout_s);
	shmem_barrier_all();
	shmem_free(m.words);
	shmem_free(m.remote);
	free(m.local);
	shmem_finalize();
	return 0;
}
