/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pgas_boot.h: how a process learns its rank, meets the other processes of its job, and ends the job.
 *
 * One API over every launcher: oshrun's own board, PMIx (mpirun, srun --mpi=pmix), the PMI wire on PMI_FD
 * (mpiexec.hydra, srun --mpi=pmi2), libpmi2, a unique id that the caller passes on, or no launcher at all (a job of
 * one). Linked into libsma and into the
 * GASNet conduit as a convenience library; not installed. Start-up only: nothing here belongs on a data path.
 *
 * Calls return 0 (or a count) on success and a negative errno on failure. A failure that the user must read about
 * has been written to stderr, one line, by the time the call returns. Only one thread may call at a time, except
 * is_stopped, is_asked and answer.
 */
#ifndef PGAS_BOOT_H
#define PGAS_BOOT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Each library that links this in has its own copy, and exports none of it. */
#pragma GCC visibility push(hidden)
#ifdef __cplusplus
#define PGAS_BOOT_NOEXCEPT noexcept
extern "C" {
#else
#define PGAS_BOOT_NOEXCEPT
#endif

/* Longest key of pgas_boot_put, without the final zero. */
#define PGAS_BOOT_KEY_MAX 30

/* Find the launcher and join the job. Counted: each init needs one finalize; only the last finalize leaves the job.
 * A job may be joined again, by all ranks or by none. Under oshrun the call never waits for another rank. */
int pgas_boot_init(void) PGAS_BOOT_NOEXCEPT;

/* Join a job without a launcher, and without any variable of the environment. One process makes a unique id, and serves
 * the job: it must live as long as the job. The id reaches the other processes by any means of the caller; it contains
 * the job's secret. Every process of the job then calls init_uniqueid with its rank, which returns when all have come,
 * or a negative errno: nothing of that job is left then. An id is good for one job. */
#define PGAS_BOOT_ID_BYTES 128
int pgas_boot_get_uniqueid(void *id) PGAS_BOOT_NOEXCEPT;
int pgas_boot_init_uniqueid(const void *id, int rank, int size) PGAS_BOOT_NOEXCEPT;

/* Leave the job. A rank that ends after init and before finalize is a failed rank, and the launcher ends the job. */
int pgas_boot_finalize(void) PGAS_BOOT_NOEXCEPT;

/* Some launchers let a process join only once: then finalize keeps the connection for another init, and exit() ends
 * it. A process that ends by _exit() after finalize calls this first. */
void pgas_boot_close(void) PGAS_BOOT_NOEXCEPT;

/* Rank and number of ranks; -1 and 0 before init. */
int pgas_boot_rank(void) PGAS_BOOT_NOEXCEPT;
int pgas_boot_size(void) PGAS_BOOT_NOEXCEPT;

/* The launcher in use: "oshrun", "pmix", "pmi1", "pmi2", "uniqueid", "single"; "" before init. */
const char *pgas_boot_launcher(void) PGAS_BOOT_NOEXCEPT;

/* 1: the launcher ends every rank when one of them dies, so that nobody else has to detect it. 0: it may not, or
 * before init. */
int pgas_boot_watches(void) PGAS_BOOT_NOEXCEPT;

/* 1: the launcher knows that this rank's process has not run for a second or so, because it was stopped (SIGSTOP,
 * ^Z), a debugger holds it, or others have its CPU; it sends nothing, but is not lost. 0: it runs, is gone, or the
 * launcher does not report it: oshrun does in jobs on several hosts. Call it from any thread, between init and
 * finalize. */
int pgas_boot_is_stopped(int rank) PGAS_BOOT_NOEXCEPT;

/* 1: the user asks where the ranks are (oshrun: SIGUSR1), and this process has not answered yet. A thread that waits
 * for other ranks looks at this now and then, and answers with the place where it waits: one line of at most
 * PGAS_BOOT_PLACE_BYTES, with the final zero, or nothing, if it prints a report of all ranks itself. The first answer
 * of a process counts. Both may be called from any thread, between init and finalize. */
#define PGAS_BOOT_PLACE_BYTES 244
int pgas_boot_is_asked(void) PGAS_BOOT_NOEXCEPT;
void pgas_boot_answer(const char *place) PGAS_BOOT_NOEXCEPT;

/* Ranks that the launcher placed on this host, ascending, including this one: writes up to `room` of them and
 * returns how many there are, or -ENOSYS if the launcher does not report it. This is only the launcher's claim:
 * compare pgas_host_id() (pgas/pgas_hostid.h) of both sides before sharing memory. */
int pgas_boot_local(int *ranks, int room) PGAS_BOOT_NOEXCEPT;

/* Key-value exchange. put stages, commit publishes what this rank staged, fence commits and waits for all ranks;
 * after a fence get(rank, key) returns the length of the value and copies at most `room` bytes of it, or returns
 * -ENOENT if rank put no such key. For a key that was put twice, oshrun and PMIx return the later value; the PMI
 * wire may refuse it: use fresh keys. */
int pgas_boot_put(const char *key, const void *value, size_t bytes) PGAS_BOOT_NOEXCEPT;
int pgas_boot_commit(void) PGAS_BOOT_NOEXCEPT;
int pgas_boot_fence(void) PGAS_BOOT_NOEXCEPT;
ssize_t pgas_boot_get(int rank, const char *key, void *value, size_t room) PGAS_BOOT_NOEXCEPT;

/* Collective. All ranks pass the same `bytes`; all[rank * bytes] is what rank passed. `mine` may lie inside `all`. */
int pgas_boot_allgather(const void *mine, size_t bytes, void *all) PGAS_BOOT_NOEXCEPT;
int pgas_boot_barrier(void) PGAS_BOOT_NOEXCEPT;

/* Like barrier. over_hosts: uses an exchange, which cannot complete before every rank has arrived because it returns
 * something from each of them, whatever a launcher makes of a bare fence between hosts. */
int pgas_boot_meet(int over_hosts) PGAS_BOOT_NOEXCEPT;

/* Returns 1 if all ranks have a secret of this length in common, which the launcher has given to them, and copies it.
 * 0: there is none, and rank 0 may make one and pass it by an exchange. */
int pgas_boot_secret(void *bytes, size_t room) PGAS_BOOT_NOEXCEPT;

/* End the whole job with this exit status (low 8 bits) from any rank; message (may be NULL) is printed once, by the
 * launcher if it can. Status 0 ends the job too, as a success if the launcher allows it. Does not return and runs no
 * atexit handler. Under oshrun, PMI-1 and a job of one it is safe inside a signal handler; PMIx and libpmi2 may
 * lock, so there an alarm bounds it. */
__attribute__((noreturn)) void pgas_boot_abort(int status, const char *message) PGAS_BOOT_NOEXCEPT;

/* Environment. getenv returns NULL for a variable that is unset or empty. env_share is collective: it sets those
 * variables of rank 0 that begin with `prefix` on ranks where they are missing, for launchers that pass no
 * environment to other hosts. */
const char *pgas_boot_getenv(const char *name) PGAS_BOOT_NOEXCEPT;
int pgas_boot_env_share(const char *prefix) PGAS_BOOT_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
