/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heat3d: heat spreads through a block whose opposite faces touch (periodic), by a seven-point stencil. The block is
 * cut in all three directions. In each step a PE puts its six faces into its neighbours' halos, by nonblocking puts
 * with signals, computes the points that need no halo, and then the rest. There are two halos for each face, because a
 * neighbour can be one step ahead, but not more. Waves that fit into the block decay by a known factor in each step:
 * every point of the result is compared with that.
 *
 *	oshrun -n 4 ./heat3d [--variant host|staged|partition] [--partition ID] [SIZE [STEPS]]
 */
#include "app.h"

#include <math.h>

static const char usage[] =
	"usage: heat3d [--variant host|staged|partition] [--partition ID] [SIZE [STEPS]]; SIZE must "
	"be divisible by the PEs of each direction, e.g. by 2 for 8 PEs, and at most 4096";

enum { FACES = 6 };

struct heat {
	struct app app;
	long size, steps;
	int grid[3], coords[3]; /* PEs in each direction; this PE's place */
	long points[3];         /* of this PE in each direction */
	int neighbour[FACES];   /* below and above in each direction */
	size_t face_bytes[FACES], face_off[FACES], halo_bytes;
	struct array block[2];         /* now and next, without halo */
	struct array out, received[2]; /* six contiguous faces; received: those of even and of odd steps */
};

static uint64_t came[FACES]; /* number of steps whose halo has arrived */

/* As cubic as possible: the smallest surface of a PE's part; 0: SIZE cannot be divided. */
static int choose_grid(struct heat *h)
{
	double best = 0;
	for (int x = 1; x <= h->app.n; x++)
		for (int y = 1; y <= h->app.n / x; y++) {
			const int z = h->app.n / x / y;
			if (x * y * z != h->app.n || h->size % x || h->size % y || h->size % z)
				continue;
			const double surface = (double)x + y + z;
			if (best == 0 || surface < best) {
				best = surface;
				h->grid[0] = x;
				h->grid[1] = y;
				h->grid[2] = z;
			}
		}
	return best != 0;
}

static int pe_at(const struct heat *h, const int item[3])
{
	return (item[0] * h->grid[1] + item[1]) * h->grid[2] + item[2];
}

static void place(struct heat *h)
{
	h->coords[0] = h->app.me / (h->grid[1] * h->grid[2]);
	h->coords[1] = h->app.me / h->grid[2] % h->grid[1];
	h->coords[2] = h->app.me % h->grid[2];
	for (int d = 0; d < 3; d++)
		h->points[d] = h->size / h->grid[d];
	for (int f = 0; f < FACES; f++) {
		const int d = f / 2;
		int there[3];
		memcpy(there, h->coords, sizeof there);
		there[d] = (there[d] + (f % 2 ? 1 : h->grid[d] - 1)) % h->grid[d];
		h->neighbour[f] = pe_at(h, there);
		h->face_bytes[f] = (size_t)(h->points[(d + 1) % 3] * h->points[(d + 2) % 3]) * sizeof(double);
		h->face_off[f] = h->halo_bytes;
		h->halo_bytes += h->face_bytes[f];
	}
}

static size_t index_of(const struct heat *h, long x, long y, long z)
{
	return (size_t)((x * h->points[1] + y) * h->points[2] + z);
}

/* The points of one face of the block, in the order x, y, z. */
static void pack_face(const struct heat *h, const double *block, int f, double *face)
{
	long src[3] = {0, 0, 0}, dst[3] = {h->points[0], h->points[1], h->points[2]};
	const int d = f / 2;
	src[d] = f % 2 ? h->points[d] - 1 : 0;
	dst[d] = src[d] + 1;
	for (long x = src[0]; x < dst[0]; x++)
		for (long y = src[1]; y < dst[1]; y++)
			for (long z = src[2]; z < dst[2]; z++)
				*face++ = block[index_of(h, x, y, z)];
}

/* A point in the halo: the faces are laid out as pack_face does. */
static double halo_at(const struct heat *h, const double *halo, int f, long x, long y, long z)
{
	const double *face = halo + h->face_off[f] / sizeof(double);
	switch (f / 2) {
	case 0:
		return face[y * h->points[2] + z];
	case 1:
		return face[x * h->points[2] + z];
	default:
		return face[x * h->points[1] + y];
	}
}

static const double kAlpha = 0.1; /* share of a point's heat that goes to each neighbour */

static double stencil(const struct heat *h, const double *now, const double *halo, long x, long y, long z)
{
	const double mid = now[index_of(h, x, y, z)];
	double sum = 0;
	for (int f = 0; f < FACES; f++) {
		long p[3] = {x, y, z};
		const int d = f / 2;
		p[d] += f % 2 ? 1 : -1;
		sum += p[d] < 0 || p[d] == h->points[d] ? halo_at(h, halo, f, x, y, z)
							: now[index_of(h, p[0], p[1], p[2])];
	}
	return mid + kAlpha * (sum - 6 * mid);
}

/* points whose neighbours are all local, without a test for each */
static void inner(const struct heat *h, const double *now, double *next)
{
	const long sx = h->points[1] * h->points[2], sy = h->points[2];
	for (long x = 1; x < h->points[0] - 1; x++)
		for (long y = 1; y < h->points[1] - 1; y++) {
			const double *row = now + index_of(h, x, y, 0);
			double *dst = next + index_of(h, x, y, 0);
			for (long z = 1; z < h->points[2] - 1; z++)
				dst[z] = row[z] + kAlpha * (row[z - sx] + row[z + sx] + row[z - sy] + row[z + sy] +
							    row[z - 1] + row[z + 1] - 6 * row[z]);
		}
}

