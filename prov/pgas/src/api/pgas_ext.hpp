// SPDX-License-Identifier: BSD-3-Clause
//
// The calls of fi_ext_pgas.h.
#pragma once

#include <rdma/fi_ext_pgas.h>

namespace pgas {

extern fi_pgas_ops g_ext_ops;

} // namespace pgas
