/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A team of processes per test case, and time. The CMocka process itself never opens anything: every case runs in fresh
 * children, so a crash or a hang affects one case only, FI_PGAS_* can differ from case to case, and nothing is left
 * behind (children die with their parent).
 */
#ifndef TESTS_TEAM_H
#define TESTS_TEAM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <cmocka.h>
#include <rdma/fi_errno.h>

int team_rank(void); /* -1 in the CMocka process */
void team_fail(const char *file, int line) __attribute__((noreturn));

/* A check that fails ends a child, whose status the CMocka process sees; there it fails the case. */
#define CHECK_RANK team_rank()
#define CHECK_END(file_arg, line_arg) team_fail(file_arg, line_arg)
#define CHECK_ERROR_TEXT(code_arg) fi_strerror(-(code_arg))
#include "check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SLOW 1 /* a sanitizer makes everything several times slower */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SLOW 1
#endif
#endif
#ifndef TEST_SLOW
#define TEST_SLOW 0
#endif

#define TEAM_MAX 64
#define ARRAY_SIZE(a_arg) (sizeof(a_arg) / sizeof((a_arg)[0]))

typedef void (*team_fn)(int rank, void *arg);

/*
 * Runs fn in `size` children and asserts that all end successfully. env: "NAME=VALUE" strings, NULL at the end, or
 * NULL. With TEST_ONE_PROCESS=1 in the environment the ranks are threads of one child: this gives the loopback wire,
 * which reaches no other process, a whole team (prov/pgas/tests/run_loop.sh).
 */
void team_run(int size, team_fn fn, void *arg);
void team_run_env(int size, team_fn fn, void *arg, const char *const *env);

/* For the start of a case that relies on what only stores can do: a transfer that has completed, or failed for good,
 * when the call returns. Over the loopback wire and the link the case is skipped, and run_loop.sh and run_net.sh say
 * so. */
#define ONLY_AT_ONCE()                                                                                                 \
	do {                                                                                                           \
		if (team_in_one_process() || team_over_link())                                                         \
			skip();                                                                                        \
	} while (0)
bool team_in_one_process(void);
bool team_over_link(void); /* FI_PGAS_TEST_HOSTS=1: the ranks act as on different hosts */

struct node;
int team_size(void);
void team_barrier(struct node *progress); /* all living ranks; polls the node's queues meanwhile when it is not NULL */
/* All ranks' `len` bytes by rank, at most TEAM_PIECE_BYTES each; a collective call of the team. */
void team_exchange(struct node *progress, const void *mine, size_t len, void *all);
#define TEAM_PIECE_BYTES 64
void *team_shared(void); /* 4 MiB, zero at the start of the case */
pid_t team_pid(int rank);
void team_mark_victim(int rank); /* this rank may end by SIGKILL; barriers continue without it */
void team_kill(int rank);        /* marks and kills; returns when the process is gone */
void team_init(void);            /* once, before CMocka takes the signals */

double now_s(void);
/* the time, by now_s(), after which a pending wait counts as hung; hang_ms() is the same as a timeout */
double hang_end(void);
int hang_ms(void);
double patience(void); /* how many times longer than on an idle machine "soon" may take now; 1 on an idle one */
double cpu_s(void);
void sleep_ms(int ms);
/* A number that the environment may override, for limits that depend on the machine. */
double limit_of(const char *name, double standard);
int open_fds(void); /* descriptors of this process */

#endif /* TESTS_TEAM_H */
