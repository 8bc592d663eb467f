/* SPDX-License-Identifier: BSD-3-Clause */
/* GASNet-1's active messages: request and reply, short, medium and long, with 0 to 16 arguments. Part of gasnet.h. */
#ifndef GASNET_PGAS_AM1_H
#define GASNET_PGAS_AM1_H

#ifdef __cplusplus
extern "C" {
#endif

static inline size_t gasnet_AMMaxArgs(void)
{
	return GASNETI_MAX_ARGS;
}
static inline size_t gasnet_AMMaxMedium(void)
{
	return gasneti_front.max_medium;
}
static inline size_t gasnet_AMMaxLongRequest(void)
{
	return GASNETI_MAX_LONG;
}
static inline size_t gasnet_AMMaxLongReply(void)
{
	return GASNETI_MAX_LONG;
}

/* The seven calls with n arguments. params_arg begins with a comma; define_arg declares `args`. */
#define GASNETI_CALLS(n_arg, params_arg, define_arg)                                                                   \
	static inline int gasnet_AMRequestMedium##n_arg(gasnet_node_t dest, gasnet_handler_t handler,                  \
							const void *source_addr, size_t nbytes params_arg)             \
	{                                                                                                              \
		define_arg return gasneti_request_medium(dest, GASNETI_WORD(handler, n_arg, GASNETI_MEDIUM),           \
							 source_addr, nbytes, args);                                   \
	}                                                                                                              \
	static inline int gasnet_AMRequestLong##n_arg(gasnet_node_t dest, gasnet_handler_t handler,                    \
						      const void *source_addr, size_t nbytes,                          \
						      void *dest_addr params_arg)                                      \
	{                                                                                                              \
		define_arg return gasneti_request_long(dest, GASNETI_WORD(handler, n_arg, GASNETI_LONG), source_addr,  \
						       nbytes, dest_addr, args);                                       \
	}                                                                                                              \
	static inline int gasnet_AMRequestLongAsync##n_arg(gasnet_node_t dest, gasnet_handler_t handler,               \
							   const void *source_addr, size_t nbytes,                     \
							   void *dest_addr params_arg)                                 \
	{                                                                                                              \
		define_arg return gasneti_request_long(dest, GASNETI_WORD(handler, n_arg, GASNETI_LONG), source_addr,  \
						       nbytes, dest_addr, args);                                       \
	}                                                                                                              \
	static inline int gasnet_AMReplyShort##n_arg(gasnet_token_t token, gasnet_handler_t handler params_arg)        \
	{                                                                                                              \
		define_arg return gasneti_reply_short(                                                                 \
			token, GASNETI_WORD(handler, n_arg, GASNETI_SHORT | GASNETI_REPLY), args);                     \
	}                                                                                                              \
	static inline int gasnet_AMReplyMedium##n_arg(gasnet_token_t token, gasnet_handler_t handler,                  \
						      const void *source_addr, size_t nbytes params_arg)               \
	{                                                                                                              \
		define_arg return gasneti_reply_medium(token,                                                          \
						       GASNETI_WORD(handler, n_arg, GASNETI_MEDIUM | GASNETI_REPLY),   \
						       source_addr, nbytes, args);                                     \
	}                                                                                                              \
	static inline int gasnet_AMReplyLong##n_arg(gasnet_token_t token, gasnet_handler_t handler,                    \
						    const void *source_addr, size_t nbytes,                            \
						    void *dest_addr params_arg)                                        \
	{                                                                                                              \
		define_arg return gasneti_reply_long(token,                                                            \
						     GASNETI_WORD(handler, n_arg, GASNETI_LONG | GASNETI_REPLY),       \
						     source_addr, nbytes, dest_addr, args);                            \
	}

