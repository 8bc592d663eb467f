/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * boot_probe.c: one PE of the multi-process tests; the first argument selects the action. Prints what a script can
 * check.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* affinity */
#endif
#include "pgas_boot.h"
#include <pgas/pgas_hostid.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int me, n;

#define CHECK_RANK me
#define CHECK_END(file_arg, line_arg) pgas_boot_abort(99, "probe failed")
#include "check.h"

/* The id of the job: rank 0 makes it and writes it to a file, which appears as a whole; the others wait for it. */
static int read_id(const char *path, unsigned char *id)
{
	FILE *file = fopen(path, "rb");
	const size_t got = file ? fread(id, 1, PGAS_BOOT_ID_BYTES, file) : 0;
	if (file)
		fclose(file);
	return got == PGAS_BOOT_ID_BYTES;
}

static int write_id(const char *path, const unsigned char *id)
{
	char fresh[600];
	snprintf(fresh, sizeof fresh, "%s.new", path);
	FILE *file = fopen(fresh, "wb");
	if (!file)
		return 0;
	const size_t put = fwrite(id, 1, PGAS_BOOT_ID_BYTES, file);
	return fclose(file) == 0 && put == PGAS_BOOT_ID_BYTES && rename(fresh, path) == 0;
}

/* Joins the job of the launcher. PROBE_ID: a job without one, PROBE_RANK of PROBE_SIZE; the id is in that file, the
 * next one of this process in the same with another number. */
static int join_job(void)
{
	static int jobs;
	unsigned char id[PGAS_BOOT_ID_BYTES];
	const char *name = getenv("PGAS_BOOT") ? NULL : getenv("PROBE_ID");
	const char *rank = getenv("PROBE_RANK"), *size = getenv("PROBE_SIZE");
	char path[512];
	if (!name || !rank || !size)
		return pgas_boot_init();
	snprintf(path, sizeof path, "%s.%d", name, jobs++);
	if (atoi(rank) == 0 && !getenv("PROBE_SERVED")) {
		if (pgas_boot_get_uniqueid(id) != 0 || !write_id(path, id))
			return -1;
	} else
		while (!read_id(path, id))
			usleep(10000);
	return pgas_boot_init_uniqueid(id, atoi(rank), atoi(size));
}

static unsigned char expected(int rank, size_t pos, int salt)
{
	return (unsigned char)(rank * 131 + pos * 7 + pos / 251 + (size_t)salt);
}

static void check_allgather(size_t bytes, int salt, int inside)
{
	unsigned char *all = malloc(bytes * (size_t)n + 1), *mine = malloc(bytes + 1);
	CHECK(all && mine);
	if (inside) {
		free(mine);
		mine = all + bytes * (size_t)me;
	}
	for (size_t i = 0; i < bytes; i++)
		mine[i] = expected(me, i, salt);
	CHECK(pgas_boot_allgather(mine, bytes, all) == 0);
	for (int r = 0; r < n; r++)
		for (size_t i = 0; i < bytes; i++)
			CHECK(all[(size_t)r * bytes + i] == expected(r, i, salt));
	if (!inside)
		free(mine);
	free(all);
}

