/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Versions, in the file in which configure scripts of clients look for them. The release is that of GASNet-EX whose
 * interface is here; this library's own version is the package's.
 */
#ifndef GASNET_CONFIG_H
#define GASNET_CONFIG_H

#define GASNET_RELEASE_VERSION_MAJOR 2025
#define GASNET_RELEASE_VERSION_MINOR 8
#define GASNET_RELEASE_VERSION_PATCH 0

#define GASNETI_RELEASE_VERSION_MAJOR 2025
#define GASNETI_RELEASE_VERSION_MINOR 8
#define GASNETI_RELEASE_VERSION_PATCH 0

#define GASNETI_EX_SPEC_VERSION_MAJOR 0
#define GASNETI_EX_SPEC_VERSION_MINOR 19

#endif /* GASNET_CONFIG_H */
