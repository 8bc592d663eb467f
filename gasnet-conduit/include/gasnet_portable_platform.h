/* SPDX-License-Identifier: BSD-3-Clause */
/* The platform's names without the rest of gasnet_tools.h, under the file name that Caffeine includes. */
#ifndef GASNET_PORTABLE_PLATFORM_H
#define GASNET_PORTABLE_PLATFORM_H

#include <gasnet_pgas_platform.h>

#endif /* GASNET_PORTABLE_PLATFORM_H */
