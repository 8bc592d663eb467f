/* SPDX-License-Identifier: BSD-3-Clause */
/* mpp/pshmem.h: the old location of pshmem.h (deprecated since OpenSHMEM 1.1, still required). */
#include "../pshmem.h"
