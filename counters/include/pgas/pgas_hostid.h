/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pgas_hostid.h: which processes are on one host, in the sense that they can share memory. The one place that decides
 * it: the provider, the launcher's part and the libraries above all ask here.
 *
 * A host is a kernel (its boot id), a host name, and one set of PID, network, UTS, IPC and user namespaces. /proc/PID
 * must name the same process for both sides (PID), the kernel must let one open the other's descriptors (user), service
 * names are abstract sockets (network); the rest makes containers that pretend to be machines count as machines.
 */
#ifndef PGAS_HOSTID_H
#define PGAS_HOSTID_H

#include <stddef.h>
#include <stdint.h>

#include <pgas/pgas_atomic.h>

#ifdef __cplusplus
extern "C" {
#define PGAS_HOSTID_NOEXCEPT noexcept
#else
#define PGAS_HOSTID_NOEXCEPT
#endif

/*
 * Identity of the host that the calling process is on; equal on two processes only if they are on one host. 0, or a
 * negative errno when it cannot be told (no /proc, or one of another PID namespace): without it every host would look
 * the same. Then one line in `why` says what is missing. Asks the system at every call: a process may change its
 * namespaces.
 */
PGAS_EXPORT int pgas_host_id(uint64_t *id, char *why, size_t room) PGAS_HOSTID_NOEXCEPT;

/* The same from another folder than /proc. */
PGAS_EXPORT int pgas_host_id_in(const char *proc, uint64_t *id, char *why, size_t room) PGAS_HOSTID_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#undef PGAS_HOSTID_NOEXCEPT
#endif
