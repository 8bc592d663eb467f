// SPDX-License-Identifier: BSD-3-Clause
//
// Tables of calls. libfabric's inline functions call through them without a check, so every table is complete: calls
// that fi_pgas(7) lists as unsupported answer -FI_ENOSYS; one template makes the function for any signature. Tables
// grow at their ends from one libfabric to the next, so a table is not listed but filled.
#pragma once

#include <rdma/fi_errno.h>

namespace pgas {

template <class Function>
struct unsupported_call;

template <class Result, class... Args>
struct unsupported_call<Result (*)(Args...)> {
	static Result call(Args...) noexcept { return static_cast<Result>(-FI_ENOSYS); }
};

template <class... Functions>
constexpr void refuse_calls(Functions &...entries)
{
	((entries = unsupported_call<Functions>::call), ...);
}

// fill sets what the oldest headers have. What only newer ones have is refused here, by its name; what is newer still
// than this list stays null, which test_prov_tables finds.
template <class Table, class Fill>
constexpr Table make_ops(Fill fill)
{
	Table ops{};
	ops.size = sizeof ops;
	if constexpr (requires { ops.export_xpu; })
		refuse_calls(ops.export_xpu);
	if constexpr (requires { ops.xpu_ctx; })
		refuse_calls(ops.xpu_ctx);
	fill(ops);
	return ops;
}

} // namespace pgas
