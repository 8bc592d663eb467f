// SPDX-License-Identifier: BSD-3-Clause
#include "pgas_flags.hpp"

namespace pgas {

int flags_refuse(const flag_set &set, uint64_t flags) noexcept
{
	PGAS_WARN(FI_LOG_CORE, "%s: flags %#llx are not supported; fi_pgas(7), FLAGS, lists those that are\n", set.call,
		  static_cast<unsigned long long>(flags & ~set.honoured));
	return -FI_EBADFLAGS;
}

} // namespace pgas
