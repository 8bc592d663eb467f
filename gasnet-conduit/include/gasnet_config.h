/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Versions, in the file where configure scripts of clients look for them. The release is that of the GASNet-EX whose
 * interface this is; this library's own version is the package's.
 */
#ifndef GASNET_CONFIG_H
#define GASNET_CONFIG_H

#define GASNET_RELEASE_VERSION_MAJOR 2025
#define GASNET_RELEASE_VERSION_MINOR 8
#define GASNET_RELEASE_VERSION_PATCH 0

#define GASNETI_RELEASE_VERSION_MAJOR 2025
#define GASNETI_RELEASE_VERSION_MINOR 8
#define GASNETI_RELEASE_VERSION_PATCH 0

/* Of the specifications: GASNet-EX, GASNet-1 and the tools. */
#define GASNETI_EX_SPEC_VERSION_MAJOR 0
#define GASNETI_EX_SPEC_VERSION_MINOR 19
#define GASNETI_SPEC_VERSION_MAJOR 1
#define GASNETI_SPEC_VERSION_MINOR 8
#define GASNETI_TOOLS_SPEC_VERSION_MAJOR 1
#define GASNETI_TOOLS_SPEC_VERSION_MINOR 20

#define GASNETI_STRING_(a_arg) #a_arg
#define GASNETI_STRING(a_arg) GASNETI_STRING_(a_arg)
#define GASNETI_VERSION_2(name_arg) GASNETI_STRING(name_arg##_MAJOR) "." GASNETI_STRING(name_arg##_MINOR)
#define GASNETI_RELEASE GASNETI_VERSION_2(GASNET_RELEASE_VERSION) "." GASNETI_STRING(GASNET_RELEASE_VERSION_PATCH)

#endif /* GASNET_CONFIG_H */
