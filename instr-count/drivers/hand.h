/* SPDX-License-Identifier: BSD-3-Clause */
/* hand.h: the functions of hand_asm.S, which states the count of each. */
#ifndef INSTR_COUNT_HAND_H
#define INSTR_COUNT_HAND_H

long hand_leaf(long x);
long hand_leaf_alias(long x); /* weak, same address as hand_leaf */
long hand_loop(void);
long hand_chain(long x);
long hand_recursion(long depth);
long hand_syscall(void);
long hand_atomic(long *cell);
long hand_cas(long *cell, long expected, long desired);
void hand_copy(void *dst, const void *src);
long hand_landing(void);
long hand_image(void);

#endif /* INSTR_COUNT_HAND_H */
