// SPDX-License-Identifier: BSD-3-Clause
//
// The port over TCP sockets, as a kind of port. FI_PGAS_NET=socket[:INTERFACE].
#include "wire/net/port/port_interface.hpp"
#include "wire/net/port/port_kind.hpp"
#include "port_socket.hpp"

namespace pgas {
namespace {

constexpr port_word kWords[] = {{"socket", kSocketKind}};

bool socket_usable(const port_wish &wish, std::string &why)
{
	ip_interface listener;
	return choose_listener(wish.where, listener, why);
}

port *socket_open(const port_wish &wish, const port_options &options, std::string &why)
{
	ip_interface listener;
	return choose_listener(wish.where, listener, why) ? port_socket_at(listener, options, why) : nullptr;
}

} // namespace

const port_kind g_port_socket = {
	.name = "sockets",
	.words = kWords,
	.encrypts = true,
	.present = has_interface,
	.suits = nullptr,
	.usable = socket_usable,
	.open = socket_open,
	.nic = nullptr,
	.asks = nullptr,
};

} // namespace pgas
