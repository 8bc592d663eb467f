/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How bytes move between nodes, and in which order: the basis of gasnet_pgas_rma.h and gasnet_pgas_gex_rma.h. Part of
 * gasnetex.h.
 *
 * All segments begin at one address, and gasnet_init has mapped those of the nodes on this host: the address of a datum
 * in its node's segment plus gasneti_windows[node] is its local address. Such a transfer is a copy that is complete
 * when the call returns, so non-blocking calls return GASNET_INVALID_HANDLE, which is complete. Transfers to nodes
 * without a window go through one library call: they are complete when the specification says so, no earlier.
 *
 * Order. By the specification a put is complete when later gets, or loads of the target, see it, and a get when its
 * value was there during the call. "Later" is what a thread can know: from a message, a barrier, a word that was put,
 * or by other means. So the calls that spread this knowledge are ordered, and the bytes are plain copies:
 * - messages and barriers release what their thread put and got before, and acquire where they arrive;
 * - a put of a word (1, 2, 4 or 8 aligned bytes; any kind of put) is a store with release: it may be a flag;
 * - a get of a word is a load with acquire: bytes that are got after it are not older;
 * - longer transfers are data: only one of the above between two of them orders them, or a fence of gasnet_tools.h;
 * - code that draws conclusions from the bytes of a longer get, or of a longer put before it is complete, needs that
 *   fence, or GASNET_PGAS_STRICT_ORDER, which gives every longer transfer a fence of its own;
 * - the client itself orders its plain loads and stores, with gasnett_local_wmb() and gasnett_local_rmb();
 * - nothing orders a put before a later get from another address: gasnett_local_mb() does.
 * On x86_64 all of this is plain moves. tests/gasnet_order.c checks each line.
 */
#ifndef GASNET_PGAS_COPY_H
#define GASNET_PGAS_COPY_H

