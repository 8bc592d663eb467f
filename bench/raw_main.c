/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The common part of rawtcp and rawofi: see raw.h.
 *
 *	PROGRAM serve				on one host
 *	PROGRAM 'COMMAND' [--rows A,B] [...]	on the other; the command starts the server: agent h2 PROGRAM serve
 *
 * Prints one line per row: its name and the value of every sample. A sample is short and is repeated if this process
 * was descheduled during it.
 */
#define _GNU_SOURCE 1
#include "raw.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct options {
	uint64_t samples, sample_ns, stream_ns, row_ns, timeout_s;
	int quick;
	const char *rows;
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long preemptions(void)
{
	struct rusage use;
	getrusage(RUSAGE_THREAD, &use);
	return use.ru_nivcsw;
}

/* Returns the nanoseconds of one sample, 0 if the connection broke. *disturbed: this process was descheduled. */
static uint64_t sample(const struct raw_row *r, uint64_t count, int *disturbed)
{
	const long before = preemptions();
	const uint64_t start = now_ns();
	const int good = raw_run(r, count);
	const uint64_t ns = now_ns() - start;
	*disturbed = preemptions() != before;
	return good ? ns + !ns : 0;
}

static double value_of(const struct raw_row *r, uint64_t count, uint64_t ns)
{
	const double n = (double)count, t = (double)ns;
	return !strcmp(r->unit, "ns") ? t / n : n * r->bytes * 1e3 / t;
}

/* Returns how many operations fill a sample, 0 if the connection broke. */
static uint64_t calibrate(const struct raw_row *r, const struct options *o)
{
	const uint64_t wanted = strcmp(r->unit, "ns") ? o->stream_ns : o->sample_ns;
	int disturbed;
	for (uint64_t count = o->quick ? 10 : 1;;) {
		const uint64_t ns = sample(r, count, &disturbed);
		if (!ns)
			return 0;
		if (ns * 2 > wanted || count * r->bytes > (uint64_t)1 << 30 || o->quick)
			return count;
		const uint64_t grow = wanted / ns;
		count *= grow < 2 ? 2 : grow > 16 ? 16 : grow;
	}
}

/* Prints the line of a row. Returns false if the connection broke. */
static int run(const struct raw_row *r, const struct options *o)
{
	const uint64_t limit = now_ns() + o->row_ns;
	printf("%s", r->name);
	fflush(stdout);
	const uint64_t count = calibrate(r, o);
	if (!count)
		return 0;
	for (uint64_t k = 0, tries = 0; k < o->samples;) {
		int disturbed;
		const uint64_t ns = sample(r, count, &disturbed);
		if (!ns)
			return 0;
		const int late = now_ns() > limit;
		if (disturbed && !late && !o->quick && tries++ < 20 * o->samples)
			continue;
		if (disturbed && late && k)
			break;
		printf("\t%.6g", value_of(r, count, ns));
		k += late ? o->samples : 1;
	}
	printf("\n");
	fflush(stdout);
	return 1;
}

static int wanted(const struct options *o, const char *name)
{
	const size_t n = strlen(name);
	for (const char *pos = o->rows; pos && *pos; pos = strchr(pos, ',') ? strchr(pos, ',') + 1 : NULL)
		if (!strncmp(pos, name, n) && (pos[n] == ',' || pos[n] == 0))
			return 1;
	return !o->rows;
}

/* Pins client and server to separate cores where there are two; on different machines that does no harm. */
static void pin(int wish)
{
	cpu_set_t all, one;
	if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2)
		return;
	int cpu = -1;
	for (int k = -1; k < wish && cpu < CPU_SETSIZE - 1;)
		k += CPU_ISSET(++cpu, &all) ? 1 : 0;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof one, &one); /* a refusal only costs accuracy */
}

static int ask(const char *command, const struct options *o)
{
	int any = 0;
	for (size_t i = 0; i < raw_row_count; i++)
		any |= wanted(o, raw_rows[i].name);
	if (!any)
		return 0;
	alarm((unsigned)o->timeout_s);
	FILE *server = popen(command, "r");
	char where[1024] = "";
	if (!server || !fgets(where, sizeof where, server)) {
		fprintf(stderr, "%s: no server by %s\n", raw_name, command);
		return 1;
	}
	where[strcspn(where, "\n")] = 0;
	pin(0); /* not earlier: the server would inherit it */
	if (!raw_connect(where)) {
		fprintf(stderr, "%s: cannot connect to %s\n", raw_name, where);
		return 1;
	}
	int good = 1;
	for (size_t i = 0; good && i < raw_row_count; i++) {
		if (!wanted(o, raw_rows[i].name))
			continue;
		alarm((unsigned)o->timeout_s);
		good = run(&raw_rows[i], o);
		if (!good)
			printf("\terror\n");
	}
	raw_close();
	return pclose(server) != 0 || !good;
}

/* --- command line ------------------------------------------------------------------------------------------------- */

static int list(void)
{
	for (size_t i = 0; i < raw_row_count; i++)
		printf("%s\t%s\t%s\tdelivered\t%s\n", raw_rows[i].name, raw_rows[i].group, raw_rows[i].unit,
		       raw_rows[i].label);
	return 0;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: %s serve\n       %s 'COMMAND that runs %s serve' [--rows A,B] [--samples N] [--quick] "
		"[--timeout-ms N]\n       %s --list\n",
		raw_name, raw_name, raw_name, raw_name);
	return 2;
}

int main(int argc, char **argv)
{
	struct options o = {
		.samples = 5, .sample_ns = 4000000, .stream_ns = 16000000, .row_ns = 3000000000u, .timeout_s = 60};
	if (argc < 2)
		return usage();
	if (!strcmp(argv[1], "--list"))
		return list();
	for (int i = 2; i < argc; i++) {
		const int more = i + 1 < argc;
		if (!strcmp(argv[i], "--quick"))
			o.quick = 1, o.samples = 1;
		else if (!strcmp(argv[i], "--rows") && more)
			o.rows = argv[++i];
		else if (!strcmp(argv[i], "--samples") && more)
			o.samples = strtoull(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--timeout-ms") && more)
			o.timeout_s = (strtoull(argv[++i], NULL, 10) + 999) / 1000;
		else
			return usage();
	}
	if (!strcmp(argv[1], "serve")) {
		pin(1);
		alarm(120);
		return raw_serve();
	}
	return ask(argv[1], &o);
}
