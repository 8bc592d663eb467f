/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cannon: the product of two square matrices by a ring. Every PE has some rows of each matrix. It multiplies with the
 * rows of the second matrix that it currently has while a nonblocking get fetches those of its neighbour; after as many
 * steps as there are PEs all rows have been everywhere. The numbers are small integers, so sums are exact, and the
 * product C is right when C x = A (B x) for random x, to the last bit.
 *
 *	oshrun -n 4 ./cannon [--variant host|staged|partition] [--partition ID] [SIZE]
 */
#include "app.h"

static const char usage[] = "usage: cannon [--variant host|staged|partition] [--partition ID] [SIZE]; SIZE is at least "
			    "the number of PEs, and at most 100000";

struct cannon {
	struct app app;
	long size, first, rows;
	struct array a, c;
	struct array b[2]; /* the current rows, and the arriving ones */
};

static double a_of(long row, long column)
{
	return (double)((row * 7 + column * 13 + row * column % 5) % 11 - 5);
}

static double b_of(long row, long column)
{
	return (double)((row * 3 + column * 17 + row * column % 7) % 9 - 4);
}

static void fill(const struct cannon *x, struct array *dst, double (*owner)(long, long))
{
	double *addr = (double *)dst->host;
	for (long r = 0; r < x->rows; r++)
		for (long c = 0; c < x->size; c++)
			addr[r * x->size + c] = owner(x->first + r, c);
	array_write(dst, 0, dst->bytes);
}

/* my rows of A, only the columns that match the rows of B of PE `owner`, times those rows */
static void multiply(struct cannon *x, const double *b, int owner)
{
	const double *a = (const double *)x->a.host;
	double *c = (double *)x->c.host;
	long first;
	const long rows = rows_of(x->size, x->app.n, owner, &first);
	for (long i = 0; i < x->rows; i++)
		for (long k = 0; k < rows; k++) {
			const double factor = a[i * x->size + first + k];
			const double *row = b + k * x->size;
			double *sum = c + i * x->size;
			for (long j = 0; j < x->size; j++)
				sum[j] += factor * row[j];
		}
}

static void product(struct cannon *x)
{
	const int n = x->app.n, right = (x->app.me + 1) % n;
	double begin = seconds();
	array_send(&x->b[0], 0, x->b[0].bytes);
	shmem_barrier_all();
	x->app.exchange += seconds() - begin;
	for (int step = 0; step < n; step++) {
		struct array *now = &x->b[step % 2], *coming = &x->b[(step + 1) % 2];
		begin = seconds();
		if (step < n - 1)
			shmem_getmem_nbi(coming->wire, now->wire, now->bytes, right);
		x->app.exchange += seconds() - begin;
		array_read(now, 0, now->bytes);
		multiply(x, (const double *)now->host, (x->app.me + step) % n);
		begin = seconds();
		shmem_quiet();
		if (step < n - 1)
			array_received(coming, 0, coming->bytes);
		shmem_barrier_all(); /* the left neighbour has my rows, and the right one those that I get next */
		x->app.exchange += seconds() - begin;
	}
	array_write(&x->c, 0, x->c.bytes);
}

static double check(struct cannon *x, unsigned seed)
{
	const size_t bytes = (size_t)x->size * sizeof(double);
	double *vector = app_memory(malloc(bytes), bytes), *image = app_memory(calloc(1, bytes), bytes);
	const double *c = (const double *)x->c.host;
	double wrong = 0;
	for (long i = 0; i < x->size; i++) {
		seed = seed * 1103515245u + 12345u;
		vector[i] = (double)(seed >> 16 & 7) - 3;
	}
	for (long i = 0; i < x->size; i++)
		for (long j = 0; j < x->size; j++)
			image[i] += b_of(i, j) * vector[j];
	array_read(&x->c, 0, x->c.bytes);
	for (long r = 0; r < x->rows; r++) {
		double left = 0, right = 0;
		for (long j = 0; j < x->size; j++) {
			left += c[r * x->size + j] * vector[j];
			right += a_of(x->first + r, j) * image[j];
		}
		wrong += left != right;
	}
	free(image);
	free(vector);
	return wrong;
}

int main(int argc, char **argv)
{
	static struct cannon x;
	app_start(&x.app, &argc, argv, usage);
	x.size = app_number(&x.app, argc, argv, 1, 180, usage);
	if (argc > 2 || x.size < x.app.n || x.size > 100000)
		app_usage(&x.app, usage);
	x.rows = rows_of(x.size, x.app.n, x.app.me, &x.first);
	const long most = (x.size + x.app.n - 1) / x.app.n;
	const size_t bytes = (size_t)most * (size_t)x.size * sizeof(double);
	struct array *all[] = {&x.a, &x.c, &x.b[0], &x.b[1]};
	for (int i = 0; i < 4; i++)
		array_open(&x.app, all[i], bytes);
	fill(&x, &x.a, a_of);
	fill(&x, &x.b[0], b_of);
	shmem_barrier_all();

	const double begin = seconds();
	product(&x);
	const double total = seconds() - begin;

	double wrong = 0;
	for (unsigned seed = 1; seed < 4; seed++)
		wrong += check(&x, seed);
	shmem_barrier_all();
	for (int i = 3; i >= 0; i--)
		array_close(&x.app, all[i]);
	char sizes[32];
	snprintf(sizes, sizeof sizes, "size=%ld", x.size);
	const double n = (double)x.size;
	return app_finish(&x.app, "cannon", sizes, total, "gflops", 2e-9 * n * n * n, wrong);
}