static void check_kv(void)
{
	char key[32], text[64], got[64];
	for (int i = 0; i < 3; i++) {
		snprintf(key, sizeof key, "name%d", i);
		snprintf(text, sizeof text, "value %d = ; of %d\n", i, me);
		CHECK(pgas_boot_put(key, text, strlen(text) + 1) == 0);
	}
	CHECK(pgas_boot_put("empty", "", 0) == 0);
	size_t big_bytes = 5000;
	unsigned char *big = malloc(big_bytes);
	for (size_t i = 0; i < big_bytes; i++)
		big[i] = expected(me, i, 3);
	CHECK(pgas_boot_put("big", big, big_bytes) == 0);
	CHECK(pgas_boot_commit() == 0);
	CHECK(pgas_boot_fence() == 0);
	for (int r = 0; r < n; r++) {
		snprintf(text, sizeof text, "value 1 = ; of %d\n", r);
		CHECK(pgas_boot_get(r, "name1", got, sizeof got) == (ssize_t)strlen(text) + 1);
		CHECK(strcmp(got, text) == 0);
		CHECK(pgas_boot_get(r, "empty", got, sizeof got) == 0);
	}
	int next = (me + 1) % n;
	CHECK(pgas_boot_get(next, "big", big, big_bytes) == (ssize_t)big_bytes);
	for (size_t i = 0; i < big_bytes; i++)
		CHECK(big[i] == expected(next, i, 3));
	CHECK(pgas_boot_get(next, "big", got, 4) == (ssize_t)big_bytes);
	CHECK(pgas_boot_get(n, "big", got, 4) == -EINVAL);
	CHECK(pgas_boot_put("a key that is much too long to be accepted", "", 0) == -EINVAL);
	free(big);
}

static void check_local(void)
{
	int ranks[1024], count = pgas_boot_local(ranks, 1024), seen = 0;
	if (count == -ENOSYS)
		return;
	CHECK(count >= 1 && count <= n);
	char why[320];
	uint64_t mine = 0, *all = malloc(sizeof *all * (size_t)n);
	CHECK(pgas_host_id(&mine, why, sizeof why) == 0);
	CHECK(pgas_boot_allgather(&mine, sizeof mine, all) == 0);
	for (int i = 0; i < count; i++) {
		seen += ranks[i] == me;
		CHECK(all[ranks[i]] == mine);
	}
	CHECK(seen == 1);
	free(all);
}

static void check_env(void)
{
	if (me == 0)
		setenv("PGASTEST_SHARED", "from zero", 1);
	setenv("PGASTEST_OWN", me == 0 ? "zero" : "kept", 1);
	CHECK(pgas_boot_env_share("PGASTEST_") == 0);
	CHECK(pgas_boot_getenv("PGASTEST_SHARED") && strcmp(getenv("PGASTEST_SHARED"), "from zero") == 0);
	CHECK(strcmp(getenv("PGASTEST_OWN"), me == 0 ? "zero" : "kept") == 0);
	CHECK(pgas_boot_getenv("PGASTEST_ABSENT") == NULL);
}

static void everything(void)
{
	check_local();
	for (int i = 0; i < 20; i++)
		check_allgather(8, i, i & 1);
	check_allgather(0, 0, 0);
	check_allgather(1, 1, 0);
	check_allgather(777, 2, 1);
	check_kv();
	check_allgather(n > 8 ? 4000 : 40000, 3, 0);
	check_allgather(n > 8 ? 4000 : 40000, 4, 1);
	for (int i = 0; i < 50; i++)
		CHECK(pgas_boot_barrier() == 0);
	check_env();
}

/* milliseconds since the moment (CLOCK_MONOTONIC seconds) that a script put into PROBE_T0 */
static double since_start(void)
{
	struct timespec now;
	const char *t0 = getenv("PROBE_T0");
	clock_gettime(CLOCK_MONOTONIC, &now);
	return t0 ? ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 - atof(t0)) * 1e3 : 0;
}

static void hang(void)
{
	for (;;)
		pause();
}

/*
 * One PE is killed, and takes long to end, because the kernel waits a while for each of its inotify descriptors. A peer
 * sees the pipe closed in the middle of that, and gives up.
 */
static void fade(int who, const char *fifo)
{
	char byte;
	int end = -1;
	if (me == who) {
		for (int i = 0; i < 40; i++)
			inotify_init();
		end = open(fifo, O_WRONLY);
		for (int i = 0; i < 40; i++)
			inotify_init();
	} else if (me == 0)
		end = open(fifo, O_RDONLY);
	CHECK(pgas_boot_barrier() == 0);
	if (me == who)
		raise(SIGKILL);
	if (me == 0 && read(end, &byte, 1) == 0)
		pgas_boot_abort(7, "the peer went away");
	hang();
}

