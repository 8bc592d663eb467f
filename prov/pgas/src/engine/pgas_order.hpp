// SPDX-License-Identifier: BSD-3-Clause
//
// Ordering guarantees (FI_ORDER_*), and which of them cost a barrier on this machine.
#pragma once

#include "support/pgas_api.hpp"

namespace pgas {

inline constexpr uint64_t kOrderAll = kApiOrderStrict | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR |
				      FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW |
				      FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW;
// kStrictOneSided: guarantees about one-sided operations. kNeedsFence: those that cost a barrier here. A load may pass
// an earlier store on every machine; x86 keeps all other order.
inline constexpr uint64_t kStrictOneSided = kOrderAll & ~FI_ORDER_SAS;
inline constexpr uint64_t kLoadAfterStore = FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_RMA_RAW | FI_ORDER_ATOMIC_RAW;
inline constexpr uint64_t kLoadAfterLoad = FI_ORDER_RAR | FI_ORDER_RMA_RAR | FI_ORDER_ATOMIC_RAR;
#if defined(__x86_64__)
inline constexpr uint64_t kNeedsFence = kLoadAfterStore;
#else
inline constexpr uint64_t kNeedsFence = kStrictOneSided;
#endif

} // namespace pgas
