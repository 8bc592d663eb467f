/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pgas_mark.h: begin and end of a counted stretch of code, for paths that are
 * inlined and so have no function to name.
 *
 *	PGAS_MARK_BEGIN(put8);
 *	fi_inject_write(ep, buf, 8, dest, off, 0);
 *	PGAS_MARK_END(put8);
 *
 * and count it with --entry mark:put8. A mark is no instruction: it notes its
 * own address in the section pgas_marks, which is mapped but never touched,
 * so a marked program runs exactly the code of an unmarked one. An empty pair
 * therefore counts 0, and tests/ holds the engines to that.
 *
 * The marks are compiler barriers: loads and stores stay on their side. Plain
 * arithmetic may still be hoisted past them, as it would be in any caller;
 * keep operands out of reach by passing them as parameters of a function that
 * is not inlined (see drivers/driver.h), and hand results to PGAS_MARK_USE.
 *
 * C11 and C++20; names have at most 23 characters.
 */
#ifndef PGAS_MARK_H
#define PGAS_MARK_H

/* Record: mark minus here, kind, name in 24 bytes (elf_file.cpp reads it). */
#define PGAS_MARK_AT(_name, _kind)                                                                                     \
	__asm__ volatile("771:\n\t"                                                                                    \
			 ".pushsection pgas_marks,\"a\",@progbits\n\t"                                                 \
			 ".balign 4\n\t"                                                                               \
			 ".long 771b - .\n\t"                                                                          \
			 ".long " #_kind "\n"                                                                          \
			 "772:\n\t"                                                                                    \
			 ".asciz \"" #_name "\"\n"                                                                     \
			 "773:\n\t"                                                                                    \
			 ".zero 24 - (773b - 772b)\n\t"                                                                \
			 ".popsection" ::                                                                              \
				 : "memory")

#define PGAS_MARK_BEGIN(_name) PGAS_MARK_AT(_name, 0)
#define PGAS_MARK_END(_name) PGAS_MARK_AT(_name, 1)

/* The value must exist in a register here; costs nothing itself. */
#define PGAS_MARK_USE(_value) __asm__ volatile("" ::"r"(_value))

#endif /* PGAS_MARK_H */
