/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The extended interface: put, get, memset, values, their synchronisation, and barriers. Part of gasnet.h.
 *
 * All segments begin at one address, and the endpoint's windows are addressed by it (fi_ext_pgas.h, symmetric): the
 * address of a datum in its node's segment plus window[node] is its address here. A window that is set makes a transfer a
 * copy that is over when the call returns, so non-blocking calls answer GASNET_INVALID_HANDLE, which is complete. A
 * window that is 0 leads to the library, which moves the bytes through the provider and waits.
 */
#ifndef GASNET_PGAS_RMA_H
#define GASNET_PGAS_RMA_H

#ifdef __cplusplus
extern "C" {
#endif

PGAS_EXPORT void gasneti_put_other(gasnet_node_t node, void *dest, const void *src, size_t nbytes) PGAS_NOEXCEPT;
PGAS_EXPORT void gasneti_get_other(void *dest, gasnet_node_t node, const void *src, size_t nbytes) PGAS_NOEXCEPT;
PGAS_EXPORT void gasneti_put_value_other(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes) PGAS_NOEXCEPT;
PGAS_EXPORT gasnet_register_value_t gasneti_get_value_other(gasnet_node_t node, const void *src, size_t nbytes) PGAS_NOEXCEPT;
PGAS_EXPORT void gasneti_memset_other(gasnet_node_t node, void *dest, int val, size_t nbytes) PGAS_NOEXCEPT;
PGAS_EXPORT void gasneti_sync_other(void) PGAS_NOEXCEPT; /* waits for everything handed to a wire */

/* pair with one another across processes: see "Order" below */
#define GASNETI_STORE(p_arg, v_arg, type_arg) pgas_store_release((type_arg *)(p_arg), (v_arg))
#define GASNETI_LOAD(v_arg, p_arg, type_arg) ((v_arg) = pgas_load_acquire((const type_arg *)(p_arg)))

/* bulk transfers may be unaligned, which ordered accesses of aarch64 may not be */
#if defined(__x86_64__)
#define GASNETI_ALIGNED(p_arg, n_arg) 1
#else
#define GASNETI_ALIGNED(p_arg, n_arg) PGAS_LIKELY((uintptr_t)(p_arg) % (n_arg) == 0)
#endif

/* Where an address of node's segment is mapped here, as an addend; 0: it is not. budget: 2 instructions */
PGAS_HOT uint64_t gasneti_window(gasnet_node_t node)
{
	return pgas_hot_window(gasneti_front.rma, node, 0, 0, PGAS_UNCHECKED);
}

/*
 * Order. A put is visible before every later put, message and barrier of its thread: one of 1, 2, 4 or 8 bytes is a store
 * with release, a longer one begins with a store fence; so completing a put costs nothing. A get is done before every later
 * one: a load with acquire, or a fence behind the copy. On x86_64 all of this is plain moves. Plain loads and stores of the
 * client are its own to order, as the specification says.
 */
PGAS_HOT void gasneti_copy_out(void *shared, const void *from, size_t len)
{
	if (len == 8 && GASNETI_ALIGNED(shared, 8)) {
		PGAS_MOVE(pgas_u64_alias, shared, from, PGAS_LOAD_PRIVATE, GASNETI_STORE);
	} else if (len == 4 && GASNETI_ALIGNED(shared, 4)) {
		PGAS_MOVE(pgas_u32_alias, shared, from, PGAS_LOAD_PRIVATE, GASNETI_STORE);
	} else if (len == 2 && GASNETI_ALIGNED(shared, 2)) {
		PGAS_MOVE(pgas_u16_alias, shared, from, PGAS_LOAD_PRIVATE, GASNETI_STORE);
	} else if (len == 1) {
		PGAS_MOVE(uint8_t, shared, from, PGAS_LOAD_PRIVATE, GASNETI_STORE);
	} else {
		pgas_fence_stores();
		memcpy(shared, from, len);
	}
}

PGAS_HOT void gasneti_copy_in(void *to, const void *shared, size_t len)
{
	if (len == 8 && GASNETI_ALIGNED(shared, 8)) {
		PGAS_MOVE(pgas_u64_alias, to, shared, GASNETI_LOAD, PGAS_STORE_PRIVATE);
	} else if (len == 4 && GASNETI_ALIGNED(shared, 4)) {
		PGAS_MOVE(pgas_u32_alias, to, shared, GASNETI_LOAD, PGAS_STORE_PRIVATE);
	} else if (len == 2 && GASNETI_ALIGNED(shared, 2)) {
		PGAS_MOVE(pgas_u16_alias, to, shared, GASNETI_LOAD, PGAS_STORE_PRIVATE);
	} else if (len == 1) {
		PGAS_MOVE(uint8_t, to, shared, GASNETI_LOAD, PGAS_STORE_PRIVATE);
	} else {
		memcpy(to, shared, len);
		pgas_fence_acquire();
	}
}

/* budget: 7 instructions for a constant 8 bytes (paths.def: gasnet_put_nbi_8) */
PGAS_HOT void gasneti_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	const uint64_t window = gasneti_window(node);
	if (PGAS_LIKELY(window))
		gasneti_copy_out((void *)((uintptr_t)dest + window), src, nbytes);
	else
		gasneti_put_other(node, dest, src, nbytes);
}

