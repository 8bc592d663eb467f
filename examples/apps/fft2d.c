/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fft2d: the Fourier transform of a square matrix of complex numbers whose rows are distributed over the PEs. Every PE
 * transforms its rows, all PEs transpose the matrix by one alltoall, and every PE transforms its new rows. The result
 * is transposed. Each PE compares some elements of its rows with the sum that defines them, over the whole matrix.
 *
 *	oshrun -n 4 ./fft2d [--variant host|staged|partition] [--partition ID] [SIZE]
 *
 * SIZE is a power of two, and a multiple of the number of PEs.
 */
#include "app.h"

#include <math.h>

static const char usage[] = "usage: fft2d [--variant host|staged|partition] [--partition ID] [SIZE]; SIZE is a power "
			    "of two and a multiple of the number of PEs";

struct number {
	double re, im;
};

struct fft {
	struct app app;
	long size, rows;             /* of the matrix; of this PE */
	struct array sent, received; /* sent: contiguous blocks to send to each PE; received: those that arrive */
	struct number *roots;        /* e^(-2 pi i k / size) */
};

static struct number times(struct number a, struct number b)
{
	return (struct number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Any function of row and column without a pattern will do. */
static struct number sample(long row, long column)
{
	uint64_t z = ((uint64_t)row << 32 ^ (uint64_t)column) * 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 29) * 0xbf58476d1ce4e5b9u;
	return (struct number){(double)(z >> 40) / (1 << 24) - 0.5, (double)(z >> 8 & 0xffffff) / (1 << 24) - 0.5};
}

/* One row in place: bits reversed, then pairs, fours, ... */
static void transform(const struct fft *f, struct number *row)
{
	for (long i = 1, j = 0; i < f->size; i++) {
		long bit = f->size >> 1;
		for (; j & bit; bit >>= 1)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			const struct number t = row[i];
			row[i] = row[j];
			row[j] = t;
		}
	}
	for (long half = 1; half < f->size; half *= 2)
		for (long addr = 0; addr < f->size; addr += 2 * half)
			for (long k = 0; k < half; k++) {
				struct number *a = row + addr + k, *b = a + half;
				const struct number t = times(*b, f->roots[k * (f->size / half / 2)]);
				*b = (struct number){a->re - t.re, a->im - t.im};
				*a = (struct number){a->re + t.re, a->im + t.im};
			}
}

/* The block for each PE, transposed: its rows will be my columns. */
static void pack(const struct fft *f, const struct number *matrix, struct number *blocks)
{
	for (int pe = 0; pe < f->app.n; pe++)
		for (long c = 0; c < f->rows; c++)
			for (long r = 0; r < f->rows; r++)
				*blocks++ = matrix[r * f->size + pe * f->rows + c];
}

static void unpack(const struct fft *f, const struct number *blocks, struct number *matrix)
{
	for (int pe = 0; pe < f->app.n; pe++)
		for (long r = 0; r < f->rows; r++)
			for (long c = 0; c < f->rows; c++)
				matrix[r * f->size + pe * f->rows + c] = *blocks++;
}

static void transpose(struct fft *f)
{
	const size_t block = (size_t)f->rows * (size_t)f->rows * sizeof(struct number);
	const double begin = seconds();
	array_send(&f->sent, 0, f->sent.bytes);
	/* before any PE begins, the destinations of all PEs must be unused and their blocks complete */
	shmem_barrier_all();
	shmem_alltoallmem(SHMEM_TEAM_WORLD, f->received.wire, f->sent.wire, block);
	array_received(&f->received, 0, f->received.bytes);
	f->app.exchange += seconds() - begin;
}

static void fft2d(struct fft *f, struct number *matrix)
{
	for (long r = 0; r < f->rows; r++)
		transform(f, matrix + r * f->size);
	pack(f, matrix, (struct number *)f->sent.host);
	array_write(&f->sent, 0, f->sent.bytes);
	transpose(f);
	array_read(&f->received, 0, f->received.bytes);
	unpack(f, (const struct number *)f->received.host, matrix);
	for (long r = 0; r < f->rows; r++)
		transform(f, matrix + r * f->size);
}

/* Elements spread over the rows of this PE; each sum has size * size terms. */
static double check(const struct fft *f, const struct number *matrix)
{
	double wrong = 0;
	for (long i = 0; i < 4; i++) {
		const long r = i * 7 % f->rows, c = (i * 31 + 5 + f->app.me) % f->size;
		const long v = c, u = f->app.me * f->rows + r; /* transposed: rows are what were columns */
		struct number sum = {0, 0};
		for (long row = 0; row < f->size; row++)
			for (long column = 0; column < f->size; column++) {
				const long k = (v * row + u * column) & (f->size - 1);
				const struct number t = times(sample(row, column), f->roots[k]);
				sum.re += t.re;
				sum.im += t.im;
			}
		const struct number got = matrix[r * f->size + c];
		wrong += fabs(got.re - sum.re) + fabs(got.im - sum.im) > 1e-9 * (double)f->size;
	}
	return wrong;
}

int main(int argc, char **argv)
{
	static struct fft f;
	app_start(&f.app, &argc, argv, usage);
	f.size = app_number(&f.app, argc, argv, 1, 128, usage);
	if (argc > 2 || (f.size & (f.size - 1)) || f.size % f.app.n || f.size > 1 << 20)
		app_usage(&f.app, usage);
	f.rows = f.size / f.app.n;
	const size_t cells = (size_t)f.rows * (size_t)f.size, bytes = cells * sizeof(struct number);
	array_open(&f.app, &f.sent, bytes);
	array_open(&f.app, &f.received, bytes);
	struct number *matrix = app_memory(malloc(bytes), bytes);
	f.roots = app_memory(malloc((size_t)f.size * sizeof *f.roots), (size_t)f.size * sizeof *f.roots);
	for (long k = 0; k < f.size; k++) {
		const double angle = -2 * 3.14159265358979323846 * (double)k / (double)f.size;
		f.roots[k] = (struct number){cos(angle), sin(angle)};
	}
	for (long r = 0; r < f.rows; r++)
		for (long c = 0; c < f.size; c++)
			matrix[r * f.size + c] = sample(f.app.me * f.rows + r, c);
	shmem_barrier_all();

	const double begin = seconds();
	fft2d(&f, matrix);
	shmem_barrier_all();
	const double total = seconds() - begin;

	const double wrong = check(&f, matrix);
	shmem_barrier_all();
	free(f.roots);
	free(matrix);
	array_close(&f.app, &f.received);
	array_close(&f.app, &f.sent);
	char sizes[32];
	snprintf(sizes, sizeof sizes, "size=%ld", f.size);
	const double n = (double)f.size;
	return app_finish(&f.app, "fft2d", sizes, total, "gflops", 1e-9 * 10 * n * n * log2(n), wrong);
}
