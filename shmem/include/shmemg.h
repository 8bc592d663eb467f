/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmemg.h: the header that programs of the OpenSHMEM specification for GPUs include in addition to shmem.h; its
 * host-side part is in shmemx.h.
 */
#ifndef SHMEMG_H
#define SHMEMG_H

#include "shmemx.h"

#endif /* SHMEMG_H */
