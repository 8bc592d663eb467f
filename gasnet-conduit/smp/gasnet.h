/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients look for this file here. The next folder of the search has the contents. */
#ifndef GASNETI_SMP_GASNET_H
#define GASNETI_SMP_GASNET_H
#include_next <gasnet.h>
#endif /* GASNETI_SMP_GASNET_H */
