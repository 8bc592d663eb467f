/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet-1's extended interface: put, get, memset, values, their synchronisation, and barriers. Part of gasnet.h.
 * gasnet_pgas_copy.h says what is ordered, and when a transfer is complete.
 */
#ifndef GASNET_PGAS_RMA_H
#define GASNET_PGAS_RMA_H

#ifdef __cplusplus
extern "C" {
#endif

/* budget: 9 instructions for a constant 8 bytes (paths.def: gasnet_put, gasnet_put_nbi) */
PGAS_HOT gasnet_handle_t gasneti_put_some(gasnet_node_t node, void *dest, const void *src, size_t nbytes,
					  enum gasneti_until until, int implicit)
{
	const uint64_t window = gasneti_window(node);
	if (PGAS_UNLIKELY(!window))
		return gasneti_put_far(node, dest, src, nbytes, until, implicit);
	gasneti_put_here((char *)dest + window, src, nbytes);
	return GASNET_INVALID_HANDLE;
}
/* budget: 7 instructions for a constant 8 bytes (paths.def: gasnet_get_bulk) */
PGAS_HOT gasnet_handle_t gasneti_get_some(void *dest, gasnet_node_t node, const void *src, size_t nbytes,
					  enum gasneti_until until, int implicit)
{
	const uint64_t window = gasneti_window(node);
	if (PGAS_UNLIKELY(!window))
		return gasneti_get_far(dest, node, src, nbytes, until, implicit);
	gasneti_get_here(dest, (const char *)src + window, nbytes);
	return GASNET_INVALID_HANDLE;
}

PGAS_HOT void gasneti_memset(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
	const uint64_t window = gasneti_window(node);
	if (PGAS_UNLIKELY(!window)) {
		gasneti_memset_far(node, dest, val, nbytes);
		return;
	}
	pgas_fence_store_store(); /* as for a put of a word: memset of one word may clear a flag */
	memset((char *)dest + window, val, nbytes);
	pgas_fence_compiler();
}

/* --- blocking ----------------------------------------------------------------------------------------------------- */

/* budget: 9 instructions for a constant 8 bytes (paths.def: gasnet_put, gasnet_get), 7 of gasnet_get_bulk */
PGAS_HOT void gasnet_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	gasneti_put_some(node, dest, src, nbytes, GASNETI_DONE, 0);
}
PGAS_HOT void gasnet_put_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	gasneti_put_some(node, dest, src, nbytes, GASNETI_DONE, 0);
}
PGAS_HOT void gasnet_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	gasneti_get_some(dest, node, src, nbytes, GASNETI_DONE, 0);
}
PGAS_HOT void gasnet_get_bulk(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	gasneti_get_some(dest, node, src, nbytes, GASNETI_DONE, 0);
}
PGAS_HOT void gasnet_memset(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
	gasneti_memset(node, dest, val, nbytes);
}

/* --- implicit handles --------------------------------------------------------------------------------------------- */

/* budget: 9 instructions for a constant 8 bytes (paths.def: gasnet_put_nbi) */
PGAS_HOT void gasnet_put_nbi(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	gasneti_put_some(node, dest, src, nbytes, GASNETI_REUSABLE, 1);
}
PGAS_HOT void gasnet_put_nbi_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	gasneti_put_some(node, dest, src, nbytes, GASNETI_TAKEN, 1);
}
PGAS_HOT void gasnet_get_nbi(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	gasneti_get_some(dest, node, src, nbytes, GASNETI_TAKEN, 1);
}
PGAS_HOT void gasnet_get_nbi_bulk(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	gasneti_get_some(dest, node, src, nbytes, GASNETI_TAKEN, 1);
}
PGAS_HOT void gasnet_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
	gasneti_memset(node, dest, val, nbytes);
}

PGAS_HOT void gasnet_wait_syncnbi_puts(void)
{
	gasneti_sync_implicit();
}
PGAS_HOT void gasnet_wait_syncnbi_gets(void)
{
	gasneti_sync_implicit();
}
PGAS_HOT void gasnet_wait_syncnbi_all(void)
{
	gasneti_sync_implicit();
}
PGAS_HOT int gasnet_try_syncnbi_puts(void)
{
	return gasneti_try_implicit();
}
PGAS_HOT int gasnet_try_syncnbi_gets(void)
{
	return gasneti_try_implicit();
}
PGAS_HOT int gasnet_try_syncnbi_all(void)
{
	return gasneti_try_implicit();
}

PGAS_HOT void gasnet_begin_nbi_accessregion(void)
{
}
PGAS_HOT gasnet_handle_t gasnet_end_nbi_accessregion(void)
{
	return gasneti_end_region();
}

/* --- explicit handles: GASNET_INVALID_HANDLE if the transfer is complete when the call returns -------------------- */

