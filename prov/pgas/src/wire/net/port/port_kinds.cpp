// SPDX-License-Identifier: BSD-3-Clause
//
// The table of all kinds of ports, made from port_kinds.def.
#include "port_kind.hpp"

namespace pgas {

std::span<const port_kind *const> port_kinds()
{
	static constexpr const port_kind *kPorts[] = {
#define PGAS_PORT(name_arg) &g_port_##name_arg,
#include "port_kinds.def"
#undef PGAS_PORT
	};
	return kPorts;
}

} // namespace pgas
