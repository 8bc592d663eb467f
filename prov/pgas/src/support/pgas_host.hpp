// SPDX-License-Identifier: BSD-3-Clause
//
// The identity of this host, as far as shared memory reaches.
#pragma once

#include <cstdint>

namespace pgas {

// What pgas_hostid.h says, asked again at every fi_domain: a process that forked may be in other namespaces than its
// parent. 0 or -FI_EOPNOTSUPP after a warning: without an identity every host would be ours.
int host_identity_find();
uint64_t host_identity(); // 0, which is nobody's, when it cannot be told

} // namespace pgas
