// SPDX-License-Identifier: BSD-3-Clause
//
// fi_getinfo of the provider; see pgas_info.cpp.
#pragma once

#include "pgas_api.hpp"

namespace pgas {

int info_get(uint32_t version, const char *node, const char *service, uint64_t flags, const fi_info *hints,
	     fi_info **info) noexcept;

inline constexpr uint64_t kPrimaryCaps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
inline constexpr uint64_t kTxModifiers = FI_READ | FI_WRITE | FI_SEND;
inline constexpr uint64_t kRxModifiers = FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE;
inline constexpr uint64_t kSecondaryCaps = FI_MULTI_RECV | FI_DIRECTED_RECV | FI_RMA_EVENT | FI_SOURCE | FI_FENCE |
					   FI_LOCAL_COMM | FI_REMOTE_COMM | FI_AV_USER_ID;

inline constexpr uint64_t kOrderAll = kApiOrderStrict | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR |
				      FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW |
				      FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW;
// What an endpoint with one of these was promised about one-sided operations, and what of it costs a barrier here: a
// load may pass an earlier store on every machine; x86 keeps all else.
inline constexpr uint64_t kStrictOneSided = kOrderAll & ~FI_ORDER_SAS;
inline constexpr uint64_t kLoadAfterStore = FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_RMA_RAW | FI_ORDER_ATOMIC_RAW;
inline constexpr uint64_t kLoadAfterLoad = FI_ORDER_RAR | FI_ORDER_RMA_RAR | FI_ORDER_ATOMIC_RAR;
#if defined(__x86_64__)
inline constexpr uint64_t kNeedsFence = kLoadAfterStore;
#else
inline constexpr uint64_t kNeedsFence = kStrictOneSided;
#endif

} // namespace pgas
