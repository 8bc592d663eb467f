/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times of collectives, of any OpenSHMEM: with 1.5 and later through teams, with an older one through active sets.
 *
 *	oshrun -n 4 shmem_coll_bench [--quick] [row ...]
 *
 * Prints one line per row: best and median microseconds of a call, as PE 0 sees them in a loop of calls that ends with a
 * barrier. A sample lasts about a millisecond; the best one is what the machine can do, the median is what it did.
 */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
#define HAVE_TEAMS 1
#endif

enum { kMostSamples = 60, kLargest = 1 << 20, kSums = 1 << 20 };

static char *g_source, *g_dest;
static int g_n;
static size_t g_bytes;
#ifndef HAVE_TEAMS
static long g_psync[2][SHMEM_COLLECT_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE + SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE];
static double *g_work;
static int g_turn;
#define PSYNC g_psync[g_turn++ & 1]
#endif

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void barrier(void) { shmem_barrier_all(); }
static void sync_all(void) { shmem_sync_all(); }
#ifdef HAVE_TEAMS
static void broadcast(void) { shmem_broadcastmem(SHMEM_TEAM_WORLD, g_dest, g_source, g_bytes, 0); }
static void fcollect(void) { shmem_fcollectmem(SHMEM_TEAM_WORLD, g_dest, g_source, g_bytes); }
static void alltoall(void) { shmem_alltoallmem(SHMEM_TEAM_WORLD, g_dest, g_source, g_bytes); }
static void sum(void)
{
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, (double *)(void *)g_dest, (double *)(void *)g_source, g_bytes / sizeof(double));
}
/* 64 teams that live at a time, then are destroyed; per team */
static void make(int start, int size)
{
    static shmem_team_t teams[64];
    for (int i = 0; i < 64; i++)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, start, 1, size, NULL, 0, &teams[i]);
    for (int i = 0; i < 64; i++)
        shmem_team_destroy(teams[i]);
}
static void duplicate(void) { make(0, g_n); }
static void lower_half(void) { make(0, (g_n + 1) / 2); }
static shmem_team_t g_made[64];
static void only_make(void)
{
    for (int i = 0; i < 64; i++)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, g_n, NULL, 0, &g_made[i]);
}
static void only_destroy(void)
{
    for (int i = 0; i < 64; i++)
        shmem_team_destroy(g_made[i]);
}
#else
static void broadcast(void) { shmem_broadcast64(g_dest, g_source, g_bytes / 8, 0, 0, 0, g_n, PSYNC); }
static void fcollect(void) { shmem_fcollect64(g_dest, g_source, g_bytes / 8, 0, 0, g_n, PSYNC); }
static void alltoall(void) { shmem_alltoall64(g_dest, g_source, g_bytes / 8, 0, 0, g_n, PSYNC); }
static void sum(void)
{
    shmem_double_sum_to_all((double *)(void *)g_dest, (double *)(void *)g_source, (int)(g_bytes / sizeof(double)), 0, 0, g_n,
                            g_work, PSYNC);
}
#endif

struct row {
    const char *name;
    void (*call)(void);
    void (*untimed)(void); /* after each call */
    size_t bytes;
    int per_call;
};

