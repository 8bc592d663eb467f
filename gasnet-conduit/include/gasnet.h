/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet-1 (specification 1.8) over the pgas provider. C11 and C++. It uses the same objects as gasnetex.h, which it
 * includes: gasnet_QueryGexObjects returns them.
 *
 * A client defines exactly one of GASNET_SEQ, GASNET_PAR and GASNET_PARSYNC before it includes this file, and links
 * the library of that name; the makefile fragments (pgas-conduit/pgas-*.mak) and pkg-config files do both. Inline
 * functions here read struct gasneti_front and the provider's fronts (pgas/pgas_types.h), whose magic words carry
 * the layout's version: a client compiled against another layout makes library calls instead. See gasnet-pgas(7).
 */
#ifndef GASNET_H
#define GASNET_H
#define _INCLUDED_GASNET_H /* programs test this name */

#include <gasnetex.h>

#ifdef __cplusplus
extern "C" {
#endif

/* GASNet's own variable, which programs read although the specification does not have it. */
#define gasneti_mynode gasnet_mynode()

static inline int gasnet_init(int *argc, char ***argv)
{
	return gasneti_init_mode(argc, argv, GASNET_CONFIG_STRING);
}
PGAS_EXPORT int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
			      uintptr_t minheapoffset) PGAS_NOEXCEPT;
/* The objects that gasnet_init or gex_Client_Init made; each pointer may be NULL. */
PGAS_EXPORT void gasnet_QueryGexObjects(gex_Client_t *client, gex_EP_t *endpoint, gex_TM_t *tm,
					gex_Segment_t *segment) PGAS_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#include <gasnet_pgas_am1.h>
#include <gasnet_pgas_rma.h>
#include <gasnet_vis.h>
#include <gasnet_coll.h>

#endif /* GASNET_H */