#ifdef __cplusplus
extern "C" {
#endif

/* When a transfer to a node without a window returns to its caller. */
enum gasneti_until {
	GASNETI_DONE,     /* it is complete */
	GASNETI_REUSABLE, /* a put's source may be used again */
	GASNETI_TAKEN     /* at once */
};
/*
 * The cold exits, for nodes without a window; invalid nodes end up here, too. They return a handle if the call needs
 * one; implicit: the transfer counts in gasneti_pending instead.
 */
PGAS_EXPORT gasnet_handle_t gasneti_put_far(gasnet_node_t node, void *dest, const void *src, size_t nbytes,
					    enum gasneti_until until, int implicit) PGAS_NOEXCEPT __attribute__((cold));
PGAS_EXPORT gasnet_handle_t gasneti_get_far(void *dest, gasnet_node_t node, const void *src, size_t nbytes,
					    enum gasneti_until until, int implicit) PGAS_NOEXCEPT __attribute__((cold));
PGAS_EXPORT void gasneti_memset_far(gasnet_node_t node, void *dest, int val, size_t nbytes) PGAS_NOEXCEPT
	__attribute__((cold));
/* Waits for the implicit ones, or tests whether they are complete: GASNET_OK or GASNET_ERR_NOT_READY. */
PGAS_EXPORT void gasneti_sync_far(void) PGAS_NOEXCEPT __attribute__((cold));
PGAS_EXPORT int gasneti_try_far(void) PGAS_NOEXCEPT __attribute__((cold));
/* The same for a handle that is not GASNET_INVALID_HANDLE. */
PGAS_EXPORT void gasneti_sync_far_handle(gasnet_handle_t handle, const char *call) PGAS_NOEXCEPT __attribute__((cold));
PGAS_EXPORT int gasneti_try_far_handle(gasnet_handle_t handle, const char *call) PGAS_NOEXCEPT __attribute__((cold));
/* Waits until one of them is complete; returns at once if there are none. */
PGAS_EXPORT void gasneti_sync_some_handles(gasnet_handle_t *handles, size_t count, const char *call) PGAS_NOEXCEPT;
/* What end_nbi_accessregion returns when something is pending. */
PGAS_EXPORT gasnet_handle_t gasneti_region_handle(void) PGAS_NOEXCEPT __attribute__((cold));
/* Copies up to 8 bytes, whatever their number and alignment, ordered as words are. The addresses are the local ones. */
PGAS_EXPORT void gasneti_copy_out_small(void *shared, const void *src, size_t nbytes) PGAS_NOEXCEPT;
PGAS_EXPORT void gasneti_copy_in_small(void *dst, const void *shared, size_t nbytes) PGAS_NOEXCEPT;
/* The same for values of 3, 5, 6 or 7 bytes. */
PGAS_EXPORT gasnet_handle_t gasneti_put_odd(gasnet_node_t node, void *dest, gasnet_register_value_t value,
					    size_t nbytes, enum gasneti_until until, int implicit) PGAS_NOEXCEPT;
PGAS_EXPORT gasnet_register_value_t gasneti_get_odd(gasnet_node_t node, const void *src, size_t nbytes) PGAS_NOEXCEPT;

/*
 * Store one word with release, and load one with acquire. To the compiler these are volatile accesses: they are
 * ordered among themselves and around fences and calls, but do not force it to reload everything else, as the
 * builtins with an order do. Bulk transfers may be unaligned, which ordered accesses of aarch64 may not be.
 */
#if defined(__aarch64__) && !defined(__SANITIZE_THREAD__)
#define GASNETI_WORD_ACCESS(type_arg, bits_arg, suffix_arg, reg_arg)                                                   \
	PGAS_HOT void gasneti_store##bits_arg(void *p, type_arg v)                                                     \
	{                                                                                                              \
		if (PGAS_LIKELY((uintptr_t)p % sizeof v == 0))                                                         \
			__asm__ volatile("stlr" suffix_arg " %" reg_arg "1, %0" : "=Q"(*(type_arg *)p) : "r"(v));      \
		else                                                                                                   \
			__asm__ volatile("dmb ish\n\tstr" suffix_arg " %" reg_arg "1, %0"                              \
					 : "=Q"(*(type_arg *)p)                                                        \
					 : "r"(v));                                                                    \
	}                                                                                                              \
	PGAS_HOT type_arg gasneti_load##bits_arg(const void *p)                                                        \
	{                                                                                                              \
		type_arg v;                                                                                            \
		if (PGAS_LIKELY((uintptr_t)p % sizeof v == 0))                                                         \
			__asm__ volatile("ldar" suffix_arg " %" reg_arg "0, %1"                                        \
					 : "=r"(v)                                                                     \
					 : "Q"(*(const type_arg *)p));                                                 \
		else                                                                                                   \
			__asm__ volatile("ldr" suffix_arg " %" reg_arg "0, %1\n\tdmb ishld"                            \
					 : "=r"(v)                                                                     \
					 : "Q"(*(const type_arg *)p));                                                 \
		return v;                                                                                              \
	}
#elif defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define GASNETI_WORD_ACCESS(type_arg, bits_arg, suffix_arg, reg_arg)                                                   \
	typedef type_arg __attribute__((aligned(1))) gasneti_word##bits_arg;                                           \
	PGAS_HOT void gasneti_store##bits_arg(void *p, type_arg v)                                                     \
	{                                                                                                              \
		/* as below; a constant needs no register */                                                           \
		if (__builtin_constant_p(v))                                                                           \
			*(volatile gasneti_word##bits_arg *)p = v;                                                     \
		else                                                                                                   \
			__asm__ volatile("mov %1, %0" : "=m"(*(gasneti_word##bits_arg *)p) : "r"(v));                  \
	}                                                                                                              \
	PGAS_HOT type_arg gasneti_load##bits_arg(const void *p)                                                        \
	{                                                                                                              \
		type_arg v;                                                                                            \
		if (sizeof v < 4)                                                                                      \
			return *(const volatile gasneti_word##bits_arg *)p;                                            \
		/* the same without an addition first: compilers do not simplify addresses of volatile accesses */     \
		__asm__ volatile("mov %1, %0" : "=r"(v) : "m"(*(const gasneti_word##bits_arg *)p));                    \
		return v;                                                                                              \
	}
#else
#define GASNETI_WORD_ACCESS(type_arg, bits_arg, suffix_arg, reg_arg)                                                   \
	PGAS_HOT void gasneti_store##bits_arg(void *p, type_arg v)                                                     \
	{                                                                                                              \
		if (PGAS_LIKELY((uintptr_t)p % sizeof v == 0)) {                                                       \
			pgas_store_release((type_arg *)p, v);                                                          \
		} else {                                                                                               \
			pgas_fence_stores();                                                                           \
			memcpy(p, &v, sizeof v);                                                                       \
		}                                                                                                      \
	}                                                                                                              \
	PGAS_HOT type_arg gasneti_load##bits_arg(const void *p)                                                        \
	{                                                                                                              \
		type_arg v;                                                                                            \
		if (PGAS_LIKELY((uintptr_t)p % sizeof v == 0)) {                                                       \
			v = pgas_load_acquire((const type_arg *)p);                                                    \
		} else {                                                                                               \
			memcpy(&v, p, sizeof v);                                                                       \
			pgas_fence_acquire();                                                                          \
		}                                                                                                      \
		return v;                                                                                              \
	}
#endif
GASNETI_WORD_ACCESS(pgas_u64_alias, 64, "", "")
GASNETI_WORD_ACCESS(pgas_u32_alias, 32, "", "w")
GASNETI_WORD_ACCESS(pgas_u16_alias, 16, "h", "w")
GASNETI_WORD_ACCESS(uint8_t, 8, "b", "w")
#undef GASNETI_WORD_ACCESS

/* Where an address of node's segment is mapped here, as an addend. budget: 2 instructions, and 1 for the cold exit */
PGAS_HOT uint64_t gasneti_window(gasnet_node_t node)
{
	return gasneti_windows[node];
}

/* Copies more than a word. A word put afterwards may tell others that this has arrived. */
PGAS_HOT void gasneti_copy_out(void *shared, const void *src, size_t len)
{
#ifdef GASNET_PGAS_STRICT_ORDER
	pgas_fence_store_store();
#endif
	memcpy(shared, src, len);
	pgas_fence_compiler();
}

/* Copies more than a word. A word that was got before may have told that this has arrived. */
PGAS_HOT void gasneti_copy_in(void *dst, const void *shared, size_t len)
{
	pgas_fence_compiler();
	memcpy(dst, shared, len);
#ifdef GASNET_PGAS_STRICT_ORDER
	pgas_fence_acquire();
#endif
}

/* Moves one word of 1, 2, 4 or 8 bytes between private memory and a node's, and returns 1; returns 0 for other
 * lengths. If nbytes is a constant, only the move remains. */
#define GASNETI_PUT_WORD(bits_arg)                                                                                     \
	if (nbytes == bits_arg / 8) {                                                                                  \
		uint##bits_arg##_t v;                                                                                  \
		memcpy(&v, src, sizeof v);                                                                             \
		gasneti_store##bits_arg(shared, v);                                                                    \
		return 1;                                                                                              \
	}
PGAS_HOT int gasneti_put_word(void *shared, const void *src, size_t nbytes)
{
	GASNETI_PUT_WORD(64)
	GASNETI_PUT_WORD(32)
	GASNETI_PUT_WORD(16)
	GASNETI_PUT_WORD(8)
	return 0;
}
#undef GASNETI_PUT_WORD
#define GASNETI_GET_WORD(bits_arg)                                                                                     \
	if (nbytes == bits_arg / 8) {                                                                                  \
		const uint##bits_arg##_t v = gasneti_load##bits_arg(shared);                                           \
		memcpy(dst, &v, sizeof v);                                                                             \
		return 1;                                                                                              \
	}
PGAS_HOT int gasneti_get_word(void *dst, const void *shared, size_t nbytes)
{
	GASNETI_GET_WORD(64)
	GASNETI_GET_WORD(32)
	GASNETI_GET_WORD(16)
	GASNETI_GET_WORD(8)
	return 0;
}
#undef GASNETI_GET_WORD

/*
 * To and from memory that is mapped here. A length known at compile time becomes moves. A length known only at run
 * time becomes one copy, or one word, since libraries between a program and this one often put numbers; this avoids
 * a switch in every caller. The asm hides the private object from the compiler, which would warn about the branch
 * that copies more bytes than the object has.
 */
PGAS_HOT void gasneti_put_here(void *shared, const void *src, size_t nbytes)
{
	if (__builtin_constant_p(nbytes)) {
		if (!gasneti_put_word(shared, src, nbytes))
			gasneti_copy_out(shared, src, nbytes);
		return;
	}
	__asm__("" : "+r"(src));
	if (PGAS_LIKELY(nbytes > 8))
		gasneti_copy_out(shared, src, nbytes);
	else if (PGAS_LIKELY(nbytes == 8))
		gasneti_put_word(shared, src, 8);
	else
		gasneti_copy_out_small(shared, src, nbytes);
}
PGAS_HOT void gasneti_get_here(void *dst, const void *shared, size_t nbytes)
{
	if (__builtin_constant_p(nbytes)) {
		if (!gasneti_get_word(dst, shared, nbytes))
			gasneti_copy_in(dst, shared, nbytes);
		return;
	}
	__asm__("" : "+r"(dst));
	if (PGAS_LIKELY(nbytes > 8))
		gasneti_copy_in(dst, shared, nbytes);
	else if (PGAS_LIKELY(nbytes == 8))
		gasneti_get_word(dst, shared, 8);
	else
		gasneti_copy_in_small(dst, shared, nbytes);
}

/* A value of 1, 2, 4 or 8 bytes; returns 0 for other lengths without doing anything. */
PGAS_HOT int gasneti_put_value_here(void *shared, gasnet_register_value_t value, size_t nbytes)
{
	if (nbytes == 8)
		gasneti_store64(shared, value);
	else if (nbytes == 4)
		gasneti_store32(shared, (uint32_t)value);
	else if (nbytes == 2)
		gasneti_store16(shared, (uint16_t)value);
	else if (nbytes == 1)
		gasneti_store8(shared, (uint8_t)value);
	else
		return 0;
	return 1;
}
PGAS_HOT int gasneti_get_value_here(gasnet_register_value_t *value, const void *shared, size_t nbytes)
{
	if (nbytes == 8)
		*value = gasneti_load64(shared);
	else if (nbytes == 4)
		*value = gasneti_load32(shared);
	else if (nbytes == 2)
		*value = gasneti_load16(shared);
	else if (nbytes == 1)
		*value = gasneti_load8(shared);
	else
		return 0;
	return 1;
}

/* --- pending transfers: to nodes without a window ----------------------------------------------------------------- */

/* Transfers to mapped segments are complete, see "Order" above; a word counts the others.
 * budget: 6 instructions (paths.def: gasnet_wait_puts, gasnet_wait_all) */
PGAS_HOT void gasneti_sync_implicit(void)
{
	pgas_fence_compiler();
	if (PGAS_UNLIKELY(pgas_load_word(&gasneti_pending) != 0))
		gasneti_sync_far();
}
PGAS_HOT int gasneti_try_implicit(void)
{
	pgas_fence_compiler();
	return PGAS_UNLIKELY(pgas_load_word(&gasneti_pending) != 0) ? gasneti_try_far() : GASNET_OK;
}
PGAS_HOT gasnet_handle_t gasneti_end_region(void)
{
	pgas_fence_compiler();
	return PGAS_UNLIKELY(pgas_load_word(&gasneti_pending) != 0) ? gasneti_region_handle() : GASNET_INVALID_HANDLE;
}

PGAS_HOT void gasneti_sync_handle(gasnet_handle_t handle, const char *call)
{
	if (PGAS_UNLIKELY(handle != GASNET_INVALID_HANDLE))
		gasneti_sync_far_handle(handle, call);
}
PGAS_HOT int gasneti_try_handle(gasnet_handle_t handle, const char *call)
{
	return PGAS_UNLIKELY(handle != GASNET_INVALID_HANDLE) ? gasneti_try_far_handle(handle, call) : GASNET_OK;
}
/* Handles of completed operations become GASNET_INVALID_HANDLE. */
PGAS_HOT void gasneti_sync_handles(gasnet_handle_t *handles, size_t count, const char *call)
{
	size_t i;
	for (i = 0; i < count; i++) {
		if (PGAS_LIKELY(handles[i] == GASNET_INVALID_HANDLE))
			continue;
		gasneti_sync_far_handle(handles[i], call);
		handles[i] = GASNET_INVALID_HANDLE;
	}
}
/* True if all of them are complete or, with `some`, at least one is. */
PGAS_HOT int gasneti_try_handles(gasnet_handle_t *handles, size_t count, int some, const char *call)
{
	size_t i, done = 0, left = 0;
	for (i = 0; i < count; i++) {
		if (PGAS_LIKELY(handles[i] == GASNET_INVALID_HANDLE))
			continue;
		if (gasneti_try_far_handle(handles[i], call) == GASNET_OK) {
			handles[i] = GASNET_INVALID_HANDLE;
			done++;
		} else {
			left++;
		}
	}
	return left == 0 || (some && done) ? GASNET_OK : GASNET_ERR_NOT_READY;
}

#ifdef __cplusplus
}
#endif

#endif /* GASNET_PGAS_COPY_H */