static const struct row kRows[] = {
    {"barrier_all", barrier, NULL, 0, 1},
    {"sync_all", sync_all, NULL, 0, 1},
    {"broadcast_8", broadcast, NULL, 8, 1},
    {"broadcast_1k", broadcast, NULL, 1024, 1},
    {"broadcast_8k", broadcast, NULL, 8192, 1},
    {"broadcast_64k", broadcast, NULL, 65536, 1},
    {"broadcast_1m", broadcast, NULL, kLargest, 1},
    {"fcollect_8", fcollect, NULL, 8, 1},
    {"fcollect_1k", fcollect, NULL, 1024, 1},
    {"fcollect_8k", fcollect, NULL, 8192, 1},
    {"fcollect_64k", fcollect, NULL, 65536, 1},
    {"fcollect_1m", fcollect, NULL, kLargest, 1},
    {"alltoall_8", alltoall, NULL, 8, 1},
    {"alltoall_1k", alltoall, NULL, 1024, 1},
    {"alltoall_8k", alltoall, NULL, 8192, 1},
    {"alltoall_64k", alltoall, NULL, 65536, 1},
    {"alltoall_1m", alltoall, NULL, kLargest, 1},
    {"sum_1", sum, NULL, 8, 1},
    {"sum_16", sum, NULL, 16 * 8, 1},
    {"sum_128", sum, NULL, 128 * 8, 1},
    {"sum_1024", sum, NULL, 1024 * 8, 1},
    {"sum_16k", sum, NULL, 16384 * 8, 1},
    {"sum_1m", sum, NULL, (size_t)kSums * 8, 1},
#ifdef HAVE_TEAMS
    {"team_make", only_make, only_destroy, 0, 64},
    {"team_duplicate", duplicate, NULL, 0, 64},
    {"team_half", lower_half, NULL, 0, 64},
#endif
};

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sample(const struct row *r, long count)
{
    double spent = 0;
    shmem_barrier_all();
    if (r->untimed) {
        for (long i = 0; i < count; i++) {
            const double start = now();
            r->call();
            spent += now() - start;
            r->untimed();
        }
        return spent / (double)count;
    }
    const double start = now();
    for (long i = 0; i < count; i++)
        r->call();
    shmem_barrier_all();
    return (now() - start) / (double)count;
}

static void measure(const struct row *r, int samples)
{
    static long count, agreed;
    double times[kMostSamples];
    g_bytes = r->bytes;
    const double once = (sample(r, 3), sample(r, 10));
    count = once > 0 ? (long)(1000 / once) : 1000;
    count = count < 4 ? 4 : count > 10000 ? 10000 : count;
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        for (int pe = 0; pe < g_n; pe++)
            shmem_long_p(&agreed, count, pe);
    shmem_barrier_all();
    const long each = agreed;
    for (int i = 0; i < samples; i++)
        times[i] = sample(r, each) / r->per_call;
    qsort(times, (size_t)samples, sizeof *times, by_value);
    if (shmem_my_pe() == 0) {
        printf("%-16s %4d %12.3f %12.3f\n", r->name, g_n, times[0], times[samples / 2]);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    int samples = 40, named = 0;
    shmem_init();
    g_n = shmem_n_pes();
    const size_t most = (size_t)kLargest * (size_t)g_n, sums = (size_t)kSums * sizeof(double);
    g_source = shmem_malloc(most > sums ? most : sums);
    g_dest = shmem_malloc(most > sums ? most : sums);
    if (!g_source || !g_dest)
        shmem_global_exit(1);
    memset(g_source, 0, most > sums ? most : sums);
    memset(g_dest, 0, most > sums ? most : sums);
#ifndef HAVE_TEAMS
    g_work = shmem_malloc(sums / 2 + 8 * (SHMEM_REDUCE_MIN_WRKDATA_SIZE + 1));
    for (size_t i = 0; i < sizeof g_psync[0] / sizeof(long); i++)
        g_psync[0][i] = g_psync[1][i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
#endif
    for (int a = 1; a < argc; a++) {
        if (!strcmp(argv[a], "--quick"))
            samples = 2;
        else
            named = 1;
    }
    if (shmem_my_pe() == 0)
        printf("%-16s %4s %12s %12s\n", "row", "PEs", "best us", "median us");
    for (size_t k = 0; k < sizeof kRows / sizeof *kRows; k++) {
        int wanted = !named;
        for (int a = 1; a < argc; a++)
            wanted |= !strncmp(argv[a], kRows[k].name, strlen(argv[a]));
        if (wanted)
            measure(&kRows[k], samples);
    }
    shmem_finalize();
    return 0;
}
