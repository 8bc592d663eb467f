/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages: the parts that the calls of both interfaces share. Part of gasnetex.h.
 *
 * A message begins with one word: handler, number of arguments, kind, where the payload begins, and the sender's
 * rank. Arguments follow; a long message carries address and length after them. Short messages are written inline
 * into one slot of the target's ring; all others go through the library.
 * the target's ring; all others through the library.
 */
#ifndef GASNET_PGAS_AM_H
#define GASNET_PGAS_AM_H

#ifdef __cplusplus
extern "C" {
#endif

#define GASNETI_MAX_ARGS 16
#define GASNETI_MAX_LONG ((size_t)0x7fffffff) /* clients keep it in an int */

/*
 * The message word, starting at its lowest bits: handler (8 bits), number of arguments (8), kind (8), where the
 * payload begins in the message (8), rank of the sender (16), index of the sending endpoint (8), and of the
 * receiving endpoint (8). Both indexes are 0 except through pairs. The library reads it by the functions of
 * gasnet_message.hpp.
 */
enum {
	GASNETI_WORD_ARGS = 8, /* positions of the fields */
	GASNETI_WORD_KIND = 16,
	GASNETI_WORD_PAYLOAD = 24,
	GASNETI_WORD_RANK = 32,
	GASNETI_WORD_FROM = 48,
	GASNETI_WORD_AT = 56,
};
/* Kinds. */
enum {
	GASNETI_SHORT = 0,
	GASNETI_MEDIUM = 1,
	GASNETI_LONG = 2,
	GASNETI_CATEGORY = 3,
	GASNETI_REPLY = 4, /* may be handled while requests are held back */
};
#define GASNETI_WORD(handler_arg, args_arg, kind_arg)                                                                  \
	((uint64_t)(uint8_t)(handler_arg) | (uint64_t)(args_arg) << GASNETI_WORD_ARGS |                                \
	 (uint64_t)(kind_arg) << GASNETI_WORD_KIND)

/*
 * Where the payload of a medium message begins in a slot: at a position whose address is a multiple of 16, because
 * the slot's bytes begin 8 after such a multiple.
 */
PGAS_HOT size_t gasneti_slot_payload(size_t args)
{
	return (8 + 4 * args + 7) / 16 * 16 + 8;
}

PGAS_EXPORT int gasnet_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *source) PGAS_NOEXCEPT;

/* The cold exit of each category; args has as many arguments as the word says. */
PGAS_EXPORT int gasneti_request_short(gasnet_node_t dest, const void *message, size_t bytes) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_request_medium(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes,
				       const gasnet_handlerarg_t *args) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_request_long(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes, void *dst,
				     const gasnet_handlerarg_t *args) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_reply_short(gasnet_token_t token, uint64_t word, const gasnet_handlerarg_t *args) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_reply_medium(gasnet_token_t token, uint64_t word, const void *src, size_t nbytes,
				     const gasnet_handlerarg_t *args) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_reply_long(gasnet_token_t token, uint64_t word, const void *src, size_t nbytes, void *dst,
				   const gasnet_handlerarg_t *args) PGAS_NOEXCEPT;

/*
 * Handles arrivals (a sender that never polls would fill its own ring), then puts the message into the target's
 * ring, with or without threads. The library takes over if the ring is full, the layout does not match, another
 * thread was faster, or the target is this node, whose own ring is never opened.
 * budget: 60 instructions without arguments, 75 with threads (paths.def: gasnet_am_short0, gasnet_am_short0_par)
 */
PGAS_HOT int gasneti_send_short(gasnet_node_t dest, const void *message, size_t bytes)
{
	if (PGAS_UNLIKELY(!gasneti_nothing_arrived()))
		gasneti_poll_first();
	if (PGAS_LIKELY(pgas_hot_post(gasneti_front.am, message, bytes, bytes, NULL, 0, dest, GASNETI_THREADS)))
		return GASNET_OK;
	return gasneti_request_short(dest, message, bytes);
}

#define GASNETI_ARG(i_arg) gasnet_handlerarg_t a##i_arg
#define GASNETI_P1 , GASNETI_ARG(0)
#define GASNETI_P2 GASNETI_P1, GASNETI_ARG(1)
#define GASNETI_P3 GASNETI_P2, GASNETI_ARG(2)
#define GASNETI_P4 GASNETI_P3, GASNETI_ARG(3)
#define GASNETI_P5 GASNETI_P4, GASNETI_ARG(4)
#define GASNETI_P6 GASNETI_P5, GASNETI_ARG(5)
#define GASNETI_P7 GASNETI_P6, GASNETI_ARG(6)
#define GASNETI_P8 GASNETI_P7, GASNETI_ARG(7)
#define GASNETI_P9 GASNETI_P8, GASNETI_ARG(8)
#define GASNETI_P10 GASNETI_P9, GASNETI_ARG(9)
#define GASNETI_P11 GASNETI_P10, GASNETI_ARG(10)
#define GASNETI_P12 GASNETI_P11, GASNETI_ARG(11)
#define GASNETI_P13 GASNETI_P12, GASNETI_ARG(12)
#define GASNETI_P14 GASNETI_P13, GASNETI_ARG(13)
#define GASNETI_P15 GASNETI_P14, GASNETI_ARG(14)
#define GASNETI_P16 GASNETI_P15, GASNETI_ARG(15)
#define GASNETI_A1 a0
#define GASNETI_A2 GASNETI_A1, a1
#define GASNETI_A3 GASNETI_A2, a2
#define GASNETI_A4 GASNETI_A3, a3
#define GASNETI_A5 GASNETI_A4, a4
#define GASNETI_A6 GASNETI_A5, a5
#define GASNETI_A7 GASNETI_A6, a6
#define GASNETI_A8 GASNETI_A7, a7
#define GASNETI_A9 GASNETI_A8, a8
#define GASNETI_A10 GASNETI_A9, a9
#define GASNETI_A11 GASNETI_A10, a10
#define GASNETI_A12 GASNETI_A11, a11
#define GASNETI_A13 GASNETI_A12, a12
#define GASNETI_A14 GASNETI_A13, a13
#define GASNETI_A15 GASNETI_A14, a14
#define GASNETI_A16 GASNETI_A15, a15

/* Expands x_arg for each number of arguments but 0. */
#define GASNETI_EACH_1_TO_16(x_arg)                                                                                    \
	x_arg(1) x_arg(2) x_arg(3) x_arg(4) x_arg(5) x_arg(6) x_arg(7) x_arg(8) x_arg(9) x_arg(10) x_arg(11) x_arg(12) \
		x_arg(13) x_arg(14) x_arg(15) x_arg(16)

#ifdef __cplusplus
}
#endif

#endif /* GASNET_PGAS_AM_H */
