/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uniqueid: PEs without a launcher. Something else starts the processes, a shell for example, and tells each its rank
 * and their number. The id of the job passes through a file that all of them can read.
 *
 *	oshcc uniqueid.c -o uniqueid
 *	for rank in 0 1 2 3; do ./uniqueid $rank 4 id.bin & done; wait; rm id.bin
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static long from_left = -1;

/* The file appears under its name when it is complete. It has a secret in it: nobody else may read it. */
static int write_id(const char *path, const shmemx_uniqueid_t *id)
{
	char fresh[1000];
	snprintf(fresh, sizeof fresh, "%s.new", path);
	umask(077);
	FILE *file = fopen(fresh, "wb");
	if (!file)
		return 0;
	const int whole = fwrite(id, sizeof *id, 1, file) == 1;
	return fclose(file) == 0 && whole && rename(fresh, path) == 0;
}

static void read_id(const char *path, shmemx_uniqueid_t *id)
{
	size_t got = 0;
	while (got == 0) {
		FILE *file = fopen(path, "rb");
		if (file) {
			got = fread(id, sizeof *id, 1, file);
			fclose(file);
		}
		if (!got)
			sleep(1); /* rank 0 has not written it yet */
	}
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: %s RANK SIZE FILE\n", argv[0]);
		return 2;
	}
	const int rank = atoi(argv[1]), size = atoi(argv[2]);
	shmemx_uniqueid_t id;
	if (rank != 0)
		read_id(argv[3], &id);
	else if (shmemx_get_uniqueid(&id) != 0 || !write_id(argv[3], &id))
		return 1;
	if (shmemx_init_uniqueid(&id, rank, size) != 0)
		return 1; /* a line has said why */

	shmem_long_p(&from_left, rank, (rank + 1) % size);
	shmem_barrier_all();
	printf("PE %d of %d; PE %ld is on my left\n", shmem_my_pe(), shmem_n_pes(), from_left);
	const int good = from_left == (rank + size - 1) % size;
	shmem_finalize();
	return good ? 0 : 1;
}