#define GASNETI_CALLS_N(n_arg)                                                                                         \
	static inline int gasnet_AMRequestShort##n_arg(gasnet_node_t dest, gasnet_handler_t handler GASNETI_P##n_arg)  \
	{                                                                                                              \
		const struct {                                                                                         \
			uint64_t word;                                                                                 \
			gasnet_handlerarg_t args[n_arg];                                                               \
		} message = {gasneti_front.word + GASNETI_WORD(handler, n_arg, GASNETI_SHORT), {GASNETI_A##n_arg}};    \
		return gasneti_send_short(dest, &message, 8 + 4 * (n_arg));                                            \
	}                                                                                                              \
	GASNETI_CALLS(n_arg, GASNETI_P##n_arg, const gasnet_handlerarg_t args[] = {GASNETI_A##n_arg};)

static inline int gasnet_AMRequestShort0(gasnet_node_t dest, gasnet_handler_t handler)
{
	const uint64_t word = gasneti_front.word + GASNETI_WORD(handler, 0, GASNETI_SHORT);
	return gasneti_send_short(dest, &word, sizeof word);
}
GASNETI_CALLS(0, , const gasnet_handlerarg_t *const args = NULL;)
GASNETI_CALLS_N(1)
GASNETI_CALLS_N(2)
GASNETI_CALLS_N(3)
GASNETI_CALLS_N(4)
GASNETI_CALLS_N(5)
GASNETI_CALLS_N(6)
GASNETI_CALLS_N(7)
GASNETI_CALLS_N(8)
GASNETI_CALLS_N(9)
GASNETI_CALLS_N(10)
GASNETI_CALLS_N(11)
GASNETI_CALLS_N(12)
GASNETI_CALLS_N(13)
GASNETI_CALLS_N(14)
GASNETI_CALLS_N(15)
GASNETI_CALLS_N(16)

#undef GASNETI_CALLS_N
#undef GASNETI_CALLS

#ifdef __cplusplus
}
#endif

/* Calls without a number in their names, which GASNet has in addition to its specification: the number of arguments,
 * a literal constant, precedes them. */
#define GASNETI_COUNTED(name_arg, n_arg) GASNETI_COUNTED_NAME(name_arg, n_arg)
#define GASNETI_COUNTED_NAME(name_arg, n_arg) name_arg##n_arg
#define gasnet_AMRequestShort(dest_arg, handler_arg, n_arg, ...)                                                       \
	GASNETI_COUNTED(gasnet_AMRequestShort, n_arg)((dest_arg), (handler_arg), ##__VA_ARGS__)
#define gasnet_AMRequestMedium(dest_arg, handler_arg, from_arg, nbytes_arg, n_arg, ...)                                \
	GASNETI_COUNTED(gasnet_AMRequestMedium, n_arg)                                                                 \
	((dest_arg), (handler_arg), (from_arg), (nbytes_arg), ##__VA_ARGS__)
#define gasnet_AMRequestLong(dest_arg, handler_arg, from_arg, nbytes_arg, to_arg, n_arg, ...)                          \
	GASNETI_COUNTED(gasnet_AMRequestLong, n_arg)                                                                   \
	((dest_arg), (handler_arg), (from_arg), (nbytes_arg), (to_arg), ##__VA_ARGS__)
#define gasnet_AMRequestLongAsync(dest_arg, handler_arg, from_arg, nbytes_arg, to_arg, n_arg, ...)                     \
	GASNETI_COUNTED(gasnet_AMRequestLongAsync, n_arg)                                                              \
	((dest_arg), (handler_arg), (from_arg), (nbytes_arg), (to_arg), ##__VA_ARGS__)
#define gasnet_AMReplyShort(token_arg, handler_arg, n_arg, ...)                                                        \
	GASNETI_COUNTED(gasnet_AMReplyShort, n_arg)((token_arg), (handler_arg), ##__VA_ARGS__)
#define gasnet_AMReplyMedium(token_arg, handler_arg, from_arg, nbytes_arg, n_arg, ...)                                 \
	GASNETI_COUNTED(gasnet_AMReplyMedium, n_arg)                                                                   \
	((token_arg), (handler_arg), (from_arg), (nbytes_arg), ##__VA_ARGS__)
#define gasnet_AMReplyLong(token_arg, handler_arg, from_arg, nbytes_arg, to_arg, n_arg, ...)                           \
	GASNETI_COUNTED(gasnet_AMReplyLong, n_arg)                                                                     \
	((token_arg), (handler_arg), (from_arg), (nbytes_arg), (to_arg), ##__VA_ARGS__)

#endif /* GASNET_PGAS_AM1_H */
