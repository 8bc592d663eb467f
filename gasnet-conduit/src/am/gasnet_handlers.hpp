// SPDX-License-Identifier: BSD-3-Clause
//
// Handlers of endpoints (gasnet_handlers.cpp).
#pragma once

#include "core/gasnet_objects.hpp"

namespace gasnet {

handler_way make_way(const gex_AM_Entry_t &entry) noexcept;
int handlers_register_gasnet1(gasnet_handlerentry_t *table, int count);

} // namespace gasnet
