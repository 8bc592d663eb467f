/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pshmem.h: the profiling names of OpenSHMEM 1.6: p<name> for each name of shmem.h, same types.
 *
 * A tool defines shmem_<call> and calls pshmem_<call>; libsma defines pshmem_<call> strong and shmem_<call> weak.
 */
#ifndef PSHMEM_H
#define PSHMEM_H

#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#define SHMEM_FN(name) p##name
#include "shmem_proto.h"
#undef SHMEM_FN
#ifdef __cplusplus
}
#endif

#endif /* PSHMEM_H */
