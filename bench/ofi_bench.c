/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ofi_bench PROVIDER: runs the rows of ofi_rows_*.c between two processes of this host and prints one line per row:
 * its name and the value of every sample, or timeout, error or absent. ofi_compare calls it and makes the table.
 *
 * This process only supervises: it starts the pair, collects the results, and ends a pair that hangs or dies; the rows
 * after the failed one get a new pair.
 */
#define _GNU_SOURCE 1
#include "ofi_rows.h"

#include "cores.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ROWS = 128, QUIT = 0xffffffff };
static const uint64_t kBriefly = 50000; /* patience between samples, when other processes want the core */

struct options {
	const char *provider;
	struct bench_wish wish;
	uint64_t sample_ns, timeout_ns;
	uint64_t patience_ns; /* during a sample: a running peer responds within this */
	int cpu[2];
	const struct bench_row *row[MAX_ROWS];
	size_t rows;
};

static const struct bench_rows *const families[] = {&bench_rma_rows, &bench_amo_rows, &bench_msg_rows};

/* --- the pair ----------------------------------------------------------------------------------------------------- */

/* A row that is measured, for sample(). */
struct measured {
	struct bench_side *side;
	const struct options *options;
	size_t row;
};

static uint64_t sample(void *arg, uint64_t count, int *disturbed)
{
	static uint64_t number;
	const struct measured *m = arg;
	const struct options *o = m->options;
	struct bench_side *s = m->side;
	struct bench_control *c = s->control;
	number++;
	bench_bound(s, o->timeout_ns, kBriefly);
	c->row = m->row;
	c->count = count;
	c->stamp = number << 32;
	bench_store(&c->go, number);
	bench_wait_word(s, &c->ack, 2 * number - 1);
	/* both are running now; a sample is shorter than a time slice, so most likely they stay on their cores */
	bench_store(&c->hello[0], number);
	bench_wait_word(s, &c->hello[1], number);
	bench_bound(s, o->timeout_ns, o->patience_ns);
	const long before = bench_switches(1);
	const uint64_t start = bench_now_ns();
	o->row[m->row]->origin(s, o->row[m->row], count);
	const uint64_t end = bench_now_ns();
	const long after = bench_switches(1);
	bench_bound(s, o->timeout_ns, kBriefly);
	bench_wait_word(s, &c->ack, 2 * number);
	*disturbed = before != after || c->disturbed;
	return end > start ? end - start : 1;
}

static void origin(struct bench_side *side, const struct options *o, size_t first, FILE *results)
{
	for (size_t i = first; i < o->rows; i++) {
		const struct bench_row *r = o->row[i];
		struct measured m = {side, o, i};
		struct bench_subject s = {.sample = sample,
					  .arg = &m,
					  .unit = r->unit,
					  .trips = r->trips,
					  .bytes = (double)r->bytes,
					  .first = r->quick,
					  .most = (uint64_t)1 << 24,
					  .wanted_ns = o->sample_ns};
		fprintf(results, "%s", r->name);
		bench_measure(results, &s, &o->wish);
		fprintf(results, "\n");
		fflush(results);
	}
	bench_store(&side->control->go, QUIT);
}

static void target(struct bench_side *s, const struct options *o)
{
	struct bench_control *c = s->control;
	uint64_t last = 0;
	for (;;) {
		bench_bound(s, UINT64_MAX, kBriefly);
		while (bench_load(&c->go) == last) {
			bench_poll(s);
			bench_idle(s);
		}
		last = bench_load(&c->go);
		if (last == QUIT)
			return;
		bench_bound(s, o->timeout_ns, kBriefly);
		const struct bench_row *row = o->row[c->row];
		if (row->prepare)
			row->prepare(s, row, c->count);
		bench_store(&c->ack, 2 * last - 1);
		bench_wait_word(s, &c->hello[0], last);
		bench_bound(s, o->timeout_ns, o->patience_ns);
		const long before = bench_switches(1);
		bench_store(&c->hello[1], last);
		row->target(s, row, c->count);
		c->disturbed = bench_switches(1) != before;
		bench_store(&c->ack, 2 * last);
	}
}

static pid_t start(const struct options *o, struct bench_control *control, int rank, size_t first, int results[2])
{
	const pid_t pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(results[0]);
	bench_stay_on(o->cpu[rank]);
	static struct bench_side s;
	bench_bound(&s, o->timeout_ns, kBriefly);
	bench_open(&s, o->provider, rank, control);
	if (rank == 0)
		origin(&s, o, first, fdopen(results[1], "w"));
	else
		target(&s, o);
	bench_bound(&s, o->timeout_ns, kBriefly);
	bench_close(&s);
	_exit(0);
}

/* --- supervising the pair ----------------------------------------------------------------------------------------- */

struct pair {
	pid_t pid[2]; /* 0 after it has ended */
	int code;     /* exit code of the first failure */
};

static void reap(struct pair *p, int flags)
{
	for (int r = 0; r < 2; r++) {
		int status;
		if (!p->pid[r] || waitpid(p->pid[r], &status, flags) != p->pid[r])
			continue;
		p->pid[r] = 0;
		const int code = WIFEXITED(status) ? WEXITSTATUS(status) : BENCH_FAILED;
		if (code && (!p->code || code == BENCH_ABSENT))
			p->code = code;
	}
}

