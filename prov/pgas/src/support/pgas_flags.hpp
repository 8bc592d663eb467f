// SPDX-License-Identifier: BSD-3-Clause
//
// The flags that each call honours (pgas_flags.def), and the one check of them. The caller relies on its flags
// (FI_TRIGGER: not yet; FI_COMMIT_COMPLETE: durable), so a call with a flag that is not honoured is refused and does
// nothing.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_ext_pgas.h>

#include "pgas_api.hpp"
#include "pgas_util.hpp"

namespace pgas {

struct flag_set {
	const char *call;
	uint64_t honoured;
};

namespace flags_of {
#undef FI_REG_MR // libfabric 2 has no name for it, or one that warns
#define FI_REG_MR kApiRegMr
#define PGAS_FLAGS(name_arg, call_arg, flags_arg) inline constexpr flag_set name_arg{call_arg, flags_arg};
#include "pgas_flags.def"
#undef PGAS_FLAGS
} // namespace flags_of

// Logs which flags are not honoured and returns -FI_EBADFLAGS.
PGAS_COLD int flags_refuse(const flag_set &set, uint64_t flags) noexcept;

// 0 or -FI_EBADFLAGS. A template, so that a transfer pays for one test of a constant.
template <const flag_set &Set>
[[gnu::always_inline]] inline int flags_check(uint64_t flags)
{
	return PGAS_LIKELY(!(flags & ~Set.honoured)) ? 0 : flags_refuse(Set, flags);
}

} // namespace pgas
