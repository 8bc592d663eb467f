/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_face.h: the one object that inlined calls (shmem_inline.h) read and that the library writes, at init and
 * finalize.
 *
 *   window[pe] + the address of a local symmetric object = that PE's copy of it, mapped here; 0: call the library
 *   *pending: operations of the default context that are still in flight
 *
 * The name ends with the version of the layout: a program and a library with different versions do not link. The linker
 * may copy the object into the program, so its size never changes and the library accesses it only through its symbol.
 */
#ifndef SHMEM_FACE_H
#define SHMEM_FACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shmem_impl_face {
	const uint64_t *window;
	const uint64_t *pending;
	uint64_t room_[6];
};
extern __attribute__((visibility("default"))) struct shmem_impl_face shmem_impl_face1;

#ifdef __cplusplus
}
#endif

#endif /* SHMEM_FACE_H */
