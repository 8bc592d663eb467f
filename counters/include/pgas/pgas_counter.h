/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The completion counter that provider, SHMEM and conduit share: a value and an error value.
 *
 * A counter counts completed events: the event's data is visible before the count is incremented. A counter has either
 * one writer, its owner (pgas_counter_add_owner, no locked instruction), or many (pgas_counter_add_shared). The choice
 * is made once, when the counter is bound, never per call. value and error are each a running sum modulo 2^64; a reader
 * compares differences. Waiting is cold and lives in pgas_counter.cpp.
 */
#ifndef PGAS_COUNTER_H
#define PGAS_COUNTER_H

#include <stdint.h>
#include <pgas/pgas_atomic.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Written by the owner (or by all, in the shared form); value and error lie on one line because they are read together.
 */
struct pgas_counter {
	uint64_t value;
	uint64_t error;
};

/*
 * One more event, one writer: a plain add, so that it is a single instruction where the machine has one. Legal because
 * a counter with one writer is read by the same thread (or under the same lock) by contract.
 * budget: 1 instruction (x86_64: add mem, imm), 3 on load/store machines
 */
PGAS_HOT void pgas_counter_add_owner(struct pgas_counter *c, uint64_t n)
{
	c->value += n;
}

/* One more event, many writers (FI_THREAD_SAFE, progress threads, other processes). */
PGAS_HOT void pgas_counter_add_shared(struct pgas_counter *c, uint64_t n)
{
	/* pairs with load_acquire in pgas_counter_read() */
	pgas_add_release(&c->value, n);
}

/* budget: 1 instruction (x86_64) */
PGAS_HOT uint64_t pgas_counter_read(const struct pgas_counter *c)
{
	/* pairs with add_release in pgas_counter_add_shared() */
	return pgas_load_acquire(&c->value);
}

PGAS_HOT uint64_t pgas_counter_read_error(const struct pgas_counter *c)
{
	return pgas_load_acquire(&c->error);
}

/* True when at least threshold events are counted; correct across wrap-around of the sum. */
PGAS_HOT int pgas_counter_reached(uint64_t value, uint64_t threshold)
{
	return (int64_t)(value - threshold) >= 0;
}

/*
 * How every waiting loop of the project waits, because users run more processes than cores: poll without a pause, spin,
 * yield the core, then nap. A loop starts with a pgas_backoff of {0} and calls pgas_backoff_turn() once for each poll
 * that found nothing. The loop's rule sets the length of each phase.
 */
struct pgas_backoff {
	uint32_t polls; /* polls so far; no longer incremented once the loop naps */
};

struct pgas_backoff_rule {
	uint32_t eager;      /* polls without a pause: more would take the cache line from its next writer */
	uint32_t spins;      /* polls before the loop yields, the eager ones included; 0: no core to spare */
	uint32_t yields;     /* polls that yield the core, before the loop naps */
	uint32_t nap_ns;     /* length of a nap; 0: the loop never naps and keeps yielding */
	void (*help)(void);  /* called in every help_every-th yield and in every nap; may be null */
	uint32_t help_every; /* at least 1 if help is set */
};

/*
 * Gives up the core. Returns 1 if another process then computed there for a millisecond or more, so that a loop should
 * rather sleep; the calling thread then wakes up sooner than it did before (pgas_turn.hpp). Otherwise returns 0.
 */
PGAS_EXPORT int pgas_core_yield(void) PGAS_NOEXCEPT;

/* The phases that give up the core. Returns the nanoseconds it slept (0: it yielded). */
PGAS_EXPORT uint64_t pgas_backoff_yield(struct pgas_backoff *b, const struct pgas_backoff_rule *rule) PGAS_NOEXCEPT;

PGAS_INLINE uint64_t pgas_backoff_turn(struct pgas_backoff *b, const struct pgas_backoff_rule *rule)
{
	if (b->polls >= rule->spins)
		return pgas_backoff_yield(b, rule);
	if (b->polls++ >= rule->eager)
		pgas_cpu_relax();
	return 0;
}

/* pgas_backoff_turn() with the provider's rule, which assumes that there is no core to spare and spins only briefly. */
#define PGAS_BACKOFF_SPINS 200
#define PGAS_BACKOFF_YIELDS 2000
PGAS_EXPORT uint64_t pgas_backoff_pause(struct pgas_backoff *b) PGAS_NOEXCEPT;

/* True while the next pgas_backoff_pause() does not sleep: for loops that sleep in a better way, or end instead. */
PGAS_INLINE int pgas_backoff_awake(const struct pgas_backoff *b)
{
	return b->polls < PGAS_BACKOFF_SPINS + PGAS_BACKOFF_YIELDS;
}

/* Monotonic nanoseconds, and a deadline from an int timeout in milliseconds (negative: never). */
PGAS_EXPORT uint64_t pgas_now_ns(void) PGAS_NOEXCEPT;
PGAS_EXPORT uint64_t pgas_deadline_ns(int timeout_ms) PGAS_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* PGAS_COUNTER_H */
