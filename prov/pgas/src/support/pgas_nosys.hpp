// SPDX-License-Identifier: BSD-3-Clause
//
// Entries for calls that fi_pgas(7) lists as unsupported. libfabric's inline functions call through the tables without
// a check, so every table is complete; one template makes the function for any signature.
#pragma once

#include <rdma/fi_errno.h>

namespace pgas {

template <class Function>
struct unsupported_call;

template <class Result, class... Args>
struct unsupported_call<Result (*)(Args...)> {
	static Result call(Args...) noexcept { return static_cast<Result>(-FI_ENOSYS); }
};

#define PGAS_NOSYS(table_arg, member_arg) .member_arg = ::pgas::unsupported_call<decltype(table_arg::member_arg)>::call

} // namespace pgas