PGAS_HOT gasnet_handle_t gasnet_put_nb(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	return gasneti_put_some(node, dest, src, nbytes, GASNETI_REUSABLE, 0);
}
PGAS_HOT gasnet_handle_t gasnet_put_nb_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	return gasneti_put_some(node, dest, src, nbytes, GASNETI_TAKEN, 0);
}
PGAS_HOT gasnet_handle_t gasnet_get_nb(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	return gasneti_get_some(dest, node, src, nbytes, GASNETI_TAKEN, 0);
}
PGAS_HOT gasnet_handle_t gasnet_get_nb_bulk(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	return gasneti_get_some(dest, node, src, nbytes, GASNETI_TAKEN, 0);
}
PGAS_HOT gasnet_handle_t gasnet_memset_nb(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
	gasnet_memset(node, dest, val, nbytes);
	return GASNET_INVALID_HANDLE;
}

/* Any call of the try_ and wait_ family may be in a client's waiting loop, so all but the nopoll ones poll. */
PGAS_HOT void gasnet_wait_syncnb(gasnet_handle_t handle)
{
	gasneti_sync_handle(handle, "gasnet_wait_syncnb");
}
PGAS_HOT int gasnet_try_syncnb(gasnet_handle_t handle)
{
	gasnet_AMPoll();
	return gasneti_try_handle(handle, "gasnet_try_syncnb");
}
PGAS_HOT int gasnet_try_syncnb_nopoll(gasnet_handle_t handle)
{
	return gasneti_try_handle(handle, "gasnet_try_syncnb_nopoll");
}
PGAS_HOT void gasnet_wait_syncnb_all(gasnet_handle_t *handles, size_t count)
{
	gasneti_sync_handles(handles, count, "gasnet_wait_syncnb_all");
}
PGAS_HOT int gasnet_try_syncnb_all(gasnet_handle_t *handles, size_t count)
{
	gasnet_AMPoll();
	return gasneti_try_handles(handles, count, 0, "gasnet_try_syncnb_all");
}
PGAS_HOT int gasnet_try_syncnb_all_nopoll(gasnet_handle_t *handles, size_t count)
{
	return gasneti_try_handles(handles, count, 0, "gasnet_try_syncnb_all_nopoll");
}
PGAS_HOT void gasnet_wait_syncnb_some(gasnet_handle_t *handles, size_t count)
{
	gasneti_sync_some_handles(handles, count, "gasnet_wait_syncnb_some");
}
PGAS_HOT int gasnet_try_syncnb_some(gasnet_handle_t *handles, size_t count)
{
	gasnet_AMPoll();
	return gasneti_try_handles(handles, count, 1, "gasnet_try_syncnb_some");
}
PGAS_HOT int gasnet_try_syncnb_some_nopoll(gasnet_handle_t *handles, size_t count)
{
	return gasneti_try_handles(handles, count, 1, "gasnet_try_syncnb_some_nopoll");
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Values of 3, 5, 6 or 7 bytes, and nodes without a window: out of line. */
PGAS_HOT gasnet_handle_t gasneti_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes,
					 enum gasneti_until until, int implicit)
{
	const uint64_t window = gasneti_window(node);
	if (PGAS_UNLIKELY(!window) || !gasneti_put_value_here((char *)dest + window, value, nbytes))
		return gasneti_put_odd(node, dest, value, nbytes, until, implicit);
	return GASNET_INVALID_HANDLE;
}
PGAS_HOT void gasnet_put_nbi_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes)
{
	gasneti_put_val(node, dest, value, nbytes, GASNETI_REUSABLE, 1);
}
PGAS_HOT void gasnet_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes)
{
	gasneti_put_val(node, dest, value, nbytes, GASNETI_DONE, 0);
}
PGAS_HOT gasnet_handle_t gasnet_put_nb_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes)
{
	return gasneti_put_val(node, dest, value, nbytes, GASNETI_REUSABLE, 0);
}
PGAS_HOT gasnet_register_value_t gasnet_get_val(gasnet_node_t node, const void *src, size_t nbytes)
{
	const uint64_t window = gasneti_window(node);
	gasnet_register_value_t value;
	if (PGAS_UNLIKELY(!window) || !gasneti_get_value_here(&value, (const char *)src + window, nbytes))
		return gasneti_get_odd(node, src, nbytes);
	return value;
}
PGAS_HOT gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, const void *src, size_t nbytes)
{
	return gasnet_get_val(node, src, nbytes);
}
PGAS_HOT gasnet_register_value_t gasnet_wait_syncnb_valget(gasnet_valget_handle_t handle)
{
	return handle;
}

#ifdef __cplusplus
}
#endif

#endif /* GASNET_PGAS_RMA_H */
