/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vector, indexed and strided transfers of GASNet-EX, and those of GASNet-1 in the second half. C11 and C++.
 *
 * Vector: lists of address and length on both sides. Indexed: lists of addresses, one length per side. Strided:
 * elemsz contiguous bytes, repeated count[0] times at strides[0], that repeated count[1] times at strides[1], and so
 * on; GASNet-1 has elemsz in count[0]. Both sides have the same number of bytes. As with plain transfers an
 * operation is complete when it returns.
 */
#ifndef GASNET_VIS_H
#define GASNET_VIS_H

#include <gasnetex.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- GASNet-EX ---------------------------------------------------------------------------------------------------- */

#define GEX_VIS_MAX_PEERCOMPLETION ((size_t)2048)
/* The next put of this thread runs a medium reply handler at its peer when it is complete; handler 0: it does not. */
PGAS_EXPORT void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *source_addr, size_t nbytes,
						  gex_Flags_t flags) PGAS_NOEXCEPT;

/* One call in its three forms. args_arg are the names of params_arg. */
#define GASNETI_VIS(name_arg, params_arg, args_arg)                                                                    \
	PGAS_EXPORT int name_arg##Blocking params_arg PGAS_NOEXCEPT;                                                   \
	static inline gex_Event_t name_arg##NB params_arg                                                              \
	{                                                                                                              \
		name_arg##Blocking args_arg;                                                                           \
		return GEX_EVENT_INVALID;                                                                              \
	}                                                                                                              \
	static inline int name_arg##NBI params_arg                                                                     \
	{                                                                                                              \
		return name_arg##Blocking args_arg;                                                                    \
	}
GASNETI_VIS(gex_VIS_VectorGet,
	    (gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[], gex_Rank_t srcrank, size_t srccount,
	     gex_Memvec_t const srclist[], gex_Flags_t flags),
	    (tm, dstcount, dstlist, srcrank, srccount, srclist, flags))
GASNETI_VIS(gex_VIS_VectorPut,
	    (gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, gex_Memvec_t const dstlist[], size_t srccount,
	     gex_Memvec_t const srclist[], gex_Flags_t flags),
	    (tm, dstrank, dstcount, dstlist, srccount, srclist, flags))
GASNETI_VIS(gex_VIS_IndexedGet,
	    (gex_TM_t tm, size_t dstcount, void *const dstlist[], size_t dstlen, gex_Rank_t srcrank, size_t srccount,
	     void *const srclist[], size_t srclen, gex_Flags_t flags),
	    (tm, dstcount, dstlist, dstlen, srcrank, srccount, srclist, srclen, flags))
GASNETI_VIS(gex_VIS_IndexedPut,
	    (gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, void *const dstlist[], size_t dstlen, size_t srccount,
	     void *const srclist[], size_t srclen, gex_Flags_t flags),
	    (tm, dstrank, dstcount, dstlist, dstlen, srccount, srclist, srclen, flags))
GASNETI_VIS(gex_VIS_StridedGet,
	    (gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[], gex_Rank_t srcrank, void *srcaddr,
	     const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[], size_t stridelevels, gex_Flags_t flags),
	    (tm, dstaddr, dststrides, srcrank, srcaddr, srcstrides, elemsz, count, stridelevels, flags))
GASNETI_VIS(gex_VIS_StridedPut,
	    (gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr, const ptrdiff_t dststrides[], void *srcaddr,
	     const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[], size_t stridelevels, gex_Flags_t flags),
	    (tm, dstrank, dstaddr, dststrides, srcaddr, srcstrides, elemsz, count, stridelevels, flags))
#undef GASNETI_VIS

/* --- GASNet-1 ----------------------------------------------------------------------------------------------------- */

typedef struct {
	void *addr;
	size_t len;
} gasnet_memvec_t;

PGAS_EXPORT void gasnet_putv_bulk(gasnet_node_t dstnode, size_t dstcount, gasnet_memvec_t const dstlist[],
				  size_t srccount, gasnet_memvec_t const srclist[]) PGAS_NOEXCEPT;
PGAS_EXPORT void gasnet_getv_bulk(size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t srcnode,
				  size_t srccount, gasnet_memvec_t const srclist[]) PGAS_NOEXCEPT;
PGAS_EXPORT void gasnet_puti_bulk(gasnet_node_t dstnode, size_t dstcount, void *const dstlist[], size_t dstlen,
				  size_t srccount, void *const srclist[], size_t srclen) PGAS_NOEXCEPT;
PGAS_EXPORT void gasnet_geti_bulk(size_t dstcount, void *const dstlist[], size_t dstlen, gasnet_node_t srcnode,
				  size_t srccount, void *const srclist[], size_t srclen) PGAS_NOEXCEPT;
PGAS_EXPORT void gasnet_puts_bulk(gasnet_node_t dstnode, void *dstaddr, const size_t dststrides[], void *srcaddr,
				  const size_t srcstrides[], const size_t count[], size_t stridelevels) PGAS_NOEXCEPT;
PGAS_EXPORT void gasnet_gets_bulk(void *dstaddr, const size_t dststrides[], gasnet_node_t srcnode, void *srcaddr,
				  const size_t srcstrides[], const size_t count[], size_t stridelevels) PGAS_NOEXCEPT;

/* The non-blocking forms: the same, with a completed handle. Transfers of all pieces to a far node start before any
 * wait. */
#define GASNETI_VIS(name_arg, params_arg, args_arg)                                                                    \
	static inline gasnet_handle_t name_arg##_nb_bulk params_arg                                                    \
	{                                                                                                              \
		name_arg##_bulk args_arg;                                                                              \
		return GASNET_INVALID_HANDLE;                                                                          \
	}                                                                                                              \
	static inline void name_arg##_nbi_bulk params_arg                                                              \
	{                                                                                                              \
		name_arg##_bulk args_arg;                                                                              \
	}

