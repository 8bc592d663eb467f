/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Versions, in the file in which configure scripts of clients look for them. The release is that of GASNet-1 whose
 * calls are here; this library's own version is the package's.
 */
#ifndef GASNET_CONFIG_H
#define GASNET_CONFIG_H

#define GASNET_RELEASE_VERSION_MAJOR 1
#define GASNET_RELEASE_VERSION_MINOR 32
#define GASNET_RELEASE_VERSION_PATCH 0

#define GASNETI_RELEASE_VERSION_MAJOR 1
#define GASNETI_RELEASE_VERSION_MINOR 32
#define GASNETI_RELEASE_VERSION_PATCH 0

#endif /* GASNET_CONFIG_H */
