/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet-EX's memory kinds: segments in device memory. gex_MK_Create opens a driver when it first names one of its
 * devices; if there is none, the call fails and reports what is missing. See gasnet-pgas(7).
 */
#ifndef GASNET_MK_H
#define GASNET_MK_H

#include <gasnetex.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
	GEX_MK_CLASS_HOST,
	GEX_MK_CLASS_CUDA_UVA,
	GEX_MK_CLASS_HIP,
	GEX_MK_CLASS_ZE,
	/* Only in this library: host memory that behaves as a device's, for tests without a device. The CPU faults
	 * at its addresses, and copies happen only when something waits for them. gex_class_cuda_uva has the device
	 * number. */
	GASNET_PGAS_MK_CLASS_EMULATED = 1000
} gex_MK_Class_t;

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

/* For kinds that gex_MK_Create created. */
PGAS_EXPORT void gex_MK_SetCData(gex_MK_t kind, const void *val) PGAS_NOEXCEPT;
PGAS_EXPORT void *gex_MK_QueryCData(gex_MK_t kind) PGAS_NOEXCEPT;
PGAS_EXPORT gex_Flags_t gex_MK_QueryFlags(gex_MK_t kind) PGAS_NOEXCEPT;
PGAS_EXPORT gex_Client_t gex_MK_QueryClient(gex_MK_t kind) PGAS_NOEXCEPT;
PGAS_EXPORT gex_MK_Class_t gex_MK_QueryClass(gex_MK_t kind) PGAS_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GASNET_MK_H */
