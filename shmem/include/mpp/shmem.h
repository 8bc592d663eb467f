/* SPDX-License-Identifier: BSD-3-Clause */
/* mpp/shmem.h: the old location of shmem.h (deprecated since OpenSHMEM 1.1, still required). */
#include "../shmem.h"
