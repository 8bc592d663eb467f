/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How ofi_bench, shmem_bench, rawtcp and rawofi take the samples of a row, and the parts of their command lines and
 * outputs that are the same. All of it is static: shmem_bench is compiled by the compilers of other libraries.
 *
 * A sample is `count` iterations, as many as fill the wanted time. It is repeated if a process was descheduled
 * meanwhile, up to a limit; then it counts. A row prints one line: its name and the value of every sample.
 */
#ifndef BENCH_SAMPLE_H
#define BENCH_SAMPLE_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum bench_unit { BENCH_NS, BENCH_MOPS, BENCH_MBS };
static const char *const bench_unit_names[] __attribute__((unused)) = {"ns", "Mop/s", "MB/s"};

/* What a program was asked to measure. */
struct bench_wish {
	uint64_t samples;
	uint64_t row_ns; /* time after which a row takes no further samples */
	int quick;       /* one short sample: shows that it works */
	int disturbed;   /* a sample counts even if a process was descheduled: for machines where that is the rule */
	const char *rows;
};

/* Returns the nanoseconds of `count` iterations, 0 if they failed. *disturbed: a process was descheduled meanwhile. */
typedef uint64_t bench_sample_fn(void *arg, uint64_t count, int *disturbed);

struct bench_subject {
	bench_sample_fn *sample;
	void *arg;
	enum bench_unit unit;
	double trips, bytes; /* of one iteration */
	uint64_t first;      /* count of a quick sample, and where the search for the right count begins */
	uint64_t most;       /* count that is not exceeded by much */
	uint64_t wanted_ns;
	uint64_t count; /* of each sample, written by bench_measure() */
	uint64_t taken; /* samples, those that were repeated too; written by bench_measure() */
};

__attribute__((unused)) static uint64_t bench_clock_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline double bench_value(const struct bench_subject *s, uint64_t ns)
{
	const double trips = (double)s->count * s->trips, t = (double)ns;
	return s->unit == BENCH_NS ? t / trips : s->unit == BENCH_MOPS ? trips * 1e3 / t : trips * s->bytes * 1e3 / t;
}

/* Returns the count that fills a sample, 0 if a sample failed. The first sample makes connections, also a quick one. */
static inline uint64_t bench_calibrate(const struct bench_subject *s, const struct bench_wish *w)
{
	for (uint64_t count = s->first;;) {
		int disturbed = 0;
		uint64_t ns = s->sample(s->arg, count, &disturbed);
		for (int again = 0; ns && disturbed && !w->disturbed && !w->quick && again < 5; again++)
			ns = s->sample(s->arg, count, &disturbed);
		if (!ns || w->quick || ns * 2 > s->wanted_ns || count > s->most)
			return ns ? count : 0;
		const uint64_t grow = s->wanted_ns / ns;
		count *= grow < 2 ? 2 : grow > 16 ? 16 : grow;
	}
}

/* Prints the values; the caller prints the name before and the end of the line after. Returns false if one failed. */
static inline int bench_measure(FILE *out, struct bench_subject *s, const struct bench_wish *w)
{
	const uint64_t limit = bench_clock_ns(CLOCK_MONOTONIC) + w->row_ns;
	s->count = bench_calibrate(s, w);
	s->taken = 0;
	for (uint64_t k = 0, tries = 0; k < w->samples;) {
		int disturbed = 0;
		const uint64_t ns = s->count ? s->sample(s->arg, s->count, &disturbed) : 0;
		if (!ns)
			return 0;
		s->taken++;
		disturbed = disturbed && !w->disturbed;
		const int late = bench_clock_ns(CLOCK_MONOTONIC) > limit;
		if (disturbed && !late && !w->quick && tries++ < 20 * w->samples)
			continue;
		if (disturbed && late && k)
			break;
		fprintf(out, "\t%.6g", bench_value(s, ns));
		k += late ? w->samples : 1;
	}
	return 1;
}

/* Whether the list, names with commas between them, has the name. A null list has every name. */
static inline int bench_selected(const char *list, const char *name)
{
	const size_t n = strlen(name);
	for (const char *pos = list; pos && *pos; pos = strchr(pos, ',') ? strchr(pos, ',') + 1 : NULL)
		if (!strncmp(pos, name, n) && (pos[n] == ',' || pos[n] == 0))
			return 1;
	return !list;
}

/* A line of --list. */
static inline void bench_list_row(const char *name, const char *group, const char *unit, int delivered,
				  const char *label)
{
	printf("%s\t%s\t%s\t%s\t%s\n", name, group, unit, delivered ? "delivered" : "counted", label);
}

/* Takes the option at argv[*i], with its value, if it is one that these programs share. */
static inline int bench_take_option(struct bench_wish *w, int argc, char **argv, int *i)
{
	const char *word = argv[*i];
	if (!strcmp(word, "--quick"))
		return w->quick = 1, w->samples = 1, 1;
	if (!strcmp(word, "--disturbed"))
		return w->disturbed = 1, 1;
	if (*i + 1 >= argc)
		return 0;
	if (!strcmp(word, "--rows"))
		w->rows = argv[*i + 1];
	else if (!strcmp(word, "--samples"))
		w->samples = strtoull(argv[*i + 1], NULL, 10);
	else
		return 0;
	++*i;
	return 1;
}

#endif /* BENCH_SAMPLE_H */