GASNETI_VIS(gasnet_putv,
	    (gasnet_node_t dstnode, size_t dstcount, gasnet_memvec_t const dstlist[], size_t srccount,
	     gasnet_memvec_t const srclist[]),
	    (dstnode, dstcount, dstlist, srccount, srclist))
GASNETI_VIS(gasnet_getv,
	    (size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t srcnode, size_t srccount,
	     gasnet_memvec_t const srclist[]),
	    (dstcount, dstlist, srcnode, srccount, srclist))
GASNETI_VIS(gasnet_puti,
	    (gasnet_node_t dstnode, size_t dstcount, void *const dstlist[], size_t dstlen, size_t srccount,
	     void *const srclist[], size_t srclen),
	    (dstnode, dstcount, dstlist, dstlen, srccount, srclist, srclen))
GASNETI_VIS(gasnet_geti,
	    (size_t dstcount, void *const dstlist[], size_t dstlen, gasnet_node_t srcnode, size_t srccount,
	     void *const srclist[], size_t srclen),
	    (dstcount, dstlist, dstlen, srcnode, srccount, srclist, srclen))
GASNETI_VIS(gasnet_puts,
	    (gasnet_node_t dstnode, void *dstaddr, const size_t dststrides[], void *srcaddr, const size_t srcstrides[],
	     const size_t count[], size_t stridelevels),
	    (dstnode, dstaddr, dststrides, srcaddr, srcstrides, count, stridelevels))
GASNETI_VIS(gasnet_gets,
	    (void *dstaddr, const size_t dststrides[], gasnet_node_t srcnode, void *srcaddr, const size_t srcstrides[],
	     const size_t count[], size_t stridelevels),
	    (dstaddr, dststrides, srcnode, srcaddr, srcstrides, count, stridelevels))
#undef GASNETI_VIS

/* Part of gasnet_tools.h, but for these types: lists and strides as text, written into a buffer of that size. */
typedef struct {
	size_t minsz, maxsz, totalsz;
	void *minaddr, *maxaddr;
} gasnett_memveclist_stats_t;
typedef struct {
	void *minaddr, *maxaddr;
} gasnett_addrlist_stats_t;
PGAS_EXPORT size_t gasnett_format_memveclist_bufsz(size_t count);
PGAS_EXPORT gasnett_memveclist_stats_t gasnett_format_memveclist(char *buf, size_t count, gasnet_memvec_t const *list);
PGAS_EXPORT size_t gasnett_format_addrlist_bufsz(size_t count);
PGAS_EXPORT gasnett_addrlist_stats_t gasnett_format_addrlist(char *buf, size_t count, void *const *list, size_t len);
PGAS_EXPORT size_t gasnett_format_strides_bufsz(size_t count);
PGAS_EXPORT void gasnett_format_strides(char *buf, size_t count, const size_t *list);
/* These return the number of bytes that the transfer moves. */
PGAS_EXPORT size_t gasnett_format_putvgetv_bufsz(size_t dstcount, size_t srccount);
PGAS_EXPORT size_t gasnett_format_putvgetv(char *buf, gasnet_node_t node, size_t dstcount,
					   gasnet_memvec_t const dstlist[], size_t srccount,
					   gasnet_memvec_t const srclist[]);
PGAS_EXPORT size_t gasnett_format_putigeti_bufsz(size_t dstcount, size_t srccount);
PGAS_EXPORT size_t gasnett_format_putigeti(char *buf, gasnet_node_t node, size_t dstcount, void *const dstlist[],
					   size_t dstlen, size_t srccount, void *const srclist[], size_t srclen);
PGAS_EXPORT size_t gasnett_format_putsgets_bufsz(size_t stridelevels);
PGAS_EXPORT size_t gasnett_format_putsgets(char *buf, void *stats, gasnet_node_t node, void *dstaddr,
					   const size_t dststrides[], void *srcaddr, const size_t srcstrides[],
					   const size_t count[], size_t stridelevels);

/* The same for GASNet-EX's types; if gasnet.h is not included, the names above stand for these. */
PGAS_EXPORT size_t gasneti_format_putvgetv(char *buf, gex_TM_t tm, gex_Rank_t rank, size_t dstcount,
					   gex_Memvec_t const dstlist[], size_t srccount, gex_Memvec_t const srclist[]);
PGAS_EXPORT size_t gasneti_format_putigeti(char *buf, gex_TM_t tm, gex_Rank_t rank, size_t dstcount,
					   void *const dstlist[], size_t dstlen, size_t srccount, void *const srclist[],
					   size_t srclen);
PGAS_EXPORT void gasneti_format_strides(char *buf, size_t count, const ptrdiff_t *list);
PGAS_EXPORT size_t gasneti_format_putsgets(char *buf, void *stats, gex_TM_t tm, gex_Rank_t rank, void *dstaddr,
					   const ptrdiff_t dststrides[], void *srcaddr, const ptrdiff_t srcstrides[],
					   size_t elemsz, const size_t count[], size_t stridelevels);
#ifndef GASNET_H
#define gasnett_format_memveclist(buf_arg, count_arg, list_arg)                                                        \
	gasnett_format_memveclist((buf_arg), (count_arg), (gasnet_memvec_t const *)(list_arg))
#define gasnett_format_putvgetv gasneti_format_putvgetv
#define gasnett_format_putigeti gasneti_format_putigeti
#define gasnett_format_strides gasneti_format_strides
#define gasnett_format_putsgets gasneti_format_putsgets
#endif

#ifdef __cplusplus
}
#endif

#endif /* GASNET_VIS_H */
