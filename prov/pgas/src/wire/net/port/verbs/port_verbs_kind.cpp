// SPDX-License-Identifier: BSD-3-Clause
//
// The port over RDMA adapters, as a kind of port. FI_PGAS_NET=verbs[:DEVICE[:PORT]].
#include "wire/net/port/net_nic.hpp"
#include "wire/net/port/port_kind.hpp"
#include "port_verbs.hpp"

namespace pgas {
namespace {

constexpr port_word kWords[] = {{"verbs", kVerbsKind}};

bool verbs_present()
{
	return !names_in(kAdapters).empty();
}

// What follows `auto:` is an interface, which this port does not choose by.
bool verbs_suits(const std::string &where)
{
	std::string why;
	return where.empty() && verbs_usable("", why);
}

fid_nic *verbs_nic(const std::string &where)
{
	std::string why;
	fid_nic *nic = nullptr;
	verbs_usable(where, why, &nic);
	return nic;
}

} // namespace

const port_kind g_port_verbs = {
	.name = "verbs",
	.words = kWords,
	.encrypts = false,
	.present = verbs_present,
	.suits = verbs_suits,
	.usable = [](const port_wish &wish, std::string &why) { return verbs_usable(wish.where, why); },
	.open = [](const port_wish &wish, const port_options &options,
		   std::string &why) { return port_verbs_open(wish.where, options, why); },
	.nic = verbs_nic,
	.asks = nullptr,
};

} // namespace pgas