/* budget: 7 instructions for a constant 8 bytes */
PGAS_HOT void gasneti_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	const uint64_t window = gasneti_window(node);
	if (PGAS_LIKELY(window))
		gasneti_copy_in(dest, (const void *)((uintptr_t)src + window), nbytes);
	else
		gasneti_get_other(dest, node, src, nbytes);
}

/* The same for a length that only the call knows: one memcpy, no switch in every caller. */
PGAS_HOT void gasneti_put_some(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	const uint64_t window = gasneti_window(node);
	if (PGAS_LIKELY(window)) {
		pgas_fence_stores();
		memcpy((void *)((uintptr_t)dest + window), src, nbytes);
	} else {
		gasneti_put_other(node, dest, src, nbytes);
	}
}

PGAS_HOT void gasneti_get_some(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	const uint64_t window = gasneti_window(node);
	if (PGAS_LIKELY(window)) {
		memcpy(dest, (const void *)((uintptr_t)src + window), nbytes);
		pgas_fence_acquire();
	} else {
		gasneti_get_other(dest, node, src, nbytes);
	}
}

/* A length known at compile time becomes moves. */
#define GASNETI_PUT(node_arg, dest_arg, src_arg, nbytes_arg)                                                           \
	(__builtin_constant_p(nbytes_arg) ? gasneti_put(node_arg, dest_arg, src_arg, nbytes_arg) :                     \
					    gasneti_put_some(node_arg, dest_arg, src_arg, nbytes_arg))
#define GASNETI_GET(dest_arg, node_arg, src_arg, nbytes_arg)                                                           \
	(__builtin_constant_p(nbytes_arg) ? gasneti_get(dest_arg, node_arg, src_arg, nbytes_arg) :                     \
					    gasneti_get_some(dest_arg, node_arg, src_arg, nbytes_arg))

PGAS_HOT void gasneti_memset(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
	const uint64_t window = gasneti_window(node);
	pgas_fence_stores();
	if (PGAS_LIKELY(window))
		memset((void *)((uintptr_t)dest + window), val, nbytes);
	else
		gasneti_memset_other(node, dest, val, nbytes);
}

/* --- blocking ------------------------------------------------------------------------------------------------------ */

/* budget: 10 instructions for a constant 8 bytes (paths.def: gasnet_put_bulk_8) */
PGAS_HOT void gasnet_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	GASNETI_PUT(node, dest, src, nbytes);
}
PGAS_HOT void gasnet_put_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	GASNETI_PUT(node, dest, src, nbytes);
}
PGAS_HOT void gasnet_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	GASNETI_GET(dest, node, src, nbytes);
}
PGAS_HOT void gasnet_get_bulk(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	GASNETI_GET(dest, node, src, nbytes);
}
PGAS_HOT void gasnet_memset(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
	gasneti_memset(node, dest, val, nbytes);
}

/* --- implicit handles ---------------------------------------------------------------------------------------------- */

/* budget: 9 instructions for a constant 8 bytes (paths.def: gasnet_put_nbi_8) */
PGAS_HOT void gasnet_put_nbi(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	GASNETI_PUT(node, dest, src, nbytes);
}
PGAS_HOT void gasnet_put_nbi_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	GASNETI_PUT(node, dest, src, nbytes);
}
PGAS_HOT void gasnet_get_nbi(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	GASNETI_GET(dest, node, src, nbytes);
}
PGAS_HOT void gasnet_get_nbi_bulk(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	GASNETI_GET(dest, node, src, nbytes);
}
PGAS_HOT void gasnet_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
	gasneti_memset(node, dest, val, nbytes);
}

