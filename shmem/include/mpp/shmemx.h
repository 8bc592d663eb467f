/* SPDX-License-Identifier: BSD-3-Clause */
/* mpp/shmemx.h: the old location of shmemx.h (deprecated since OpenSHMEM 1.1, still required). */
#include "../shmemx.h"