static void outer(const struct heat *h, const double *now, const double *halo, double *next)
{
	for (long x = 0; x < h->points[0]; x++)
		for (long y = 0; y < h->points[1]; y++) {
			const int edge = x == 0 || x == h->points[0] - 1 || y == 0 || y == h->points[1] - 1;
			const long step = edge || h->points[2] == 1 ? 1 : h->points[2] - 1;
			for (long z = 0; z < h->points[2]; z += step)
				next[index_of(h, x, y, z)] = stencil(h, now, halo, x, y, z);
		}
}

static void send_faces(struct heat *h, struct array *halo)
{
	array_send(&h->out, 0, h->halo_bytes);
	for (int f = 0; f < FACES; f++) /* my lower face is the upper halo of the neighbour below */
		shmem_putmem_signal_nbi(halo->wire + h->face_off[f ^ 1], h->out.wire + h->face_off[f], h->face_bytes[f],
					&came[f ^ 1], 1, SHMEM_SIGNAL_ADD, h->neighbour[f]);
}

static void one_step(struct heat *h, long step)
{
	struct array *now = &h->block[step % 2], *next = &h->block[(step + 1) % 2], *halo = &h->received[step % 2];
	array_read(now, 0, now->bytes);
	for (int f = 0; f < FACES; f++)
		pack_face(h, (const double *)now->host, f, (double *)(h->out.host + h->face_off[f]));
	array_write(&h->out, 0, h->halo_bytes);
	double begin = seconds();
	send_faces(h, halo);
	h->app.exchange += seconds() - begin;
	inner(h, (const double *)now->host, (double *)next->host);
	begin = seconds();
	for (int f = 0; f < FACES; f++)
		shmem_signal_wait_until(&came[f], SHMEM_CMP_GE, (uint64_t)step + 1);
	array_received(halo, 0, h->halo_bytes);
	shmem_quiet(); /* the faces may be packed again */
	h->app.exchange += seconds() - begin;
	array_read(halo, 0, h->halo_bytes);
	outer(h, (const double *)now->host, (const double *)halo->host, (double *)next->host);
	array_write(next, 0, next->bytes);
}

/* Two waves: each decays by a factor of its own in each step. */
static double expected(const struct heat *h, const long item[3], long steps)
{
	static const int waves[2][3] = {{1, 2, 1}, {2, 1, 3}};
	double sum = 0;
	for (int w = 0; w < 2; w++) {
		double phase = 0.3, factor = 1;
		for (int d = 0; d < 3; d++) {
			const double turn = 2 * 3.14159265358979323846 * waves[w][d] / (double)h->size;
			phase += turn * (double)item[d];
			factor -= 2 * kAlpha * (1 - cos(turn));
		}
		sum += pow(factor, (double)steps) * cos(phase);
	}
	return sum;
}

/* Sets every point, or counts the points that are not close to their expected value. */
static double visit(struct heat *h, struct array *block, long steps, int set)
{
	double wrong = 0, *addr = (double *)block->host;
	for (long x = 0; x < h->points[0]; x++)
		for (long y = 0; y < h->points[1]; y++)
			for (long z = 0; z < h->points[2]; z++) {
				const long global[3] = {h->coords[0] * h->points[0] + x,
							h->coords[1] * h->points[1] + y,
							h->coords[2] * h->points[2] + z};
				const double value = expected(h, global, steps);
				if (set)
					addr[index_of(h, x, y, z)] = value;
				else
					wrong += !(fabs(addr[index_of(h, x, y, z)] - value) < 1e-9);
			}
	return wrong;
}

int main(int argc, char **argv)
{
	static struct heat h;
	app_start(&h.app, &argc, argv, usage);
	h.size = app_number(&h.app, argc, argv, 1, 24, usage);
	h.steps = app_number(&h.app, argc, argv, 2, 20, usage);
	if (argc > 3 || h.size > 4096 || h.steps > 100000 || !choose_grid(&h))
		app_usage(&h.app, usage);
	place(&h);
	const size_t bytes = (size_t)(h.points[0] * h.points[1] * h.points[2]) * sizeof(double);
	struct array *all[] = {&h.block[0], &h.block[1], &h.out, &h.received[0], &h.received[1]};
	for (int i = 0; i < 5; i++)
		array_open(&h.app, all[i], i < 2 ? bytes : h.halo_bytes);
	visit(&h, &h.block[0], 0, 1);
	array_write(&h.block[0], 0, bytes);
	shmem_barrier_all();

	const double begin = seconds();
	for (long step = 0; step < h.steps; step++)
		one_step(&h, step);
	shmem_barrier_all();
	const double total = seconds() - begin;

	struct array *last = &h.block[h.steps % 2];
	array_read(last, 0, bytes);
	const double wrong = visit(&h, last, h.steps, 0);
	shmem_barrier_all();
	for (int i = 4; i >= 0; i--)
		array_close(&h.app, all[i]);
	char sizes[96];
	snprintf(sizes, sizeof sizes, "size=%ld grid=%dx%dx%d steps=%ld", h.size, h.grid[0], h.grid[1], h.grid[2],
		 h.steps);
	const double n = (double)h.size;
	return app_finish(&h.app, "heat3d", sizes, total, "mpoints", 1e-6 * n * n * n * (double)h.steps, wrong);
}
