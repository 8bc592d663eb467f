/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pgas_hostid.h: which processes are on one host, in the sense that they can share memory. This is the one place that
 * decides it: the provider, the launcher's part and the libraries above all ask here.
 *
 * A host is a kernel (its boot id), a host name, and one set of PID, network, UTS, IPC, user and time namespaces.
 * /proc/PID must name the same process for both sides (PID), the kernel must let one open the other's descriptors
 * (user), service names are abstract sockets (network), and both must see one clock and the same start time of a
 * process, by which it is told from a later one with its number (time: the kernel shifts what it shows by the reader's
 * offsets, which cannot be asked for reliably); the rest makes containers that pretend to be machines count as
 * machines.
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
 * Writes the identity of the host that the calling process is on; it is equal on two processes only if they are on one
 * host. Returns 0, or a negative errno when the identity is not known (no /proc, or that of another PID namespace), and
 * then one line in `why` says what is missing. It asks the system at every call, because a process may change its
 * namespaces. FI_PGAS_TEST_HOSTS (fi_pgas(7)) makes processes of one machine count as several hosts.
 */
PGAS_EXPORT int pgas_host_id(uint64_t *id, char *why, size_t room) PGAS_HOSTID_NOEXCEPT;

/* The same, with another folder in the place of /proc. */
PGAS_EXPORT int pgas_host_id_in(const char *proc, uint64_t *id, char *why, size_t room) PGAS_HOSTID_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#undef PGAS_HOSTID_NOEXCEPT
#endif
