/* SPDX-License-Identifier: BSD-3-Clause */
/* See team.h. The processes of a team share one anonymous mapping, made before they are forked. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "team.h"
#include "node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEAM_SHARED_BYTES (4u << 20)
#define HANG_SECONDS 60

struct team {
	uint32_t members; /* ranks that barriers wait for */
	uint32_t arrived;
	uint32_t generation;
	uint32_t victim[TEAM_MAX];
	pid_t pid[TEAM_MAX];
	char piece[TEAM_MAX][TEAM_PIECE_BYTES];
	char shared[TEAM_SHARED_BYTES];
};

static struct team *g_team;
static int g_size;
static _Thread_local int g_rank = -1; /* per thread: see team_in_one_process() */
static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS};
static struct sigaction g_fatal[ARRAY_SIZE(fatal_signals)]; /* from before CMocka took them */

void team_init(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(fatal_signals); i++)
		sigaction(fatal_signals[i], NULL, &g_fatal[i]);
}

void team_fail(const char *file, int line)
{
	if (g_rank < 0) {
		_fail(file, line);
		abort();
	}
	_exit(9);
}

/* --- time --------------------------------------------------------------------------------------------------------- */

static double seconds(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double now_s(void)
{
	return seconds(CLOCK_MONOTONIC);
}

/* The value of TEST_SLOW in the environment: hang limits are this many times the maximum that an idle machine needs. */
static int slowness(void)
{
	const char *text = getenv("TEST_SLOW");
	const int times = text ? atoi(text) : 0;
	return times < 1 ? 5 : times > 1000 ? 1000 : times;
}

int hang_ms(void)
{
	return HANG_SECONDS * 1000 * slowness();
}

double hang_end(void)
{
	return now_s() + hang_ms() / 1000.0;
}

double patience(void)
{
	const char *text = getenv("TEST_SLOW");
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	double average = 0, most = text && atoi(text) > 5 ? atoi(text) / 5.0 : 1; /* a machine that is always slow */
	int running = 0;
	FILE *f = fopen("/proc/loadavg", "r");
	if (f) { /* the average of the last minute, and what is running now */
		if (fscanf(f, "%lf %*f %*f %d", &average, &running) != 2)
			average = 0;
		fclose(f);
	}
	if (running > average)
		average = running;
	if (cpus > 0 && average / (double)cpus > most)
		most = average / (double)cpus;
	return TEST_SLOW ? 2 * most : most;
}

double cpu_s(void)
{
	return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

void sleep_ms(int ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
	while (nanosleep(&t, &t) != 0 && errno == EINTR) {}
}

double limit_of(const char *name, double standard)
{
	const char *text = getenv(name);
	char *end = NULL;
	const double value = text ? strtod(text, &end) : standard;
	return text && (end == text || *end || !(value > 0)) ? standard : value;
}

int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;
	CHECK(d != NULL);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 3; /* ".", "..", and the directory itself */
}

/* --- team --------------------------------------------------------------------------------------------------------- */

int team_rank(void)
{
	return g_rank;
}

int team_size(void)
{
	return g_size;
}

void *team_shared(void)
{
	return g_team->shared;
}

pid_t team_pid(int rank)
{
	return g_team->pid[rank];
}

void team_mark_victim(int rank)
{
	if (!__atomic_exchange_n(&g_team->victim[rank], 1, __ATOMIC_SEQ_CST))
		__atomic_fetch_sub(&g_team->members, 1, __ATOMIC_SEQ_CST);
}

static bool process_gone(pid_t pid)
{
	char path[64], text[256] = {0};
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	const ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	const char *p = n > 0 ? strrchr(text, ')') : NULL;
	return !p || p[2] == 'Z' || p[2] == 'X';
}

void team_kill(int rank)
{
	team_mark_victim(rank);
	kill(g_team->pid[rank], SIGKILL);
	while (!process_gone(g_team->pid[rank]))
		sleep_ms(1);
}

static void meet_all(struct node *progress)
{
	struct team *t = g_team;
	const uint32_t generation = __atomic_load_n(&t->generation, __ATOMIC_ACQUIRE);
	__atomic_fetch_add(&t->arrived, 1, __ATOMIC_ACQ_REL);
	for (int polls = 0; __atomic_load_n(&t->generation, __ATOMIC_ACQUIRE) == generation; polls++) {
		/* whichever rank sees all present opens the barrier; a member may die while the others wait */
		uint32_t here = __atomic_load_n(&t->arrived, __ATOMIC_ACQUIRE);
		if (here >= __atomic_load_n(&t->members, __ATOMIC_ACQUIRE) &&
		    __atomic_load_n(&t->generation, __ATOMIC_ACQUIRE) == generation &&
		    __atomic_compare_exchange_n(&t->arrived, &here, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			__atomic_fetch_add(&t->generation, 1, __ATOMIC_ACQ_REL);
			return;
		}
		if (progress)
			node_poll(progress);
		if (polls < 1000)
			sched_yield();
		else
			usleep(50);
	}
}

void team_barrier(struct node *progress)
{
	meet_all(progress);
#if defined(__SANITIZE_THREAD__)
	if (progress) /* sees what the service thread wrote before another process knew of it; see node_poll() */
		node_poll(progress);
#endif
}

void team_exchange(struct node *progress, const void *mine, size_t len, void *all)
{
	CHECK(len <= TEAM_PIECE_BYTES);
	memcpy(g_team->piece[g_rank], mine, len);
	team_barrier(progress);
	for (int i = 0; i < g_size; i++)
		memcpy((char *)all + (size_t)i * len, g_team->piece[i], len);
	team_barrier(progress);
}

/* The first steps of a fresh child. */
static void child_begin(int rank, pid_t parent, const char *const *env)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (size_t i = 0; i < ARRAY_SIZE(fatal_signals); i++)
		/* a child that crashes ends, and runs no other case */
		sigaction(fatal_signals[i], &g_fatal[i], NULL);
	g_rank = rank;
	alarm((unsigned)(2 * hang_ms() / 1000)); /* a wait that hangs reports where; this is for other hangs */
	for (; env && *env; env++) {
		char *copy = strdup(*env);
		char *eq = strchr(copy, '=');
		*eq = 0;
		setenv(copy, eq + 1, 1);
		free(copy);
	}
}

static void child(int rank, pid_t parent, team_fn fn, void *arg, const char *const *env)
{
	child_begin(rank, parent, env);
	g_team->pid[rank] = getpid();
	team_barrier(NULL); /* every pid is known */
	fn(rank, arg);
	fflush(NULL);
	exit(0); /* leak checkers run at exit */
}

/* --- a team in one process: its ranks are threads ----------------------------------------------------------------- */

struct rank_thread {
	pthread_t thread;
	int rank;
	team_fn fn;
	void *arg;
};

static void *rank_run(void *arg)
{
	const struct rank_thread *t = arg;
	g_rank = t->rank;
	g_team->pid[t->rank] = getpid();
	team_barrier(NULL);
	t->fn(t->rank, t->arg);
	return NULL;
}

static void child_of_threads(pid_t parent, int size, team_fn fn, void *arg, const char *const *env)
{
	struct rank_thread ranks[TEAM_MAX];
	child_begin(0, parent, env);
	for (int i = 0; i < size; i++) {
		ranks[i] = (struct rank_thread){.rank = i, .fn = fn, .arg = arg};
		CHECK_EQ(pthread_create(&ranks[i].thread, NULL, rank_run, &ranks[i]), 0);
	}
	for (int i = 0; i < size; i++)
		CHECK_EQ(pthread_join(ranks[i].thread, NULL), 0);
	fflush(NULL);
	exit(0);
}

bool team_over_link(void)
{
	const char *target = getenv("FI_PGAS_TEST_HOSTS");
	return target && strcmp(target, "1") == 0;
}

bool team_in_one_process(void)
{
	const char *text = getenv("TEST_ONE_PROCESS");
	return text && strcmp(text, "1") == 0;
}

void team_run(int size, team_fn fn, void *arg)
{
	team_run_env(size, fn, arg, NULL);
}

/* Returns whether a rank ended successfully, and reports it if not. */
static bool ended_well(int rank, int status, bool say)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
	    __atomic_load_n(&g_team->victim[rank], __ATOMIC_ACQUIRE))
		return true;
	if (say && WIFSIGNALED(status))
		fprintf(stderr, "rank %d ended by signal %d%s\n", rank, WTERMSIG(status),
			WTERMSIG(status) == SIGALRM ? " (it took too long)" : "");
	else if (say)
		fprintf(stderr, "rank %d ended with status %d\n", rank, WEXITSTATUS(status));
	return false;
}

