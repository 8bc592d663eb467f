/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The common part of rawtcp and rawofi: see raw.h.
 *
 *	PROGRAM serve				on one host
 *	PROGRAM 'COMMAND' [--rows A,B] [...]	on the other; the command starts the server: agent h2 PROGRAM serve
 *	PROGRAM --where				where this is, as place.h says it
 *
 * Prints where both run, then one line per row: its name and the value of every sample. A sample is short and is
 * repeated if this process was descheduled during it.
 */
#define _GNU_SOURCE 1
#include "raw.h"

#include "cores.h"
#include "place.h"
#include "sample.h"

#include <unistd.h>

static const uint64_t kSampleNs = 4000000, kStreamNs = 16000000;

/* Returns the nanoseconds of one sample, 0 if the connection broke. */
static uint64_t sample(void *arg, uint64_t count, int *disturbed)
{
	const struct raw_row *r = arg;
	const long before = bench_switches(0);
	const uint64_t start = bench_clock_ns(CLOCK_MONOTONIC);
	const int good = raw_run(r, count);
	const uint64_t ns = bench_clock_ns(CLOCK_MONOTONIC) - start;
	*disturbed = bench_switches(0) != before;
	return good ? ns + !ns : 0;
}

/* Prints the line of a row. Returns false if the connection broke. */
static int run(const struct raw_row *r, const struct bench_wish *w)
{
	struct bench_subject s = {.sample = sample,
				  .arg = (void *)(uintptr_t)r,
				  .unit = r->unit,
				  .trips = 1,
				  .bytes = r->bytes,
				  .first = w->quick ? 10 : 1,
				  .most = r->bytes ? ((uint64_t)1 << 30) / r->bytes : (uint64_t)1 << 30,
				  .wanted_ns = r->unit == BENCH_NS ? kSampleNs : kStreamNs};
	printf("%s", r->name);
	fflush(stdout);
	const int good = bench_measure(stdout, &s, w);
	printf(good ? "\n" : "\terror\n");
	fflush(stdout);
	return good;
}

static int ask(const char *command, const struct bench_wish *w, unsigned timeout_s)
{
	int any = 0;
	for (size_t i = 0; i < raw_row_count; i++)
		any |= bench_selected(w->rows, raw_rows[i].name);
	if (!any)
		return 0;
	alarm(timeout_s);
	FILE *server = popen(command, "r");
	char where[1024] = "", server_place[sizeof(struct bench_place)] = "";
	if (!server || !fgets(server_place, sizeof server_place, server) || !fgets(where, sizeof where, server)) {
		fprintf(stderr, "%s: no server by %s\n", raw_name, command);
		return 1;
	}
	where[strcspn(where, "\n")] = 0;
	struct bench_place here;
	bench_find_place(&here);
	printf("where\t%s\t%s", here.text, server_place);
	bench_stay_on(bench_core(0, 0)); /* not earlier: the server would inherit it */
	if (!raw_connect(where)) {
		fprintf(stderr, "%s: cannot connect to %s\n", raw_name, where);
		return 1;
	}
	int good = 1;
	for (size_t i = 0; good && i < raw_row_count; i++) {
		if (!bench_selected(w->rows, raw_rows[i].name))
			continue;
		alarm(timeout_s);
		good = run(&raw_rows[i], w);
	}
	raw_close();
	return pclose(server) != 0 || !good;
}

/* --- command line ------------------------------------------------------------------------------------------------- */

static int list(void)
{
	for (size_t i = 0; i < raw_row_count; i++)
		bench_list_row(raw_rows[i].name, raw_rows[i].group, bench_unit_names[raw_rows[i].unit], 1,
			       raw_rows[i].label);
	return 0;
}

static int print_place(void)
{
	struct bench_place here;
	bench_find_place(&here);
	return puts(here.text) < 0 || fflush(stdout) != 0;
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
	struct bench_wish w = {.samples = 5, .row_ns = 3000000000u};
	uint64_t timeout_s = 60;
	if (argc < 2)
		return usage();
	if (!strcmp(argv[1], "--list"))
		return list();
	if (!strcmp(argv[1], "--where"))
		return print_place();
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--timeout-ms") && i + 1 < argc)
			timeout_s = (strtoull(argv[++i], NULL, 10) + 999) / 1000;
		else if (!bench_take_option(&w, argc, argv, &i))
			return usage();
	}
	if (!strcmp(argv[1], "serve")) {
		bench_stay_on(bench_core(0, 1));
		alarm(120);
		print_place();
		return raw_serve();
	}
	return ask(argv[1], &w, (unsigned)timeout_s);
}
