/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * driver.h: what every driver shares. A driver performs one operation again
 * and again and does nothing else worth counting; the engine says how often.
 */
#ifndef INSTR_COUNT_DRIVER_H
#define INSTR_COUNT_DRIVER_H

#include <stdio.h>
#include <stdlib.h>

#include "pgas_mark.h"

/* Keeps operands in argument registers, as a caller would have them: the
 * compiler must not make a copy that knows their values. */
#ifdef __clang__
#define DRIVER_NOINLINE __attribute__((noinline))
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

/* A program of one process: main() that runs the statement n times. */
#define DRIVER_MAIN(...)                                                                                               \
	int main(void)                                                                                                 \
	{                                                                                                              \
		for (unsigned n = driver_calls(); n > 0; n--) {                                                        \
			__VA_ARGS__;                                                                                   \
		}                                                                                                      \
		return 0;                                                                                              \
	}

#endif /* INSTR_COUNT_DRIVER_H */