/* budget: 6 instructions when nothing is pending (paths.def: gasnet_wait_syncnbi_puts) */
PGAS_HOT void gasnet_wait_syncnbi_puts(void)
{
	if (PGAS_UNLIKELY(gasneti_front.pending_puts))
		gasneti_sync_other();
}
PGAS_HOT void gasnet_wait_syncnbi_gets(void)
{
	if (PGAS_UNLIKELY(gasneti_front.pending_gets))
		gasneti_sync_other();
}
PGAS_HOT void gasnet_wait_syncnbi_all(void)
{
	gasnet_wait_syncnbi_puts();
	gasnet_wait_syncnbi_gets();
}
PGAS_HOT int gasnet_try_syncnbi_puts(void)
{
	gasnet_wait_syncnbi_puts(); /* what is pending here is under way in a wire: a wait is bounded */
	return GASNET_OK;
}
PGAS_HOT int gasnet_try_syncnbi_gets(void)
{
	gasnet_wait_syncnbi_gets();
	return GASNET_OK;
}
PGAS_HOT int gasnet_try_syncnbi_all(void)
{
	gasnet_wait_syncnbi_all();
	return GASNET_OK;
}

PGAS_HOT void gasnet_begin_nbi_accessregion(void)
{
}
PGAS_HOT gasnet_handle_t gasnet_end_nbi_accessregion(void)
{
	gasnet_wait_syncnbi_all();
	return GASNET_INVALID_HANDLE;
}

/* --- explicit handles: an operation is complete when it returns ---------------------------------------------------- */

PGAS_HOT gasnet_handle_t gasnet_put_nb(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	gasnet_put(node, dest, src, nbytes);
	return GASNET_INVALID_HANDLE;
}
PGAS_HOT gasnet_handle_t gasnet_put_nb_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes)
{
	gasnet_put_bulk(node, dest, src, nbytes);
	return GASNET_INVALID_HANDLE;
}
PGAS_HOT gasnet_handle_t gasnet_get_nb(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	gasnet_get(dest, node, src, nbytes);
	return GASNET_INVALID_HANDLE;
}
PGAS_HOT gasnet_handle_t gasnet_get_nb_bulk(void *dest, gasnet_node_t node, const void *src, size_t nbytes)
{
	gasnet_get_bulk(dest, node, src, nbytes);
	return GASNET_INVALID_HANDLE;
}
PGAS_HOT gasnet_handle_t gasnet_memset_nb(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
	gasnet_memset(node, dest, val, nbytes);
	return GASNET_INVALID_HANDLE;
}

/* A handle other than GASNET_INVALID_HANDLE was never handed out: fatal. */
PGAS_EXPORT void gasneti_bad_handle(const char *call) PGAS_NOEXCEPT __attribute__((noreturn, cold));

/* Every call of the try_ and wait_ family may be the loop in which a client waits, so all but the nopoll ones poll. */
PGAS_HOT int gasneti_sync_handle(gasnet_handle_t handle, const char *call)
{
	if (PGAS_UNLIKELY(handle != GASNET_INVALID_HANDLE))
		gasneti_bad_handle(call);
	return GASNET_OK;
}
PGAS_HOT int gasneti_sync_handles(gasnet_handle_t *handles, size_t count, const char *call)
{
	for (size_t i = 0; i < count; i++)
		gasneti_sync_handle(handles[i], call);
	return GASNET_OK;
}
PGAS_HOT void gasnet_wait_syncnb(gasnet_handle_t handle)
{
	gasneti_sync_handle(handle, "gasnet_wait_syncnb");
}
PGAS_HOT int gasnet_try_syncnb(gasnet_handle_t handle)
{
	gasnet_AMPoll();
	return gasneti_sync_handle(handle, "gasnet_try_syncnb");
}
PGAS_HOT int gasnet_try_syncnb_nopoll(gasnet_handle_t handle)
{
	return gasneti_sync_handle(handle, "gasnet_try_syncnb_nopoll");
}
PGAS_HOT void gasnet_wait_syncnb_all(gasnet_handle_t *handles, size_t count)
{
	gasneti_sync_handles(handles, count, "gasnet_wait_syncnb_all");
}
PGAS_HOT int gasnet_try_syncnb_all(gasnet_handle_t *handles, size_t count)
{
	gasnet_AMPoll();
	return gasneti_sync_handles(handles, count, "gasnet_try_syncnb_all");
}
PGAS_HOT int gasnet_try_syncnb_all_nopoll(gasnet_handle_t *handles, size_t count)
{
	return gasneti_sync_handles(handles, count, "gasnet_try_syncnb_all_nopoll");
}
PGAS_HOT void gasnet_wait_syncnb_some(gasnet_handle_t *handles, size_t count)
{
	gasneti_sync_handles(handles, count, "gasnet_wait_syncnb_some");
}
PGAS_HOT int gasnet_try_syncnb_some(gasnet_handle_t *handles, size_t count)
{
	gasnet_AMPoll();
	return gasneti_sync_handles(handles, count, "gasnet_try_syncnb_some");
}
PGAS_HOT int gasnet_try_syncnb_some_nopoll(gasnet_handle_t *handles, size_t count)
{
	return gasneti_sync_handles(handles, count, "gasnet_try_syncnb_some_nopoll");
}

