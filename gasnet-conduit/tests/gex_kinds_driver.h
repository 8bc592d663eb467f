/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program's own use of a driver, for gex_kinds.c: naming a device, and allocating its memory. The driver is the one
 * that the library opens, real or a fake of the tests (devices/tests); its headers are not needed.
 */
#ifndef GEX_KINDS_DRIVER_H
#define GEX_KINDS_DRIVER_H

#include <dlfcn.h>

struct driver {
	const char *name; /* of the class */
	gex_MK_Class_t class_;
	void *library;          /* null: there is none */
	void *device, *context; /* of Level Zero */
};

static inline void *driver_symbol(const struct driver *d, const char *name)
{
	void *found = dlsym(d->library, name);
	if (!found)
		fprintf(stderr, "%s: no %s\n", d->name, name);
	CHECK(found != NULL);
	return found;
}
/* Calls a driver function, which must return 0. */
#define DRIVER(driver_arg, name_arg, types_arg, ...)                                                                   \
	CHECK(((int(*) types_arg)driver_symbol(driver_arg, name_arg))(__VA_ARGS__) == 0)

static inline void *driver_open(const char *variable, const char *file)
{
	const char *own = getenv(variable);
	void *library = dlopen(own && *own ? own : file, RTLD_NOW);
	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(library != NULL);
	return library;
}

static inline struct driver driver_start(const char *name)
{
	struct driver d = {name, GASNET_PGAS_MK_CLASS_EMULATED, NULL, NULL, NULL};
	if (strcmp(name, "cuda") == 0) {
		d.class_ = GEX_MK_CLASS_CUDA_UVA;
		d.library = driver_open("PGAS_CUDA_DRIVER", "libcuda.so.1");
		DRIVER(&d, "cuInit", (unsigned), 0U);
	} else if (strcmp(name, "hip") == 0) {
		d.class_ = GEX_MK_CLASS_HIP;
		d.library = driver_open("PGAS_HIP_DRIVER", "libamdhip64.so");
		DRIVER(&d, "hipInit", (unsigned), 0U);
	} else if (strcmp(name, "ze") == 0) {
		struct {
			uint32_t type;
			const void *next;
			uint32_t flags;
		} wish = {0xd, NULL, 0};
		void *drivers[8], *devices[8];
		uint32_t driver_count = 8, device_count = 0;
		d.class_ = GEX_MK_CLASS_ZE;
		d.library = driver_open("PGAS_ZE_DRIVER", "libze_loader.so.1");
		DRIVER(&d, "zeInit", (uint32_t), 1);
		DRIVER(&d, "zeDriverGet", (uint32_t *, void **), &driver_count, drivers);
		for (uint32_t i = 0; i < driver_count && !d.device; i++) {
			device_count = 8;
			DRIVER(&d, "zeDeviceGet", (void *, uint32_t *, void **), drivers[i], &device_count, devices);
			if (!device_count)
				continue;
			d.device = devices[0];
			DRIVER(&d, "zeContextCreate", (void *, void *, void **), drivers[i], &wish, &d.context);
		}
		CHECK(d.device != NULL);
	} else {
		CHECK(strcmp(name, "emulated") == 0);
	}
	return d;
}

static inline gex_MK_Create_args_t driver_args(const struct driver *d, int number)
{
	gex_MK_Create_args_t args;
	memset(&args, 0, sizeof args);
	args.gex_class = d->class_;
	if (d->class_ == GEX_MK_CLASS_ZE) {
		args.gex_args.gex_class_ze.gex_zeDevice = d->device;
		args.gex_args.gex_class_ze.gex_zeContext = d->context;
	} else if (d->class_ == GEX_MK_CLASS_HIP) {
		args.gex_args.gex_class_hip.gex_hipDevice = number;
	} else {
		args.gex_args.gex_class_cuda_uva.gex_CUdevice = number;
	}
	return args;
}

/* Memory of the first device; null if there is no driver. */
static inline void *driver_malloc(const struct driver *d, size_t bytes)
{
	void *addr = NULL;
	if (d->class_ == GEX_MK_CLASS_CUDA_UVA) {
		void *context = NULL;
		DRIVER(d, "cuDevicePrimaryCtxRetain", (void **, int), &context, 0);
		DRIVER(d, "cuCtxSetCurrent", (void *), context);
		DRIVER(d, "cuMemAlloc_v2", (void **, size_t), &addr, bytes);
	} else if (d->class_ == GEX_MK_CLASS_HIP) {
		DRIVER(d, "hipMalloc", (void **, size_t), &addr, bytes);
	} else if (d->class_ == GEX_MK_CLASS_ZE) {
		struct {
			uint32_t type;
			const void *next;
			uint32_t flags, ordinal;
		} wish = {0x15, NULL, 0, 0};
		DRIVER(d, "zeMemAllocDevice", (void *, void *, size_t, size_t, void *, void **), d->context, &wish,
		       bytes, (size_t)4096, d->device, &addr);
	}
	return addr;
}

#endif