static void on_user(int sig)
{
	(void)sig;
	if (write(STDOUT_FILENO, "caught\n", 7) != 7)
		_exit(1);
}

/* Hangs in a way that the launcher asks about: rank `who` in the barrier, the others outside of calls. */
static void stay_apart(int who)
{
	printf("hanging %d\n", (int)getpid());
	fflush(stdout);
	if (me == who)
		pgas_boot_barrier();
	hang();
}

/* Forks a child that stops this process as a debugger does, until the child is killed. */
static void be_held(void)
{
	const pid_t held = getpid();
	int ready[2];
	char byte;
	CHECK(pipe(ready) == 0);
	if (fork() != 0) {
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		CHECK(write(ready[1], "", 1) == 1);
		usleep(100000); /* from now on it may be stopped */
		return;
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	if (ptrace(PTRACE_SEIZE, held, NULL, NULL) != 0 || ptrace(PTRACE_INTERRUPT, held, NULL, NULL) != 0) {
		printf("refused\n");
		fflush(stdout);
		_exit(0);
	}
	printf("not running: %d\n", (int)getpid());
	fflush(stdout);
	hang();
}

static void *spin(void *unused)
{
	for (volatile unsigned turns = 0;; turns++) {}
	return unused;
}

/*
 * Others take the CPU of this process until they are killed: sixteen threads on its only CPU, whose scheduling class
 * gives it a thousandth of what each of them gets.
 */
static void be_left_out(void)
{
	const struct sched_param none = {0};
	cpu_set_t before, one;
	CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
	const pid_t others = fork();
	if (others == 0) {
		pthread_t thread;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 1; i < 16; i++)
			CHECK(pthread_create(&thread, NULL, spin, NULL) == 0);
		spin(NULL);
	}
	printf("not running: %d\n", (int)others);
	fflush(stdout);
	CHECK(sched_setscheduler(0, SCHED_IDLE, &none) == 0);
	while (waitpid(others, NULL, WNOHANG) == 0) {}
	CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
}

/* One PE does not run for a while, and the others notice. */
static void stops(int who, const char *how)
{
	CHECK(!pgas_boot_is_stopped(-1) && !pgas_boot_is_stopped(n));
	CHECK(pgas_boot_barrier() == 0);
	if (me == who && how && strcmp(how, "held") == 0)
		be_held();
	else if (me == who && how && strcmp(how, "left-out") == 0)
		be_left_out();
	else if (me == who) {
		printf("not running: %d\n", (int)getpid());
		fflush(stdout);
		raise(SIGSTOP);
	} else
		for (int before = 0; before < 2; before++) {
			while (pgas_boot_is_stopped(who) == before)
				usleep(10000);
			printf("%d: %d %s\n", me, who, before ? "goes on" : "is stopped");
			fflush(stdout);
		}
	CHECK(pgas_boot_barrier() == 0);
	for (int r = 0; r < n; r++) /* on a crowded machine others, too, may get no CPU for a while */
		while (r != me && pgas_boot_is_stopped(r))
			usleep(10000);
}

/* A process that serves a job and is no member of it, until its standard input ends. */
static int serve(const char *path)
{
	unsigned char id[PGAS_BOOT_ID_BYTES];
	if (pgas_boot_get_uniqueid(id) != 0 || !write_id(path, id))
		return 95;
	while (getchar() != EOF) {}
	return 0;
}