/* Returns how many ranks failed. The first is reported; the others would wait for it, so they are killed. */
static int wait_for_all(pid_t *pids, int size)
{
	int bad = 0;
	for (int left = size; left > 0;) {
		int status, rank = -1;
		const pid_t pid = waitpid(-1, &status, 0);
		if (pid < 0)
			break;
		for (int i = 0; i < size; i++)
			if (pids[i] == pid)
				rank = i;
		if (rank < 0)
			continue;
		left--;
		pids[rank] = 0;
		if (ended_well(rank, status, bad == 0))
			continue;
		for (int i = 0; !bad && i < size; i++)
			if (pids[i])
				kill(pids[i], SIGKILL);
		bad++;
	}
	return bad;
}

void team_run_env(int size, team_fn fn, void *arg, const char *const *env)
{
	struct team *const outer = g_team; /* a child may start its own team */
	const int outer_size = g_size;
	const pid_t parent = getpid();
	pid_t pids[TEAM_MAX];
	CHECK(size >= 1 && size <= TEAM_MAX);
	g_team = mmap(NULL, sizeof *g_team, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(g_team != MAP_FAILED);
	g_team->members = (uint32_t)size;
	g_size = size;
	fflush(NULL);
	const bool threads = team_in_one_process();
	const int children = threads ? 1 : size;
	for (int i = 0; i < children; i++) {
		pids[i] = fork();
		CHECK(pids[i] >= 0);
		if (pids[i] == 0 && threads)
			child_of_threads(parent, size, fn, arg, env);
		if (pids[i] == 0)
			child(i, parent, fn, arg, env);
	}
	const int bad = wait_for_all(pids, children);
	munmap(g_team, sizeof *g_team);
	g_team = outer;
	g_size = outer_size;
	CHECK_EQ(bad, 0);
}
