/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two collectives of GASNet-1's draft that test programs and small clients use to set themselves up: initialisation
 * and a blocking broadcast over all nodes. The rest of that draft is not here: it never became part of the
 * specification.
 */
#ifndef GASNET_COLL_H
#define GASNET_COLL_H

#include <gasnet.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gasneti_team *gasnet_team_handle_t;
typedef struct {
	void (*fnptr)(void *results, size_t result_count, const void *left, size_t left_count, const void *right,
		      size_t element, int flags, int argument);
	unsigned flags;
} gasnet_coll_fn_entry_t;
typedef uint32_t gasnet_image_t;
#define GASNET_TEAM_ALL ((gasnet_team_handle_t)0)

/* Every combination gives the strongest synchronisation and takes addresses of either kind. */
#define GASNET_COLL_IN_NOSYNC (1 << 0)
#define GASNET_COLL_IN_MYSYNC (1 << 1)
#define GASNET_COLL_IN_ALLSYNC (1 << 2)
#define GASNET_COLL_OUT_NOSYNC (1 << 3)
#define GASNET_COLL_OUT_MYSYNC (1 << 4)
#define GASNET_COLL_OUT_ALLSYNC (1 << 5)
#define GASNET_COLL_SINGLE (1 << 6)
#define GASNET_COLL_LOCAL (1 << 7)
#define GASNET_COLL_SRC_IN_SEGMENT (1 << 8)
#define GASNET_COLL_DST_IN_SEGMENT (1 << 9)

/* Images and functions are not used. */
PGAS_EXPORT void gasnet_coll_init(const gasnet_image_t images[], gasnet_image_t my_image,
				  gasnet_coll_fn_entry_t functions[], size_t count, int init_flags) PGAS_NOEXCEPT;
/* Copies nbytes at src of node `root` to dst of every node, root included. Collective; one thread of each node. */
PGAS_EXPORT void gasnet_coll_broadcast(gasnet_team_handle_t team, void *dst, gasnet_image_t root, void *src,
				       size_t nbytes, int flags) PGAS_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GASNET_COLL_H */
