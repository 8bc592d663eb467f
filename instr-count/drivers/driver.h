/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * driver.h: shared by all drivers. A driver repeats one operation and does nothing else worth counting; the engine sets
 * the number.
 */
#ifndef INSTR_COUNT_DRIVER_H
#define INSTR_COUNT_DRIVER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pgas_mark.h"

/* Keeps operands in argument registers, as a caller would have them: the compiler must not make a copy that knows their
 * values. */
#ifdef __clang__
#define DRIVER_NOINLINE __attribute__((noinline, used))
#else
#define DRIVER_NOINLINE __attribute__((noipa))
#endif

/* Exit status: what this driver measures does not exist on this machine. */
#define DRIVER_NOT_HERE 77

/* Engines set INSTR_COUNT_CALLS to warm-up plus counted calls. */
static inline unsigned driver_calls(void)
{
	const char *text = getenv("INSTR_COUNT_CALLS");
	unsigned long n = text ? strtoul(text, NULL, 0) : 0;
	return n > 0 && n < 100000000 ? (unsigned)n : 25;
}

/*
 * The hosts that the processes act as (FI_PGAS_TEST_HOSTS), set by the program's last argument. Without one of these
 * words all processes are on the real host.
 *   far     each is a host of its own: the target is reached over the link. Acknowledgements are not processed between
 *           the calls, so all calls but the first find a packet already waiting.
 *   verbs   the same over an RDMA adapter; the driver completes each call before the next, so that each finds the way
 *           free.
 *   linked  process 1 is on another host than the rest: a link is open while the target's memory is mapped. The caller
 *           has polled DRIVER_QUIET_POLLS times before, so that the link is left to its thread.
 */
enum driver_place { DRIVER_HERE, DRIVER_FAR, DRIVER_VERBS, DRIVER_LINKED };
enum { DRIVER_QUIET_POLLS = 5000 };

static inline enum driver_place driver_place(int argc, char **argv)
{
	const char *last = argc > 1 ? argv[argc - 1] : "";
	return strcmp(last, "far") == 0      ? DRIVER_FAR
	       : strcmp(last, "verbs") == 0  ? DRIVER_VERBS
	       : strcmp(last, "linked") == 0 ? DRIVER_LINKED
					     : DRIVER_HERE;
}

/* Where rdma-core's headers are missing, the library is built without the port over RDMA adapters. */
static inline int driver_has_verbs(void)
{
#if __has_include(<infiniband/verbs.h>)
	return access("/dev/infiniband/rdma_cm", F_OK) == 0;
#else
	return 0;
#endif
}

/* Must be called before the host is determined. */
static inline void driver_take_place(enum driver_place place, int rank)
{
	if (place == DRIVER_HERE)
		return;
	if (place == DRIVER_VERBS && !driver_has_verbs())
		exit(DRIVER_NOT_HERE);
	setenv("FI_PGAS_TEST_HOSTS", place != DRIVER_LINKED ? "1" : rank == 1 ? "3" : "2", 1);
	setenv("FI_PGAS_NET", place == DRIVER_VERBS ? "verbs" : "auto:lo", 1);
	setenv("FI_PGAS_NET_STRAIGHT", "1", 0);
	if (place != DRIVER_LINKED)
		setenv("FI_PGAS_NET_THREAD", "0", 1);
	setenv("FI_PGAS_PEER_TIMEOUT", "600", 0); /* engines are slow, and emulated machines even more so */
}

/* The rank of this process, as set by its launcher. */
static inline int driver_rank(void)
{
	static const char *const names[] = {"OSHRUN_RANK", "PMIX_RANK", "PMI_RANK"}; /* oshrun may do without PMIx */
	const char *text = NULL;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]) && !text; i++)
		text = getenv(names[i]);
	return text ? atoi(text) : 0;
}

/* Whether one of the arguments is this word. */
static inline int driver_has(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], word) == 0)
			return 1;
	return 0;
}

/* Reports a fact of this run to instr-count, as a line of "WHAT<tab>WORDS": "setting" is the version and the transport
 * of a peer, "ps" the picoseconds of a call. */
static inline void driver_tell(const char *what, const char *words)
{
	const char *file = getenv("INSTR_COUNT_FACTS");
	FILE *out = file ? fopen(file, "a") : NULL;
	if (!out)
		return;
	fprintf(out, "%s\t%s\n", what, words);
	fclose(out);
}

/* With INSTR_COUNT_TIME=N: N calls in each of DRIVER_ROUNDS rounds. The best round is assumed to be undisturbed. */
enum { DRIVER_ROUNDS = 40 };

static inline unsigned driver_timed_calls(void)
{
	const char *text = getenv("INSTR_COUNT_TIME");
	unsigned long n = text ? strtoul(text, NULL, 0) : 0;
	return n < 100000000 ? (unsigned)n : 0;
}

static inline double driver_ps(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e12 * (double)now.tv_sec + 1e3 * (double)now.tv_nsec;
}

/* Runs the statement that many times, and reports the time of one call, including the loop around it. */
#define DRIVER_TIME(_tell, ...)                                                                                        \
	do {                                                                                                           \
		const unsigned calls_ = driver_timed_calls();                                                          \
		double best_ = 0;                                                                                      \
		for (int round_ = 0; calls_ > 0 && round_ < DRIVER_ROUNDS; round_++) {                                 \
			const double begin_ = driver_ps();                                                             \
			for (unsigned n_ = calls_; n_ > 0; n_--) {                                                     \
				__VA_ARGS__;                                                                           \
			}                                                                                              \
			const double took_ = (driver_ps() - begin_) / calls_;                                          \
			best_ = round_ == 0 || took_ < best_ ? took_ : best_;                                          \
		}                                                                                                      \
		char words_[32];                                                                                       \
		snprintf(words_, sizeof(words_), "%.0f", best_);                                                       \
		if (calls_ > 0 && (_tell))                                                                             \
			driver_tell("ps", words_);                                                                     \
	} while (0)

/* A program of one process: main() runs the statement n times. */
#define DRIVER_MAIN(...)                                                                                               \
	int main(void)                                                                                                 \
	{                                                                                                              \
		for (unsigned n = driver_calls(); n > 0; n--) {                                                        \
			__VA_ARGS__;                                                                                   \
		}                                                                                                      \
		return 0;                                                                                              \
	}

#endif /* INSTR_COUNT_DRIVER_H */
