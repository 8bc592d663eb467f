/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet-EX's events, put and get. Part of gasnetex.h. gasnet_pgas_copy.h says what is ordered, and when a transfer is
 * complete.
 *
 * To a member with a window a transfer is complete when the call returns, including its local completion, whose
 * events are GEX_EVENT_INVALID. To others the library waits as long as `lc_opt` requires.
 */
#ifndef GASNET_PGAS_GEX_RMA_H
#define GASNET_PGAS_GEX_RMA_H

#ifdef __cplusplus
extern "C" {
#endif

/* --- events ------------------------------------------------------------------------------------------------------- */

typedef uint32_t gex_EC_t;
#define GEX_EC_GET ((gex_EC_t)1)
#define GEX_EC_PUT ((gex_EC_t)2)
#define GEX_EC_AM ((gex_EC_t)4)
#define GEX_EC_LC ((gex_EC_t)8)
#define GEX_EC_RMW ((gex_EC_t)16)
#define GEX_EC_ALL ((gex_EC_t)31)

/* Test never polls; Wait does while it has to. budget: 4 instructions for an event that is over (gex_event_test) */
PGAS_HOT int gex_Event_Test(gex_Event_t event)
{
	return gasneti_try_handle(event, "gex_Event_Test");
}
PGAS_HOT void gex_Event_Wait(gex_Event_t event)
{
	gasneti_sync_handle(event, "gex_Event_Wait");
}
PGAS_HOT int gex_Event_TestSome(gex_Event_t *pevent, size_t numevents, gex_Flags_t flags)
{
	(void)flags;
	return gasneti_try_handles(pevent, numevents, 1, "gex_Event_TestSome");
}
PGAS_HOT int gex_Event_TestAll(gex_Event_t *pevent, size_t numevents, gex_Flags_t flags)
{
	(void)flags;
	return gasneti_try_handles(pevent, numevents, 0, "gex_Event_TestAll");
}
PGAS_HOT void gex_Event_WaitSome(gex_Event_t *pevent, size_t numevents, gex_Flags_t flags)
{
	(void)flags;
	gasneti_sync_some_handles(pevent, numevents, "gex_Event_WaitSome");
}
PGAS_HOT void gex_Event_WaitAll(gex_Event_t *pevent, size_t numevents, gex_Flags_t flags)
{
	(void)flags;
	gasneti_sync_handles(pevent, numevents, "gex_Event_WaitAll");
}
/* A put whose source may be reused already has a completed event for that. Every other part is over with the whole. */
PGAS_EXPORT gex_Event_t gasneti_local_leaf(gex_Event_t root) PGAS_NOEXCEPT;
PGAS_HOT gex_Event_t gex_Event_QueryLeaf(gex_Event_t root, gex_EC_t event_category)
{
	return event_category == GEX_EC_LC ? gasneti_local_leaf(root) : root;
}

/* budget: 6 instructions when nothing is open (paths.def: gex_nbi_wait) */
PGAS_HOT void gex_NBI_Wait(gex_EC_t event_mask, gex_Flags_t flags)
{
	(void)event_mask, (void)flags;
	gasneti_sync_implicit();
}
PGAS_HOT int gex_NBI_Test(gex_EC_t event_mask, gex_Flags_t flags)
{
	(void)event_mask, (void)flags;
	return gasneti_try_implicit();
}
PGAS_HOT void gex_NBI_BeginAccessRegion(gex_Flags_t flags)
{
	(void)flags;
}
PGAS_HOT gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags)
{
	(void)flags;
	return gasneti_end_region();
}

/* --- members without a window ------------------------------------------------------------------------------------- */

PGAS_EXPORT gex_Event_t gasneti_tm_put_far(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
					   enum gasneti_until until, int implicit) PGAS_NOEXCEPT __attribute__((cold));
PGAS_EXPORT gex_Event_t gasneti_tm_get_far(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes,
					   enum gasneti_until until, int implicit) PGAS_NOEXCEPT __attribute__((cold));
/* The same, and values of 3, 5, 6 or 7 bytes. */
PGAS_EXPORT gex_Event_t gasneti_tm_put_odd(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value,
					   size_t nbytes, enum gasneti_until until, int implicit) PGAS_NOEXCEPT;
PGAS_EXPORT gex_RMA_Value_t gasneti_tm_get_odd(gex_TM_t tm, gex_Rank_t rank, const void *src,
					       size_t nbytes) PGAS_NOEXCEPT;

/* budget: 2 instructions on aarch64, and of x86_64 part of one */
PGAS_HOT uint64_t gasneti_tm_window(gex_TM_t tm, gex_Rank_t rank)
{
	return tm->windows[rank];
}