/* SIGTERM first, because some providers remove their files in a signal handler. */
static void end_pair(struct pair *p)
{
	const int code = p->code;
	const int signals[] = {SIGTERM, SIGKILL};
	for (int k = 0; k < 2; k++) {
		for (int r = 0; r < 2; r++)
			if (p->pid[r])
				kill(p->pid[r], signals[k]);
		for (int wait = 0; wait < 20 && (p->pid[0] || p->pid[1]); wait++) {
			usleep(10000);
			reap(p, WNOHANG);
		}
	}
	reap(p, 0);
	p->code = code;
}

/* Copies result lines to stdout and returns how many rows are done. */
static size_t watch(struct pair *p, int fd, const struct options *o)
{
	size_t done = 0;
	uint64_t deadline = bench_now_ns() + 2 * o->timeout_ns;
	for (;;) {
		struct pollfd input = {.fd = fd, .events = POLLIN};
		char text[4096];
		const int ready = poll(&input, 1, 50);
		const ssize_t n = ready > 0 ? read(fd, text, sizeof text) : 0;
		for (ssize_t i = 0; i < n; i++)
			done += text[i] == '\n';
		if (n > 0) {
			fwrite(text, 1, (size_t)n, stdout);
			deadline = bench_now_ns() + 2 * o->timeout_ns;
			continue;
		}
		reap(p, WNOHANG);
		if (p->code || (!p->pid[0] && !p->pid[1]))
			return done;
		if (bench_now_ns() > deadline) {
			p->code = BENCH_TIMEOUT;
			return done;
		}
		if (ready > 0)
			usleep(2000); /* the writer has ended, and the other process is still closing */
	}
}

/* Runs rows from `first` on and returns the first one that is not done. */
static size_t run_pair(const struct options *o, size_t first)
{
	struct bench_control *control =
		mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int results[2];
	if (control == MAP_FAILED || pipe(results)) {
		perror("ofi_bench");
		exit(1);
	}
	fflush(stdout);
	struct pair p = {.code = 0};
	for (int r = 0; r < 2; r++)
		p.pid[r] = start(o, control, r, first, results);
	close(results[1]);
	size_t done = first + watch(&p, results[0], o);
	end_pair(&p);
	close(results[0]);
	munmap(control, sizeof *control);
	if (done < o->rows) {
		const char *why = p.code == BENCH_TIMEOUT ? "timeout" : p.code == BENCH_ABSENT ? "absent" : "error";
		const size_t until = p.code == BENCH_ABSENT ? o->rows : done + 1;
		for (; done < until; done++)
			printf("%s\t%s\n", o->row[done]->name, why);
	}
	fflush(stdout);
	return done;
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static void list_rows(void)
{
	for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
		for (size_t i = 0; i < families[f]->count; i++) {
			const struct bench_row *r = &families[f]->row[i];
			bench_list_row(r->name, r->group, bench_unit_names[r->unit], r->delivered, r->label);
		}
}

static void choose_rows(struct options *o)
{
	for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
		for (size_t i = 0; i < families[f]->count; i++)
			if (bench_selected(o->wish.rows, families[f]->row[i].name) && o->rows < MAX_ROWS)
				o->row[o->rows++] = &families[f]->row[i];
}

static void choose_cpus(struct options *o)
{
	for (int i = 0; i < 2; i++)
		o->cpu[i] = bench_core(0, i);
	if (o->cpu[1] < 0)
		o->patience_ns = 0; /* both processes share one core */
}

static int usage(int code)
{
	fprintf(code ? stderr : stdout, "usage: ofi_bench PROVIDER[:virt] [--rows A,B,...] [--samples N] [--sample-us "
					"N] [--timeout-ms N] [--quick]\n"
					"       ofi_bench --list\n"
					"Prints the samples of each row; ofi_compare makes a table of them. :virt asks "
					"for virtual addresses.\n");
	return code;
}

int main(int argc, char **argv)
{
	struct options o = {.wish = {.samples = 5, .row_ns = 1000000000u},
			    .sample_ns = 1000000,
			    .patience_ns = 5000000u,
			    .timeout_ns = 10000000000u};
	setenv("IPATH_NO_BACKTRACE", "1", 0); /* otherwise a library below libfabric would catch our signals */
	for (int i = 1; i < argc; i++) {
		const char *next = i + 1 < argc ? argv[i + 1] : "";
		if (bench_take_option(&o.wish, argc, argv, &i))
			continue;
		if (!strcmp(argv[i], "--list"))
			return list_rows(), 0;
		if (!strcmp(argv[i], "--help"))
			return usage(0);
		if (!strcmp(argv[i], "--sample-us"))
			o.sample_ns = strtoull(next, NULL, 10) * 1000, i++;
		else if (!strcmp(argv[i], "--timeout-ms"))
			o.timeout_ns = strtoull(next, NULL, 10) * 1000000, i++;
		else if (argv[i][0] != '-' && !o.provider)
			o.provider = argv[i];
		else
			return usage(2);
	}
	if (!o.provider || !o.wish.samples || !o.sample_ns || !o.timeout_ns)
		return usage(2);
	choose_rows(&o);
	choose_cpus(&o);
	for (size_t pos = 0; pos < o.rows;)
		pos = run_pair(&o, pos);
	return 0;
}
