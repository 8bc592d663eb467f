/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet-EX's active messages: fixed payload, negotiated payload and limits. Part of gasnetex.h.
 *
 * The payload may be reused when a call returns, whatever lc_opt says: its event is complete, and GEX_EVENT_GROUP gets
 * nothing added. GEX_FLAG_IMMEDIATE: if the call would have to wait for room, it does nothing and returns nonzero.
 *
 * Negotiated payload: for a node of this host, the buffer that prepare returns is the place where the message will
 * arrive. For a short message that is a slot of the target's ring, and later messages from others wait there until
 * commit or cancel; the place of a longer one does not hold up others.
 */
#ifndef GASNET_PGAS_GEX_AM_H
#define GASNET_PGAS_GEX_AM_H

#ifdef __cplusplus
extern "C" {
#endif

#define GASNET_NATIVE_NP_ALLOC_REQ_MEDIUM 1
#define GASNET_NATIVE_NP_ALLOC_REP_MEDIUM 1
#define GASNET_SUPPORTS_AM_CANCEL 20240418L
#define GASNET_SUPPORTS_AM_COMMIT_V2 20240906L

/* What inline calls read of a descriptor. One per thread; the library's own part follows it. */
struct gasneti_srcdesc {
	void *addr;
	size_t size;
};
typedef struct gasneti_srcdesc *gex_AM_SrcDesc_t;
#define GEX_AM_SRCDESC_NO_OP ((gex_AM_SrcDesc_t)0)

static inline void *gex_AM_SrcDescAddr(gex_AM_SrcDesc_t sd)
{
	return sd->addr;
}
static inline size_t gex_AM_SrcDescSize(gex_AM_SrcDesc_t sd)
{
	return sd->size;
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

static inline unsigned int gex_AM_MaxArgs(void)
{
	return GASNETI_MAX_ARGS;
}
static inline size_t gex_AM_LUBRequestMedium(void)
{
	return gasneti_front.max_medium;
}
static inline size_t gex_AM_LUBReplyMedium(void)
{
	return gasneti_front.max_medium;
}
static inline size_t gex_AM_LUBRequestLong(void)
{
	return GASNETI_MAX_LONG;
}
static inline size_t gex_AM_LUBReplyLong(void)
{
	return GASNETI_MAX_LONG;
}

/* A library buffer holds as much as a medium message, for long messages too. */
static inline size_t gasneti_max_long(gex_Flags_t flags)
{
	return flags & GEX_FLAG_AM_PREPARE_LEAST_ALLOC ? gasneti_front.max_medium : GASNETI_MAX_LONG;
}
static inline size_t gex_AM_MaxRequestMedium(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt,
					     gex_Flags_t flags, unsigned int numargs)
{
	(void)tm, (void)other_rank, (void)lc_opt, (void)flags, (void)numargs;
	return gasneti_front.max_medium;
}
static inline size_t gex_AM_MaxReplyMedium(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt,
					   gex_Flags_t flags, unsigned int numargs)
{
	(void)tm, (void)other_rank, (void)lc_opt, (void)flags, (void)numargs;
	return gasneti_front.max_medium;
}
static inline size_t gex_AM_MaxRequestLong(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt,
					   gex_Flags_t flags, unsigned int numargs)
{
	(void)tm, (void)other_rank, (void)lc_opt, (void)numargs;
	return gasneti_max_long(flags);
}
static inline size_t gex_AM_MaxReplyLong(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt,
					 gex_Flags_t flags, unsigned int numargs)
{
	(void)tm, (void)other_rank, (void)lc_opt, (void)numargs;
	return gasneti_max_long(flags);
}
static inline size_t gex_Token_MaxReplyMedium(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags,
					      unsigned int numargs)
{
	(void)token, (void)lc_opt, (void)flags, (void)numargs;
	return gasneti_front.max_medium;
}
static inline size_t gex_Token_MaxReplyLong(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags,
					    unsigned int numargs)
{
	(void)token, (void)lc_opt, (void)numargs;
	return gasneti_max_long(flags);
}

/* --- the library's part ------------------------------------------------------------------------------------------- */

/* These end the job on an error, and return nonzero only if GEX_FLAG_IMMEDIATE allows it. */
PGAS_EXPORT int gasneti_gex_request_short(gasnet_node_t dest, const void *message, size_t bytes,
					  gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_gex_request_medium(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes,
					   const gex_AM_Arg_t *args, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_gex_request_long(gasnet_node_t dest, uint64_t word, const void *src, size_t nbytes, void *dst,
					 const gex_AM_Arg_t *args, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_gex_reply_short(gex_Token_t token, uint64_t word, const gex_AM_Arg_t *args,
					gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_gex_reply_medium(gex_Token_t token, uint64_t word, const void *src, size_t nbytes,
					 const gex_AM_Arg_t *args, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_gex_reply_long(gex_Token_t token, uint64_t word, const void *src, size_t nbytes, void *dst,
				       const gex_AM_Arg_t *args, gex_Flags_t flags) PGAS_NOEXCEPT;

/* The same through a pair of endpoints that are not both the first; or the rank does not exist. */
PGAS_EXPORT int gasneti_pair_short(gex_TM_t tm, gex_Rank_t rank, const void *message, size_t bytes,
				   gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_pair_medium(gex_TM_t tm, gex_Rank_t rank, uint64_t word, const void *src, size_t nbytes,
				    const gex_AM_Arg_t *args, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_pair_long(gex_TM_t tm, gex_Rank_t rank, uint64_t word, const void *src, size_t nbytes,
				  void *dst, const gex_AM_Arg_t *args, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT gex_AM_SrcDesc_t gasneti_pair_prepare(gex_TM_t tm, gex_Rank_t rank, uint64_t word, const void *client_buf,
						  size_t least, size_t most, gex_Flags_t flags) PGAS_NOEXCEPT;

/* The word has the number of arguments and the kind; commit adds the handler. */
PGAS_EXPORT gex_AM_SrcDesc_t gasneti_prepare_request(gasnet_node_t dest, uint64_t word, const void *client_buf,
						     size_t least, size_t most, gex_Flags_t flags) PGAS_NOEXCEPT;
/* For a medium message that goes into the slot just claimed; the word includes the payload's position. */
PGAS_EXPORT gex_AM_SrcDesc_t gasneti_prepare_slot(struct pgas_slot *slot, const struct pgas_peer_hot *peer,
						  uint64_t pos, uint64_t word, size_t most) PGAS_NOEXCEPT;
/* The same if it goes into that slot's annex; the library decides where its payload begins. */
PGAS_EXPORT gex_AM_SrcDesc_t gasneti_prepare_annex(struct pgas_slot *slot, const struct pgas_peer_hot *peer,
						   uint64_t pos, uint64_t word, size_t most) PGAS_NOEXCEPT;
PGAS_EXPORT gex_AM_SrcDesc_t gasneti_prepare_reply(gex_Token_t token, uint64_t word, const void *client_buf,
						   size_t least, size_t most, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_commit(gex_AM_SrcDesc_t sd, uint64_t word, size_t nbytes, void *dst, gex_Flags_t flags,
			       const gex_AM_Arg_t *args) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_cancel(gex_AM_SrcDesc_t sd, unsigned int kind) PGAS_NOEXCEPT;

PGAS_HOT void gasneti_lc_over(gex_Event_t *lc_opt)
{
	if ((uintptr_t)lc_opt > (uintptr_t)GEX_EVENT_GROUP)
		*lc_opt = GEX_EVENT_INVALID;
}

/* As gasneti_send_short. budget: 60 instructions, 75 with threads (paths.def: gex_am_short0, gex_am_short0_par) */
PGAS_HOT int gasneti_gex_short(gex_TM_t tm, gex_Rank_t rank, const void *message, size_t bytes, gex_Flags_t flags)
{
	gasnet_node_t dest;
	if (PGAS_UNLIKELY(rank >= tm->size))
		return gasneti_pair_short(tm, rank, message, bytes, flags);
	dest = tm->jobranks[rank];
	if (PGAS_UNLIKELY(!gasneti_nothing_arrived()))
		gasneti_poll_first();
	if (PGAS_LIKELY(pgas_hot_post(gasneti_front.am, message, bytes, bytes, NULL, 0, dest, GASNETI_THREADS)))
		return 0;
	return gasneti_gex_request_short(dest, message, bytes, flags);
}

PGAS_HOT int gasneti_gex_medium(gex_TM_t tm, gex_Rank_t rank, uint64_t word, const void *src, size_t nbytes,
				const gex_AM_Arg_t *args, gex_Flags_t flags)
{
	if (PGAS_UNLIKELY(rank >= tm->size))
		return gasneti_pair_medium(tm, rank, word, src, nbytes, args, flags);
	return gasneti_gex_request_medium(tm->jobranks[rank], word, src, nbytes, args, flags);
}

PGAS_HOT int gasneti_gex_long(gex_TM_t tm, gex_Rank_t rank, uint64_t word, const void *src, size_t nbytes, void *dst,
			      const gex_AM_Arg_t *args, gex_Flags_t flags)
{
	if (PGAS_UNLIKELY(rank >= tm->size))
		return gasneti_pair_long(tm, rank, word, src, nbytes, dst, args, flags);
	return gasneti_gex_request_long(tm->jobranks[rank], word, src, nbytes, dst, args, flags);
}

/* --- negotiated payload ------------------------------------------------------------------------------------------- */

/* The room in an annex after the head of any message. */
#define GASNETI_ANNEX_PAYLOAD (PGAS_ANNEX_BYTES - (8 + 4 * GASNETI_MAX_ARGS + 8))

/* budget: with commit 120 instructions for up to 96 bytes, 150 with threads (paths.def: gex_am_prepare_64) */
static inline gex_AM_SrcDesc_t gex_AM_PrepareRequestMedium(gex_TM_t tm, gex_Rank_t rank, const void *client_buf,
							   size_t least_payload, size_t most_payload,
							   gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs)
{
	const uint64_t word = GASNETI_WORD(0, numargs, GASNETI_MEDIUM), payload_off = gasneti_slot_payload(numargs);
	gasnet_node_t dest;
	gasneti_lc_over(lc_opt);
	if (PGAS_UNLIKELY(rank >= tm->size))
		return gasneti_pair_prepare(tm, rank, word, client_buf, least_payload, most_payload, flags);
	dest = tm->jobranks[rank];
	if (!client_buf && numargs <= GASNETI_MAX_ARGS && PGAS_LIKELY(most_payload <= GASNETI_ANNEX_PAYLOAD) &&
	    PGAS_LIKELY(gasneti_nothing_arrived())) {
		const struct pgas_hot_claim c =
			pgas_hot_claim(gasneti_front.am, dest, GASNETI_THREADS, payload_off + most_payload);
		if (PGAS_LIKELY(c.slot)) {
			if (PGAS_LIKELY(most_payload <= PGAS_SLOT_PLAIN - payload_off))
				return gasneti_prepare_slot(c.slot, c.peer, c.at,
							    word | payload_off << GASNETI_WORD_PAYLOAD, most_payload);
			return gasneti_prepare_annex(c.slot, c.peer, c.at, word, most_payload);
		}
	}
	return gasneti_prepare_request(dest, word, client_buf, least_payload, most_payload, flags);
}
static inline gex_AM_SrcDesc_t gex_AM_PrepareRequestLong(gex_TM_t tm, gex_Rank_t rank, const void *client_buf,
							 size_t least_payload, size_t most_payload, void *dest_addr,
							 gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs)
{
	const uint64_t word = GASNETI_WORD(0, numargs, GASNETI_LONG);
	(void)dest_addr;
	gasneti_lc_over(lc_opt);
	if (PGAS_UNLIKELY(rank >= tm->size))
		return gasneti_pair_prepare(tm, rank, word, client_buf, least_payload, most_payload, flags);
	return gasneti_prepare_request(tm->jobranks[rank], word, client_buf, least_payload, most_payload, flags);
}
static inline gex_AM_SrcDesc_t gex_AM_PrepareReplyMedium(gex_Token_t token, const void *client_buf,
							 size_t least_payload, size_t most_payload, gex_Event_t *lc_opt,
							 gex_Flags_t flags, unsigned int numargs)
{
	gasneti_lc_over(lc_opt);
	return gasneti_prepare_reply(token, GASNETI_WORD(0, numargs, GASNETI_MEDIUM | GASNETI_REPLY), client_buf,
				     least_payload, most_payload, flags);
}
static inline gex_AM_SrcDesc_t gex_AM_PrepareReplyLong(gex_Token_t token, const void *client_buf, size_t least_payload,
						       size_t most_payload, void *dest_addr, gex_Event_t *lc_opt,
						       gex_Flags_t flags, unsigned int numargs)
{
	(void)dest_addr;
	gasneti_lc_over(lc_opt);
	return gasneti_prepare_reply(token, GASNETI_WORD(0, numargs, GASNETI_LONG | GASNETI_REPLY), client_buf,
				     least_payload, most_payload, flags);
}

static inline int gex_AM_CancelRequestMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
	(void)flags;
	return gasneti_cancel(sd, GASNETI_MEDIUM);
}
static inline int gex_AM_CancelReplyMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
	(void)flags;
	return gasneti_cancel(sd, GASNETI_MEDIUM | GASNETI_REPLY);
}
static inline int gex_AM_CancelRequestLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
	(void)flags;
	return gasneti_cancel(sd, GASNETI_LONG);
}
static inline int gex_AM_CancelReplyLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
	(void)flags;
	return gasneti_cancel(sd, GASNETI_LONG | GASNETI_REPLY);
}

/* --- the calls with a number -------------------------------------------------------------------------------------- */

/*
 * Parameters and arguments of a call with n: GASNETI_ARGS defines `args`, which is unused and removed if n is 0.
 */
#define GASNETI_P0
#define GASNETI_A0 0
#define GASNETI_ARGS(n_arg) const gex_AM_Arg_t args[(n_arg) ? (n_arg) : 1] = {GASNETI_A##n_arg};
#define GASNETI_ARGS_OF(n_arg) ((n_arg) ? args : NULL)

/* The two commits of a category. */
#define GASNETI_COMMIT_MEDIUM(what_arg, kind_arg, n_arg)                                                               \
	static inline int gex_AM_Commit##what_arg##Medium##n_arg##_v2(                                                 \
		gex_AM_SrcDesc_t sd, gex_AM_Index_t handler, size_t nbytes, gex_Flags_t commit_flags GASNETI_P##n_arg) \
	{                                                                                                              \
		GASNETI_ARGS(n_arg)                                                                                    \
		return gasneti_commit(sd, GASNETI_WORD(handler, n_arg, kind_arg), nbytes, NULL, commit_flags,          \
				      GASNETI_ARGS_OF(n_arg));                                                         \
	}                                                                                                              \
	static inline void gex_AM_Commit##what_arg##Medium##n_arg(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler,         \
								  size_t nbytes GASNETI_P##n_arg)                      \
	{                                                                                                              \
		GASNETI_ARGS(n_arg)                                                                                    \
		gasneti_commit(sd, GASNETI_WORD(handler, n_arg, kind_arg), nbytes, NULL, 0, GASNETI_ARGS_OF(n_arg));   \
	}
#define GASNETI_COMMIT_LONG(what_arg, kind_arg, n_arg)                                                                 \
	static inline int gex_AM_Commit##what_arg##Long##n_arg##_v2(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler,       \
								    size_t nbytes, void *dest_addr,                    \
								    gex_Flags_t commit_flags GASNETI_P##n_arg)         \
	{                                                                                                              \
		GASNETI_ARGS(n_arg)                                                                                    \
		return gasneti_commit(sd, GASNETI_WORD(handler, n_arg, kind_arg), nbytes, dest_addr, commit_flags,     \
				      GASNETI_ARGS_OF(n_arg));                                                         \
	}                                                                                                              \
	static inline void gex_AM_Commit##what_arg##Long##n_arg(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler,           \
								size_t nbytes, void *dest_addr GASNETI_P##n_arg)       \
	{                                                                                                              \
		GASNETI_ARGS(n_arg)                                                                                    \
		gasneti_commit(sd, GASNETI_WORD(handler, n_arg, kind_arg), nbytes, dest_addr, 0,                       \
			       GASNETI_ARGS_OF(n_arg));                                                                \
	}

/* All but short requests. */
#define GASNETI_CALLS(n_arg)                                                                                           \
	static inline int gex_AM_RequestMedium##n_arg(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler,            \
						      const void *source_addr, size_t nbytes, gex_Event_t *lc_opt,     \
						      gex_Flags_t flags GASNETI_P##n_arg)                              \
	{                                                                                                              \
		GASNETI_ARGS(n_arg) gasneti_lc_over(lc_opt);                                                           \
		return gasneti_gex_medium(tm, rank, GASNETI_WORD(handler, n_arg, GASNETI_MEDIUM), source_addr, nbytes, \
					  GASNETI_ARGS_OF(n_arg), flags);                                              \
	}                                                                                                              \
	static inline int gex_AM_RequestLong##n_arg(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler,              \
						    const void *source_addr, size_t nbytes, void *dest_addr,           \
						    gex_Event_t *lc_opt, gex_Flags_t flags GASNETI_P##n_arg)           \
	{                                                                                                              \
		GASNETI_ARGS(n_arg) gasneti_lc_over(lc_opt);                                                           \
		return gasneti_gex_long(tm, rank, GASNETI_WORD(handler, n_arg, GASNETI_LONG), source_addr, nbytes,     \
					dest_addr, GASNETI_ARGS_OF(n_arg), flags);                                     \
	}                                                                                                              \
	static inline int gex_AM_ReplyShort##n_arg(gex_Token_t token, gex_AM_Index_t handler,                          \
						   gex_Flags_t flags GASNETI_P##n_arg)                                 \
	{                                                                                                              \
		GASNETI_ARGS(n_arg)                                                                                    \
		return gasneti_gex_reply_short(token, GASNETI_WORD(handler, n_arg, GASNETI_SHORT | GASNETI_REPLY),     \
					       GASNETI_ARGS_OF(n_arg), flags);                                         \
	}                                                                                                              \
	static inline int gex_AM_ReplyMedium##n_arg(gex_Token_t token, gex_AM_Index_t handler,                         \
						    const void *source_addr, size_t nbytes, gex_Event_t *lc_opt,       \
						    gex_Flags_t flags GASNETI_P##n_arg)                                \
	{                                                                                                              \
		GASNETI_ARGS(n_arg) gasneti_lc_over(lc_opt);                                                           \
		return gasneti_gex_reply_medium(token, GASNETI_WORD(handler, n_arg, GASNETI_MEDIUM | GASNETI_REPLY),   \
						source_addr, nbytes, GASNETI_ARGS_OF(n_arg), flags);                   \
	}                                                                                                              \
	static inline int gex_AM_ReplyLong##n_arg(gex_Token_t token, gex_AM_Index_t handler, const void *source_addr,  \
						  size_t nbytes, void *dest_addr, gex_Event_t *lc_opt,                 \
						  gex_Flags_t flags GASNETI_P##n_arg)                                  \
	{                                                                                                              \
		GASNETI_ARGS(n_arg) gasneti_lc_over(lc_opt);                                                           \
		return gasneti_gex_reply_long(token, GASNETI_WORD(handler, n_arg, GASNETI_LONG | GASNETI_REPLY),       \
					      source_addr, nbytes, dest_addr, GASNETI_ARGS_OF(n_arg), flags);          \
	}                                                                                                              \
	GASNETI_COMMIT_MEDIUM(Request, GASNETI_MEDIUM, n_arg)                                                          \
	GASNETI_COMMIT_MEDIUM(Reply, GASNETI_MEDIUM | GASNETI_REPLY, n_arg)                                            \
	GASNETI_COMMIT_LONG(Request, GASNETI_LONG, n_arg)                                                              \
	GASNETI_COMMIT_LONG(Reply, GASNETI_LONG | GASNETI_REPLY, n_arg)

#define GASNETI_CALLS_N(n_arg)                                                                                         \
	static inline int gex_AM_RequestShort##n_arg(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler,             \
						     gex_Flags_t flags GASNETI_P##n_arg)                               \
	{                                                                                                              \
		const struct {                                                                                         \
			uint64_t word;                                                                                 \
			gex_AM_Arg_t args[n_arg];                                                                      \
		} message = {gasneti_front.word + GASNETI_WORD(handler, n_arg, GASNETI_SHORT), {GASNETI_A##n_arg}};    \
		return gasneti_gex_short(tm, rank, &message, 8 + 4 * (n_arg), flags);                                  \
	}                                                                                                              \
	GASNETI_CALLS(n_arg)

static inline int gex_AM_RequestShort0(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, gex_Flags_t flags)
{
	const uint64_t word = gasneti_front.word + GASNETI_WORD(handler, 0, GASNETI_SHORT);
	return gasneti_gex_short(tm, rank, &word, sizeof word, flags);
}
GASNETI_CALLS(0)
GASNETI_EACH_1_TO_16(GASNETI_CALLS_N)

#undef GASNETI_CALLS_N
#undef GASNETI_CALLS
#undef GASNETI_COMMIT_LONG
#undef GASNETI_COMMIT_MEDIUM
#undef GASNETI_ARGS_OF
#undef GASNETI_ARGS
#undef GASNETI_A0
#undef GASNETI_P0

#ifdef __cplusplus
}
#endif

/* --- the calls without a number ----------------------------------------------------------------------------------- */

/* The number of arguments after the first k, which every call has. */
/* clang-format off */
#define GASNETI_PICK(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21,   \
		     a22, a23, a24, n_arg, ...) n_arg
#define GASNETI_BEHIND_3(...)                                                                                          \
	GASNETI_PICK(__VA_ARGS__, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,        \
		     FEW, FEW, FEW)
#define GASNETI_BEHIND_4(...)                                                                                          \
	GASNETI_PICK(__VA_ARGS__, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,            \
		     FEW, FEW, FEW, FEW)
#define GASNETI_BEHIND_5(...)                                                                                          \
	GASNETI_PICK(__VA_ARGS__, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, FEW,           \
		     FEW, FEW, FEW, FEW)
#define GASNETI_BEHIND_6(...)                                                                                          \
	GASNETI_PICK(__VA_ARGS__, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, FEW, FEW,          \
		     FEW, FEW, FEW, FEW)
#define GASNETI_BEHIND_7(...)                                                                                          \
	GASNETI_PICK(__VA_ARGS__, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, FEW, FEW, FEW,         \
		     FEW, FEW, FEW, FEW)
#define GASNETI_BEHIND_8(...)                                                                                          \
	GASNETI_PICK(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, FEW, FEW, FEW, FEW,        \
		     FEW, FEW, FEW, FEW)
#define GASNETI_N_(a_arg, b_arg, c_arg) a_arg##b_arg##c_arg
#define GASNETI_N(a_arg, b_arg, c_arg) GASNETI_N_(a_arg, b_arg, c_arg)
#define gex_AM_RequestShort(...) GASNETI_N(gex_AM_RequestShort, GASNETI_BEHIND_4(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_RequestMedium(...) GASNETI_N(gex_AM_RequestMedium, GASNETI_BEHIND_7(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_RequestLong(...) GASNETI_N(gex_AM_RequestLong, GASNETI_BEHIND_8(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_ReplyShort(...) GASNETI_N(gex_AM_ReplyShort, GASNETI_BEHIND_3(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_ReplyMedium(...) GASNETI_N(gex_AM_ReplyMedium, GASNETI_BEHIND_6(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_ReplyLong(...) GASNETI_N(gex_AM_ReplyLong, GASNETI_BEHIND_7(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_CommitRequestMedium(...)                                                                                \
	GASNETI_N(gex_AM_CommitRequestMedium, GASNETI_BEHIND_3(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_CommitReplyMedium(...)                                                                                  \
	GASNETI_N(gex_AM_CommitReplyMedium, GASNETI_BEHIND_3(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_CommitRequestLong(...)                                                                                  \
	GASNETI_N(gex_AM_CommitRequestLong, GASNETI_BEHIND_4(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_CommitReplyLong(...) GASNETI_N(gex_AM_CommitReplyLong, GASNETI_BEHIND_4(__VA_ARGS__), )(__VA_ARGS__)
#define gex_AM_CommitRequestMedium_v2(...)                                                                             \
	GASNETI_N(gex_AM_CommitRequestMedium, GASNETI_BEHIND_4(__VA_ARGS__), _v2)(__VA_ARGS__)
#define gex_AM_CommitReplyMedium_v2(...)                                                                               \
	GASNETI_N(gex_AM_CommitReplyMedium, GASNETI_BEHIND_4(__VA_ARGS__), _v2)(__VA_ARGS__)
#define gex_AM_CommitRequestLong_v2(...)                                                                               \
	GASNETI_N(gex_AM_CommitRequestLong, GASNETI_BEHIND_5(__VA_ARGS__), _v2)(__VA_ARGS__)
#define gex_AM_CommitReplyLong_v2(...)                                                                                 \
	GASNETI_N(gex_AM_CommitReplyLong, GASNETI_BEHIND_5(__VA_ARGS__), _v2)(__VA_ARGS__)
/* clang-format on */

#endif /* GASNET_PGAS_GEX_AM_H */
