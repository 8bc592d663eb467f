// SPDX-License-Identifier: BSD-3-Clause
//
// Replaces the port over RDMA adapters if rdma-core's headers were not found.
#include "wire/net/port/port_kind.hpp"

namespace pgas {
namespace {

constexpr port_word kWords[] = {{"verbs", 'b'}};
constexpr char kWhy[] = "this library was built without rdma-core (configure --with-verbs)";

bool usable(const port_wish &, std::string &why)
{
	why = kWhy;
	return false;
}

port *open(const port_wish &, const port_options &, std::string &why)
{
	why = kWhy;
	return nullptr;
}

} // namespace

const port_kind g_port_verbs = {
	.name = "verbs",
	.words = kWords,
	.encrypts = false,
	.present = nullptr,
	.suits = [](const std::string &) { return false; },
	.usable = usable,
	.open = open,
	.nic = nullptr,
	.asks = nullptr,
};

} // namespace pgas