/* --- values -------------------------------------------------------------------------------------------------------- */

PGAS_HOT int gasneti_put_bits(uint64_t to, gasnet_register_value_t value, size_t nbytes)
{
	if (nbytes == 8 && GASNETI_ALIGNED(to, 8))
		pgas_store_release((pgas_u64_alias *)to, value);
	else if (nbytes == 4 && GASNETI_ALIGNED(to, 4))
		pgas_store_release((pgas_u32_alias *)to, (uint32_t)value);
	else if (nbytes == 2 && GASNETI_ALIGNED(to, 2))
		pgas_store_release((pgas_u16_alias *)to, (uint16_t)value);
	else if (nbytes == 1)
		pgas_store_release((uint8_t *)to, (uint8_t)value);
	else
		return 0;
	return 1;
}

PGAS_HOT void gasnet_put_nbi_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes)
{
	const uint64_t window = gasneti_window(node);
	if (PGAS_LIKELY(window) && PGAS_LIKELY(gasneti_put_bits((uintptr_t)dest + window, value, nbytes)))
		return;
	gasneti_put_value_other(node, dest, value, nbytes);
}
PGAS_HOT void gasnet_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes)
{
	gasnet_put_nbi_val(node, dest, value, nbytes);
}
PGAS_HOT gasnet_handle_t gasnet_put_nb_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes)
{
	gasnet_put_val(node, dest, value, nbytes);
	return GASNET_INVALID_HANDLE;
}
PGAS_HOT gasnet_register_value_t gasnet_get_val(gasnet_node_t node, const void *src, size_t nbytes)
{
	const uint64_t window = gasneti_window(node), from = (uintptr_t)src + window;
	if (PGAS_UNLIKELY(!window))
		return gasneti_get_value_other(node, src, nbytes);
	if (nbytes == 8 && GASNETI_ALIGNED(from, 8))
		return pgas_load_acquire((const pgas_u64_alias *)from);
	if (nbytes == 4 && GASNETI_ALIGNED(from, 4))
		return pgas_load_acquire((const pgas_u32_alias *)from);
	if (nbytes == 2 && GASNETI_ALIGNED(from, 2))
		return pgas_load_acquire((const pgas_u16_alias *)from);
	if (nbytes == 1)
		return pgas_load_acquire((const uint8_t *)from);
	return gasneti_get_value_other(node, src, nbytes);
}
PGAS_HOT gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, const void *src, size_t nbytes)
{
	return gasnet_get_val(node, src, nbytes);
}
PGAS_HOT gasnet_register_value_t gasnet_wait_syncnb_valget(gasnet_valget_handle_t handle)
{
	return handle;
}

/* --- barriers ------------------------------------------------------------------------------------------------------ */

PGAS_EXPORT void gasnet_barrier_notify(int id, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasnet_barrier_wait(int id, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasnet_barrier_try(int id, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasnet_barrier(int id, int flags) PGAS_NOEXCEPT; /* notify and wait in one */
/* Of the last completed barrier: non-zero if nobody named it, else 0 and the name in *id. */
PGAS_EXPORT int gasnet_barrier_result(int *id) PGAS_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GASNET_PGAS_RMA_H */
