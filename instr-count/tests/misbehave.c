/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * misbehave.c: the program the tests count. Its argument says how it behaves;
 * work() is always the same three or so instructions, so a count that changes
 * with the behaviour is the engine's mistake.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

volatile long sink;
static volatile sig_atomic_t ticks;
static volatile int *volatile nowhere = (volatile int *)8; /* volatile: the compiler may not know that it faults */

NOINLINE void work(void)
{
	sink++;
}
NOINLINE void never(void)
{
	sink--;
}
NOINLINE void exits(void)
{
	exit(0);
}
NOINLINE void crashes(void)
{
	*nowhere = 1;
}

/* A fault inside the counted call that a handler repairs. */
static sigjmp_buf back;
NOINLINE void faults(void)
{
	if (sigsetjmp(back, 1) == 0)
		*nowhere = 1;
}
static void repair(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}
static void tick(int sig)
{
	(void)sig;
	ticks++;
}

static void loop(unsigned n)
{
	while (n-- > 0)
		work();
}

static int with_alarm(void)
{
	struct itimerval every = {{0, 200}, {0, 200}};
	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &every, NULL);
	while (ticks < 50)
		work();
	memset(&every, 0, sizeof(every));
	setitimer(ITIMER_REAL, &every, NULL);
	return 0;
}

static int with_fork(void)
{
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		loop(10);
		_exit(0);
	}
	loop(30);
	waitpid(child, &status, 0);
	return status != 0 || system("exit 0") != 0;
}

/* Nothing of libm is loaded until here. */
static int with_dlopen(void)
{
	void *lib = dlopen("libm.so.6", RTLD_NOW);
	double (*cube_root)(double) = lib ? (double (*)(double))dlsym(lib, "cbrt") : NULL;
	if (!cube_root)
		return 1;
	for (int i = 0; i < 30; i++)
		sink += (long)cube_root(27.0);
	return 0;
}

static void *thread_loop(void *unused)
{
	loop(30);
	return unused;
}

/* asked to end, it begins one more, which nobody has seen */
static void leave_a_child(int sig)
{
	(void)sig;
	if (fork() != 0)
		_exit(0);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;
	if (strcmp(how, "never") == 0)
		return sink == 1 ? (never(), 0) : 0;
	if (strcmp(how, "crash") == 0)
		loop(5), crashes();
	if (strcmp(how, "exit3") == 0)
		return loop(30), 3;
	if (strcmp(how, "exit-inside") == 0)
		exits();
	if (strcmp(how, "alarm") == 0)
		return with_alarm();
	if (strcmp(how, "fork") == 0)
		return with_fork();
	if (strcmp(how, "dlopen") == 0)
		return with_dlopen();
	if (strcmp(how, "fault") == 0) {
		signal(SIGSEGV, repair);
		for (int i = 0; i < 10; i++)
			faults();
	}
	if (strcmp(how, "thread") == 0)
		return pthread_create(&thread, NULL, thread_loop, NULL) || pthread_join(thread, NULL);
	if (strcmp(how, "linger") == 0) /* long enough for an engine to notice that it has seen enough */
		return loop(30), sleep(1), 0;
	if (strcmp(how, "forever") == 0) {
		loop(30);
		fork(); /* a child that stays, too */
		for (;;)
			pause();
	}
	if (strcmp(how, "late") == 0) {
		signal(SIGTERM, leave_a_child);
		loop(30);
		for (;;)
			pause();
	}
	if (strcmp(how, "once") == 0)
		return loop(1), 0;
	loop(30);
	return 0;
}