/* budget: 8 instructions for a constant 8 bytes, 7 of a get (paths.def: gex_put_nbi, gex_put, gex_get) */
PGAS_HOT gex_Event_t gasneti_tm_put(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
				    enum gasneti_until until, int implicit)
{
	const uint64_t window = gasneti_tm_window(tm, rank);
	if (PGAS_UNLIKELY(!window))
		return gasneti_tm_put_far(tm, rank, dest, src, nbytes, until, implicit);
	gasneti_put_here((char *)dest + window, src, nbytes);
	return GEX_EVENT_INVALID;
}
PGAS_HOT gex_Event_t gasneti_tm_get(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes,
				    enum gasneti_until until, int implicit)
{
	const uint64_t window = gasneti_tm_window(tm, rank);
	if (PGAS_UNLIKELY(!window))
		return gasneti_tm_get_far(tm, dest, rank, src, nbytes, until, implicit);
	gasneti_get_here(dest, (const char *)src + window, nbytes);
	return GEX_EVENT_INVALID;
}
PGAS_HOT gex_Event_t gasneti_tm_put_val(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes,
					enum gasneti_until until, int implicit)
{
	const uint64_t window = gasneti_tm_window(tm, rank);
	if (PGAS_UNLIKELY(!window) || !gasneti_put_value_here((char *)dest + window, value, nbytes))
		return gasneti_tm_put_odd(tm, rank, dest, value, nbytes, until, implicit);
	return GEX_EVENT_INVALID;
}

/* How long a put waits for its source. If lc_opt is a caller's variable, it gets a completed event: the library
 * waited. */
PGAS_HOT enum gasneti_until gasneti_local_completion(gex_Event_t *lc_opt)
{
	if (lc_opt == GEX_EVENT_DEFER || lc_opt == GEX_EVENT_GROUP)
		return GASNETI_TAKEN;
	if (lc_opt != GEX_EVENT_NOW && lc_opt)
		*lc_opt = GEX_EVENT_INVALID;
	return GASNETI_REUSABLE;
}

/* --- put ---------------------------------------------------------------------------------------------------------- */

PGAS_HOT int gex_RMA_PutBlocking(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
				 gex_Flags_t flags)
{
	(void)flags;
	gasneti_tm_put(tm, rank, dest, src, nbytes, GASNETI_DONE, 0);
	return 0;
}
PGAS_HOT int gex_RMA_PutNBI(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
			    gex_Event_t *lc_opt, gex_Flags_t flags)
{
	(void)flags;
	gasneti_tm_put(tm, rank, dest, src, nbytes, gasneti_local_completion(lc_opt), 1);
	return 0;
}
PGAS_HOT gex_Event_t gex_RMA_PutNB(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
				   gex_Event_t *lc_opt, gex_Flags_t flags)
{
	(void)flags;
	return gasneti_tm_put(tm, rank, dest, src, nbytes, gasneti_local_completion(lc_opt), 0);
}

/* --- get ---------------------------------------------------------------------------------------------------------- */

PGAS_HOT int gex_RMA_GetBlocking(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes, gex_Flags_t flags)
{
	(void)flags;
	gasneti_tm_get(tm, dest, rank, src, nbytes, GASNETI_DONE, 0);
	return 0;
}
PGAS_HOT int gex_RMA_GetNBI(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes, gex_Flags_t flags)
{
	(void)flags;
	gasneti_tm_get(tm, dest, rank, src, nbytes, GASNETI_TAKEN, 1);
	return 0;
}
PGAS_HOT gex_Event_t gex_RMA_GetNB(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes,
				   gex_Flags_t flags)
{
	(void)flags;
	return gasneti_tm_get(tm, dest, rank, src, nbytes, GASNETI_TAKEN, 0);
}

/* --- values ------------------------------------------------------------------------------------------------------- */

PGAS_HOT gex_RMA_Value_t gex_RMA_GetBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *src, size_t nbytes,
						gex_Flags_t flags)
{
	const uint64_t window = gasneti_tm_window(tm, rank);
	gex_RMA_Value_t value;
	(void)flags;
	if (PGAS_UNLIKELY(!window) || !gasneti_get_value_here(&value, (const char *)src + window, nbytes))
		return gasneti_tm_get_odd(tm, rank, src, nbytes);
	return value;
}
PGAS_HOT int gex_RMA_PutBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes,
				    gex_Flags_t flags)
{
	(void)flags;
	gasneti_tm_put_val(tm, rank, dest, value, nbytes, GASNETI_DONE, 0);
	return 0;
}
PGAS_HOT int gex_RMA_PutNBIVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes,
			       gex_Flags_t flags)
{
	(void)flags;
	gasneti_tm_put_val(tm, rank, dest, value, nbytes, GASNETI_REUSABLE, 1);
	return 0;
}
PGAS_HOT gex_Event_t gex_RMA_PutNBVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes,
				      gex_Flags_t flags)
{
	(void)flags;
	return gasneti_tm_put_val(tm, rank, dest, value, nbytes, GASNETI_REUSABLE, 0);
}

#ifdef __cplusplus
}
#endif

#endif /* GASNET_PGAS_GEX_RMA_H */
