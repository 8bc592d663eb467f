/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet-EX's memory kinds. Only the host's memory is there: GASNET_HAVE_MK_CLASS_MULTIPLE and the names of devices'
 * classes are not defined, and gex_MK_Create fails with a line that says why.
 */
#ifndef GASNET_MK_H
#define GASNET_MK_H

#include <gasnetex.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GEX_MK_INVALID ((gex_MK_t)(uintptr_t)0)
#define GEX_MK_HOST ((gex_MK_t)(uintptr_t)1)
#define GASNET_HAVE_MK_CLASS_HOST 1

typedef enum { GEX_MK_CLASS_HOST, GEX_MK_CLASS_CUDA_UVA, GEX_MK_CLASS_HIP, GEX_MK_CLASS_ZE } gex_MK_Class_t;

typedef struct {
	uint64_t gex_flags;
	gex_MK_Class_t gex_class;
	union {
		struct {
			int gex_CUdevice;
		} gex_class_cuda_uva;
		struct {
			int gex_hipDevice;
		} gex_class_hip;
		struct {
			void *gex_zeDevice;
			void *gex_zeContext;
			uint32_t gex_zeMemoryOrdinal;
		} gex_class_ze;
	} gex_args;
} gex_MK_Create_args_t;

PGAS_EXPORT int gex_MK_Create(gex_MK_t *kind_p, gex_Client_t client, const gex_MK_Create_args_t *args,
			      gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT void gex_MK_Destroy(gex_MK_t kind, gex_Flags_t flags) PGAS_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GASNET_MK_H */
