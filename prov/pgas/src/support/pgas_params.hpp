// SPDX-License-Identifier: BSD-3-Clause
//
// The parameters of the provider (FI_PGAS_*, pgas_params.def) and the limits that no wire changes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pgas/pgas_hot.h>

namespace pgas {

struct params {
#define PGAS_PARAM(name_arg, field_arg, default_arg, min_arg, max_arg, text_arg) size_t field_arg = (default_arg);
#include "pgas_params.def"
#undef PGAS_PARAM
};
// The value of a parameter that must not fall back to its default when it is set wrongly: net_sign and net_tls.
inline constexpr size_t kWrongValue = SIZE_MAX;
const params &parameters();
// FI_PGAS_NET: "auto", "off", or the network that carries the link to other hosts, with an interface if wanted.
const char *parameters_net();

inline constexpr size_t kInjectBytes = PGAS_INJECT_BYTES;
inline constexpr size_t kIovLimit = 4;
inline constexpr size_t kRmaIovLimit = 4;
inline constexpr size_t kMrIovLimit = 16;

} // namespace pgas
