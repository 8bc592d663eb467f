// SPDX-License-Identifier: BSD-3-Clause
//
// fi_getinfo of the provider; see pgas_info.cpp.
#pragma once

#include "engine/pgas_order.hpp"

namespace pgas {

int info_get(uint32_t version, const char *node, const char *service, uint64_t flags, const fi_info *hints,
	     fi_info **info) noexcept;

inline constexpr uint64_t kPrimaryCaps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
inline constexpr uint64_t kTxModifiers = FI_READ | FI_WRITE | FI_SEND;
inline constexpr uint64_t kRxModifiers = FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE;
inline constexpr uint64_t kSecondaryCaps = FI_MULTI_RECV | FI_DIRECTED_RECV | FI_RMA_EVENT | FI_SOURCE | FI_FENCE |
					   FI_LOCAL_COMM | FI_REMOTE_COMM | FI_AV_USER_ID;

} // namespace pgas
