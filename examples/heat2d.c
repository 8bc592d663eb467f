/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heat2d: heat spreads over a plate that is split into strips of rows. In each step a PE puts its first and last row
 * into its neighbours' ghost rows, together with a signal; a PE waits only for its two neighbours. Afterwards one PE
 * does the same work alone, and both results must agree to the bit: the order of additions is the same.
 *
 * 	oshrun -n 4 ./heat2d [SIZE [STEPS]]
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct strip {
	int columns, rows;  /* of this strip, without the two ghost rows */
	int first;          /* number of its first row in the plate */
	double *now, *next; /* (rows + 2) x columns, symmetric: every PE allocates the largest strip */
};

static uint64_t from_above, from_below; /* number of steps whose ghost row has arrived */

static double *row_of(double *addr, const struct strip *s, int row)
{
	return addr + (size_t)row * (size_t)s->columns;
}

/* The left edge is hot, everything else is cold. */
static void start(struct strip *s)
{
	for (int r = 0; r < s->rows + 2; r++)
		for (int c = 0; c < s->columns; c++)
			row_of(s->now, s, r)[c] = row_of(s->next, s, r)[c] = c == 0 ? 100.0 : 0.0;
}

static void relax(struct strip *s, int size)
{
	for (int r = 1; r <= s->rows; r++) {
		const int global = s->first + r - 1;
		const double *up = row_of(s->now, s, r - 1), *mid = row_of(s->now, s, r),
			     *down = row_of(s->now, s, r + 1);
		double *dst = row_of(s->next, s, r);
		if (global == 0 || global == size - 1)
			continue; /* the edge of the plate keeps its temperature */
		for (int c = 1; c < s->columns - 1; c++)
			dst[c] = 0.25 * (up[c] + down[c] + mid[c - 1] + mid[c + 1]);
	}
	double *t = s->now;
	s->now = s->next;
	s->next = t;
}

static int rows_of(int size, int n, int pe, int *first)
{
	const int each = size / n, more = size % n;
	*first = pe * each + (pe < more ? pe : more);
	return each + (pe < more);
}

static void parallel(struct strip *s, int size, int steps)
{
	const int me = shmem_my_pe(), n = shmem_n_pes();
	for (int step = 1; step <= steps; step++) {
		if (me > 0) { /* my first row is the ghost row after the last row of the PE above me */
			int unused;
			const int rows_above = rows_of(size, n, me - 1, &unused);
			shmem_double_put_signal(row_of(s->now, s, rows_above + 1), row_of(s->now, s, 1),
						(size_t)s->columns, &from_below, 1, SHMEM_SIGNAL_ADD, me - 1);
		}
		if (me < n - 1)
			shmem_double_put_signal(s->now, row_of(s->now, s, s->rows), (size_t)s->columns, &from_above, 1,
						SHMEM_SIGNAL_ADD, me + 1);
		if (me > 0)
			shmem_signal_wait_until(&from_above, SHMEM_CMP_GE, (uint64_t)step);
		if (me < n - 1)
			shmem_signal_wait_until(&from_below, SHMEM_CMP_GE, (uint64_t)step);
		relax(s, size);
	}
}

/* PE 0 fetches all strips and compares them with what one PE computes. */
static int compare(const struct strip *mine, int size, int steps)
{
	const size_t cells = (size_t)size * (size_t)size, ghosts = cells + 2 * (size_t)size;
	double *plate = malloc(cells * sizeof *plate);
	struct strip whole = {size, size, 0, calloc(ghosts, sizeof(double)), calloc(ghosts, sizeof(double))};
	if (!plate || !whole.now || !whole.next)
		return 1;
	double *const a = whole.now, *const b = whole.next;
	for (int pe = 0; pe < shmem_n_pes(); pe++) {
		int first;
		const int rows = rows_of(size, shmem_n_pes(), pe, &first);
		shmem_double_get(plate + (size_t)first * (size_t)size, row_of(mine->now, mine, 1),
				 (size_t)rows * (size_t)size, pe);
	}
	start(&whole);
	for (int step = 0; step < steps; step++)
		relax(&whole, size);
	const int same = memcmp(plate, whole.now + size, cells * sizeof *plate) == 0;
	if (same)
		printf("%d x %d, %d steps, %d PEs: %.6f beside the hot edge, as computed by one PE\n", size, size,
		       steps, shmem_n_pes(), plate[(size_t)(size / 2) * (size_t)size + 1]);
	else
		fprintf(stderr, "the plate is not what one PE computes\n");
	free(a);
	free(b);
	free(plate);
	return !same;
}

int main(int argc, char **argv)
{
	const int size = argc > 1 ? atoi(argv[1]) : 200, steps = argc > 2 ? atoi(argv[2]) : 100;
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes();
	if (size < n || size < 3 || steps < 1) {
		if (me == 0)
			fprintf(stderr,
				"usage: heat2d [SIZE [STEPS]]; SIZE at least 3 and at least the number of PEs\n");
		shmem_finalize();
		return 2;
	}
	struct strip s = {.columns = size};
	s.rows = rows_of(size, n, me, &s.first);
	const size_t bytes = (size_t)(size / n + 3) * (size_t)size * sizeof(double);
	double *const a = s.now = shmem_malloc(bytes), *const b = s.next = shmem_malloc(bytes);
	if (!a || !b)
		shmem_global_exit(1);
	start(&s);
	shmem_barrier_all();
	parallel(&s, size, steps);
	shmem_barrier_all();
	const int wrong = me == 0 ? compare(&s, size, steps) : 0;
	shmem_barrier_all();
	shmem_free(b);
	shmem_free(a);
	shmem_finalize();
	return wrong;
}