/* Threads and descriptors of this process. */
static int count_entries(const char *folder)
{
	int count = 0;
	DIR *dir = opendir(folder);
	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

/* A process that leaves a job has what it had before. */
static void check_leftovers(void)
{
	CHECK(pgas_boot_finalize() == 0);
	for (int i = 0; i < 3; i++) {
		const int threads = count_entries("/proc/self/task"), files = count_entries("/proc/self/fd");
		CHECK(join_job() == 0 && pgas_boot_barrier() == 0);
		CHECK(pgas_boot_finalize() == 0);
		CHECK(count_entries("/proc/self/task") == threads && count_entries("/proc/self/fd") == files);
	}
	CHECK(join_job() == 0);
}

/* A child that outlives rank `who` has nothing of the job, and so does not hide that rank's end. */
static void leave_child(int who)
{
	if (me != who)
		return;
	if (fork() == 0) {
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		sleep(20);
		_exit(0);
	}
	raise(SIGKILL);
}

/* A PE's action between init and finalize. Returns the exit status. */
static int act(const char *what, int argc, char **argv)
{
	int who = argc > 2 ? atoi(argv[2]) : 0;
	if (strcmp(what, "all") == 0)
		everything();
	else if (strcmp(what, "hello") == 0)
		printf("PE %d of %d by %s\n", me, n, pgas_boot_launcher());
	else if (strcmp(what, "met") == 0) {
		CHECK(pgas_boot_barrier() == 0);
		printf("PE %d of %d by %s\n", me, n, pgas_boot_launcher());
	} else if (strcmp(what, "where") == 0) {
		int ranks[64], count = pgas_boot_local(ranks, 64);
		char line[512];
		int used = snprintf(line, sizeof line, "%d on %s beside", me,
				    getenv("FAKE_HOST") ? getenv("FAKE_HOST") : "-");
		for (int i = 0; i < count && i < 64; i++)
			used += snprintf(line + used, sizeof line - (size_t)used, " %d", ranks[i]);
		puts(line);
	} else if (strcmp(what, "apart") == 0) { /* local ranks share memory with us, and no others do */
		char why[320];
		uint64_t mine = 0, *all = malloc(sizeof *all * (size_t)n);
		int ranks[64], count = pgas_boot_local(ranks, 64), same = 0;
		CHECK(pgas_host_id(&mine, why, sizeof why) == 0 && count > 0 && count < 64);
		CHECK(pgas_boot_allgather(&mine, sizeof mine, all) == 0);
		for (int r = 0; r < n; r++)
			same += all[r] == mine;
		CHECK(same == count);
		for (int i = 0; i < count; i++)
			CHECK(all[ranks[i]] == mine);
		free(all);
	} else if (strcmp(what, "short") == 0) { /* one skips the last barrier, and ends successfully */
		if (me != who && pgas_boot_barrier() != 0)
			exit(97);
	} else if (strcmp(what, "crash") == 0 && me == who) {
		signal(SIGSEGV, SIG_DFL); /* a sanitizer would exit instead */
		raise(SIGSEGV);
	} else if (strcmp(what, "kill") == 0 && me == who)
		raise(SIGKILL);
	else if (strcmp(what, "forked") == 0)
		leave_child(who);
	else if (strcmp(what, "leftovers") == 0)
		check_leftovers();
	else if (strcmp(what, "exit") == 0 && me == who)
		exit(atoi(argv[3]));
	else if (strcmp(what, "abort") == 0 && me == who)
		pgas_boot_abort(atoi(argv[3]), argc > 4 ? argv[4] : NULL);
	else if (strcmp(what, "stop") == 0) { /* as abort, but the others are not in a barrier */
		CHECK(pgas_boot_barrier() == 0);
		if (me == who)
			pgas_boot_abort(atoi(argv[3]), argv[4]);
		hang();
	} else if (strcmp(what, "stops") == 0)
		stops(who, argc > 3 ? argv[3] : NULL);
	else if (strcmp(what, "fade") == 0)
		fade(who, argv[3]);
	else if (strcmp(what, "leave") == 0 && me == who)
		_exit(0);
	else if (strcmp(what, "stubborn") == 0) {
		signal(SIGTERM, SIG_IGN);
		if (me == who)
			_exit(3);
		hang();
	} else if (strcmp(what, "orphan") == 0) { /* a child in its own session, that no process group reaches */
		if (fork() == 0) {
			setsid();
			signal(SIGTERM, SIG_IGN);
			for (int fd = 0; fd < 3; fd++)
				close(fd);
			hang();
		}
	} else if (strcmp(what, "hang") == 0 || strcmp(what, "catch") == 0) {
		if (strcmp(what, "catch") == 0)
			signal(SIGUSR1, on_user);
		printf("hanging %d\n", (int)getpid());
		fflush(stdout);
		hang();
	} else if (strcmp(what, "lonely") == 0) {
		stay_apart(who);
	} else if (strcmp(what, "cat") == 0) {
		char line[256];
		while (fgets(line, sizeof line, stdin))
			printf("%d:%s", me, line);
	} else if (strcmp(what, "lines") == 0) {
		for (int i = 0; i < who; i++) {
			printf("begin %d %d ", me, i);
			fflush(stdout);
			printf("end\n");
			fflush(stdout);
			fprintf(stderr, "err %d %d\n", me, i);
		}
	} else if (strcmp(what, "cpus") == 0) {
		cpu_set_t set;
		sched_getaffinity(0, sizeof set, &set);
		printf("PE %d cpus %d first", me, CPU_COUNT(&set));
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &set)) {
				printf(" %d", cpu);
				break;
			}
		printf("\n");
	} else if (strcmp(what, "child") == 0) { /* the same program run by a PE is not that PE */
		fflush(stdout);
		CHECK(system("\"$PROBE\" hello") == 0);
	} else if (strcmp(what, "twice") == 0) {
		CHECK(pgas_boot_init() == 0 && pgas_boot_finalize() == 0);
		CHECK(pgas_boot_barrier() == 0);
		CHECK(pgas_boot_finalize() == 0 && pgas_boot_size() == 0);
		CHECK(join_job() == 0);
		everything();
	} else if (strcmp(what, "time") == 0) {
		double init_ms = since_start(), done_ms, *all = malloc(sizeof(double) * (size_t)n);
		char card[64] = "card", *cards = malloc(64 * (size_t)n);
		CHECK(pgas_boot_allgather(card, 64, cards) == 0 && pgas_boot_barrier() == 0);
		done_ms = since_start();
		CHECK(pgas_boot_allgather(&done_ms, sizeof done_ms, all) == 0);
		for (int r = 0; r < n; r++)
			done_ms = all[r] > done_ms ? all[r] : done_ms;
		if (me == 0)
			printf("%d PEs: first PE joined at %.1f ms, all met and exchanged at %.1f ms\n", n, init_ms,
			       done_ms);
		free(all);
		free(cards);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "all";
	if (strcmp(what, "early") == 0 && getenv("OSHRUN_RANK") && atoi(getenv("OSHRUN_RANK")) == 0)
		return 0; /* one PE never joins */
	if (strcmp(what, "serve") == 0)
		return serve(argc > 2 ? argv[2] : "");
	if (join_job() != 0)
		return 98;
	me = pgas_boot_rank();
	n = pgas_boot_size();
	int rc = act(what, argc, argv);
	if (strcmp(what, "crash") == 0 || strcmp(what, "kill") == 0 || strcmp(what, "exit") == 0 ||
	    strcmp(what, "abort") == 0 || strcmp(what, "leave") == 0 || strcmp(what, "early") == 0 ||
	    strcmp(what, "forked") == 0)
		if (pgas_boot_barrier() != 0) /* the others wait for one that never comes */
			return 97;
	if (pgas_boot_finalize() != 0)
		return 96;
	if (strcmp(what, "all") == 0 && me == 0)
		printf("ok %d\n", n);
	if (strcmp(what, "finexit") == 0)
		return argc > 2 ? atoi(argv[2]) : 0;
	return rc;
}
