// SPDX-License-Identifier: BSD-3-Clause
//
// The identity of this host, as far as shared memory reaches.
#pragma once

#include <cstdint>

namespace pgas {

// The result of pgas_hostid.h, determined anew at every fi_domain: a forked process may be in other namespaces than its
// parent. 0, or -FI_EOPNOTSUPP after a warning: without an identity every host would count as ours.
int host_identity_find();
uint64_t host_identity(); // 0, which no host has, when it is not known

} // namespace pgas
