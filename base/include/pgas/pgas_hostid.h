/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pgas_hostid.h: determines which processes are on one host, in the sense that they can share memory. This is the only
 * place that decides it: the provider, the launcher's part and the libraries above all call it.
 *
 * A host is a kernel (its boot id), a host name, and one set of PID, network, UTS, IPC, user and time namespaces.
 * /proc/PID must name the same process for both sides (PID), the kernel must let one open the other's descriptors
 * (user), service names are abstract sockets (network), and both must see the same clock and the same start time of a
 * process, which distinguishes it from a later one with the same PID (time: the kernel shifts the values it shows by
 * the reader's offsets, which cannot be determined reliably). The other namespaces make containers that act as machines
 * count as machines.
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
 * Writes the identity of the host that the calling process is on; two processes have the same identity only if they are
 * on one host. Returns 0, or a negative errno when the identity is not known (no /proc, or that of another PID
 * namespace), with one line in `why` that says what is missing. It queries the system on every call, because a process
 * may change its namespaces. FI_PGAS_TEST_HOSTS (fi_pgas(7)) makes processes of one machine count as several hosts.
 */
PGAS_EXPORT int pgas_host_id(uint64_t *id, char *why, size_t room) PGAS_HOSTID_NOEXCEPT;

/* The same, with another folder in place of /proc. */
PGAS_EXPORT int pgas_host_id_in(const char *proc, uint64_t *id, char *why, size_t room) PGAS_HOSTID_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#undef PGAS_HOSTID_NOEXCEPT
#endif
