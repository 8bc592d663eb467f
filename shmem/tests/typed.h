/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * typed.h: for bodies that typed_each.inc includes once per type (NAME, T) and form (FORM).
 *
 * 	TYPED(put, ...)		the call of this type on the default context: the typed name, or with TEST_GENERIC the
 * 				type-generic one; TYPED_CTX: on ctx
 * 				with TEST_NB the non-blocking one, and the wait for it
 * 	TYPED_MORE(gather, ...)	the same for names that begin with shmemx_
 * 	CALL(put, ...)		in this form: CALL_first or CALL_second, which the program defines
 * 	FN(what)		a name for a function or variable of this type and form; FN_OF: outside of a body
 * 	DOING("what")		makes a failed check print the type and form
 */
#ifndef SHMEM_TESTS_TYPED_H
#define SHMEM_TESTS_TYPED_H

#include "shmem_test.h"

#ifdef TEST_NB
static shmemx_req_h typed_request;
#define TYPED(call_arg, ...) (NB_NAMED(call_arg)(__VA_ARGS__, &typed_request) || shmemx_req_wait(&typed_request))
#ifdef TEST_GENERIC
#define NB_NAMED(call_arg) NB_PASTED(call_arg)
#define NB_PASTED(call_arg) shmemx_##call_arg##_nb
#else
#define NB_NAMED(call_arg) NB_PASTED(NAME, call_arg)
#define NB_PASTED(name_arg, call_arg) NB_PASTED_TOO(name_arg, call_arg)
#define NB_PASTED_TOO(name_arg, call_arg) shmemx_##name_arg##_##call_arg##_nb
#endif
#elif defined(TEST_GENERIC)
#define TYPED(call_arg, ...) GENERIC_NAMED(call_arg)(__VA_ARGS__)
#define TYPED_CTX(call_arg, ...) GENERIC_NAMED(call_arg)(ctx, __VA_ARGS__)
#define TYPED_MORE(call_arg, ...) shmemx_##call_arg(__VA_ARGS__)
#define GENERIC_NAMED(call_arg) GENERIC_PASTED(call_arg)
#define GENERIC_PASTED(call_arg) shmem_##call_arg
#else
#define TYPED(call_arg, ...) TYPED_NAMED(shmem_, NAME, call_arg)(__VA_ARGS__)
#define TYPED_CTX(call_arg, ...) TYPED_NAMED(shmem_ctx_, NAME, call_arg)(ctx, __VA_ARGS__)
#define TYPED_MORE(call_arg, ...) TYPED_NAMED(shmemx_, NAME, call_arg)(__VA_ARGS__)
#endif
#define TYPED_NAMED(head_arg, name_arg, call_arg) TYPED_PASTED(head_arg, name_arg, call_arg)
#define TYPED_PASTED(head_arg, name_arg, call_arg) head_arg##name_arg##_##call_arg

#define CALL(call_arg, ...) CALL_OF(FORM, call_arg, __VA_ARGS__)
#define CALL_OF(form_arg, call_arg, ...) CALL_PASTED(form_arg, call_arg, __VA_ARGS__)
#define CALL_PASTED(form_arg, call_arg, ...) CALL_##form_arg(call_arg, __VA_ARGS__)

#define FN(what_arg) FN_OF(what_arg, FORM, NAME)
#define FN_OF(what_arg, form_arg, name_arg) FN_PASTED(what_arg, form_arg, name_arg)
#define FN_PASTED(what_arg, form_arg, name_arg) what_arg##_##form_arg##_##name_arg

#define DOING(what_arg) (check_doing = what_arg ": " TEXT_OF(NAME) ", " TEXT_OF(FORM) " form")
#define TEXT_OF(word_arg) TEXT_PASTED(word_arg)
#define TEXT_PASTED(word_arg) #word_arg

#endif
