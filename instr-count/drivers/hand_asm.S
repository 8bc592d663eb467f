/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hand_asm.S: functions whose length is known because a person counted them.
 * They are the standard every engine is measured against; paths.def repeats
 * the sums. "n:" in a comment is the number of instructions one call runs.
 */
	.text

	.macro function name
	.globl	\name
	.type	\name, %function
	.balign	16
\name:
	.endm

	.macro done name
	.size	\name, . - \name
	.endm

#if defined(__aarch64__)

function hand_leaf			/* 3: */
	add	x0, x0, #1
	add	x0, x0, #2
	ret
done hand_leaf

function hand_loop			/* 1 + 10 * 2 + 1 = 22: */
	mov	x1, #10
1:	subs	x1, x1, #1
	b.ne	1b
	ret
done hand_loop

function hand_chain			/* 5 + 2 * hand_leaf = 11: */
	stp	x29, x30, [sp, #-16]!
	bl	hand_leaf
	bl	hand_leaf
	ldp	x29, x30, [sp], #16
	ret
done hand_chain

function hand_recursion			/* depth 3: 3 * 6 + 2 = 20: */
	cbz	x0, 1f
	stp	x29, x30, [sp, #-16]!
	sub	x0, x0, #1
	bl	hand_recursion
	ldp	x29, x30, [sp], #16
1:	ret
done hand_recursion

function hand_syscall			/* 4, two system calls: */
	mov	x8, #173
	svc	#0
	svc	#0
	ret
done hand_syscall

function hand_atomic			/* 5 when the store succeeds at once: */
1:	ldxr	x1, [x0]
	add	x1, x1, #1
	stxr	w2, x1, [x0]
	cbnz	w2, 1b
	ret
done hand_atomic

function hand_cas			/* 7 on success, 5 on mismatch: */
1:	ldaxr	x3, [x0]
	cmp	x3, x1
	b.ne	2f
	stlxr	w4, x2, [x0]
	cbnz	w4, 1b
2:	mov	x0, x3
	ret
done hand_cas

function hand_copy			/* 1 + 8 * 4 + 1 = 34: */
	mov	x2, #8
1:	ldrb	w3, [x1], #1
	strb	w3, [x0], #1
	subs	x2, x2, #1
	b.ne	1b
	ret
done hand_copy

function hand_landing			/* 4; hints are instructions too: */
	hint	#34			/* bti c */
	hint	#25			/* paciasp */
	hint	#29			/* autiasp */
	ret
done hand_landing

function hand_image			/* 4 before libc's first: */
	stp	x29, x30, [sp, #-16]!
	adrp	x1, :got:getppid
	ldr	x1, [x1, :got_lo12:getppid]
	blr	x1
	ldp	x29, x30, [sp], #16
	ret
done hand_image

#elif defined(__x86_64__)

function hand_leaf			/* 3: */
	lea	1(%rdi), %rax
	add	$2, %rax
	ret
done hand_leaf

function hand_loop			/* 1 + 10 * 2 + 1 = 22: */
	mov	$10, %ecx
1:	dec	%ecx
	jnz	1b
	ret
done hand_loop

function hand_chain			/* 3 + 2 * hand_leaf = 9: */
	call	hand_leaf
	call	hand_leaf
	ret
done hand_chain

function hand_recursion			/* depth 3: 3 * 5 + 3 = 18: */
	test	%rdi, %rdi
	jz	1f
	dec	%rdi
	call	hand_recursion
1:	ret
done hand_recursion

function hand_syscall			/* 5, two system calls: */
	mov	$110, %eax
	syscall
	mov	$110, %eax
	syscall
	ret
done hand_syscall

function hand_atomic			/* 3: */
	mov	$1, %eax
	lock xadd %rax, (%rdi)
	ret
done hand_atomic

function hand_cas			/* 3: */
	mov	%rsi, %rax
	lock cmpxchg %rdx, (%rdi)
	ret
done hand_cas

function hand_copy			/* 1 + 8 iterations + 1 = 10: */
	mov	$8, %ecx
	rep movsb
	ret
done hand_copy

function hand_landing			/* 2; endbr64 is an instruction too: */
	endbr64
	ret
done hand_landing

function hand_image			/* 2 before libc's first: */
	sub	$8, %rsp
	call	*getppid@GOTPCREL(%rip)
	add	$8, %rsp
	ret
done hand_image

#else
#error "no hand-counted functions for this processor"
#endif

	.weak	hand_leaf_alias
	.set	hand_leaf_alias, hand_leaf

	.section .note.GNU-stack, "", %progbits
