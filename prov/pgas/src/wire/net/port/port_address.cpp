// SPDX-License-Identifier: BSD-3-Clause
//
// Packed addresses of ports: IP addresses of both versions, and any other as bytes.
#include "port_address.hpp"
#include "net_port.hpp"
#include "support/pgas_util.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstring>

namespace pgas {

size_t address_pack(const char *raw, size_t len, char *out)
{
	sockaddr_in v4;
	sockaddr_in6 v6;
	if (len == sizeof v4 && (memcpy(&v4, raw, sizeof v4), v4.sin_family == AF_INET)) {
		memcpy(out, &v4.sin_addr, 4);
		memcpy(out + 4, &v4.sin_port, 2);
		return 6;
	}
	if (len == sizeof v6 && (memcpy(&v6, raw, sizeof v6), v6.sin6_family == AF_INET6)) {
		memcpy(out, &v6.sin6_addr, 16);
		memcpy(out + 16, &v6.sin6_port, 2);
		return 18;
	}
	if (len > kLinkAddressMost)
		return 0;
	memcpy(out, raw, len);
	return len;
}

bool address_unpack(uint32_t format, const char *packed, size_t len, char *raw, size_t room)
{
	memset(raw, 0, room);
	if (format == FI_SOCKADDR_IN || (format == FI_SOCKADDR && len == 6)) {
		sockaddr_in a{};
		if (len != 6)
			return false;
		a.sin_family = AF_INET;
		memcpy(&a.sin_addr, packed, 4);
		memcpy(&a.sin_port, packed + 4, 2);
		memcpy(raw, &a, sizeof a);
		return a.sin_port != 0;
	}
	if (format == FI_SOCKADDR_IN6 || (format == FI_SOCKADDR && len == 18)) {
		sockaddr_in6 a{};
		if (len != 18)
			return false;
		a.sin6_family = AF_INET6;
		memcpy(&a.sin6_addr, packed, 16);
		memcpy(&a.sin6_port, packed + 16, 2);
		memcpy(raw, &a, sizeof a);
		return a.sin6_port != 0;
	}
	if (!len || len > room)
		return false;
	memcpy(raw, packed, len);
	return true;
}

// The tcp providers return -FI_EAGAIN forever if the other process is gone: they try to connect again and again, and do
// not report that this is refused.
bool address_refuses(uint32_t format, const char *packed, size_t len)
{
	constexpr int kPatienceMs = 5;
	char raw[128];
	if ((len != 6 && len != 18) || !address_unpack(format, packed, len, raw, sizeof raw))
		return false;
	unique_fd fd(socket(len == 6 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	const socklen_t size = len == 6 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
	if (!fd)
		return false;
	if (connect(fd.get(), reinterpret_cast<sockaddr *>(raw), size) == 0)
		return false;
	if (errno != EINPROGRESS)
		return errno == ECONNREFUSED;
	pollfd p{fd.get(), POLLOUT, 0};
	int err = 0;
	socklen_t room = sizeof err;
	return poll(&p, 1, kPatienceMs) == 1 && getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &err, &room) == 0 &&
	       err == ECONNREFUSED;
}

std::string address_show(uint32_t format, const char *packed, size_t len)
{
	char raw[128], text[INET6_ADDRSTRLEN];
	if (!address_unpack(format, packed, len, raw, sizeof raw))
		return "";
	uint16_t port = 0;
	if (len == 6 || len == 18) {
		memcpy(&port, packed + len - 2, 2);
		inet_ntop(len == 6 ? AF_INET : AF_INET6, packed, text, sizeof text);
		return (len == 6 ? std::string(text) : "[" + std::string(text) + "]") + ":" +
		       std::to_string(ntohs(port));
	}
	std::string hex;
	for (size_t i = 0; i < len; i++) {
		snprintf(text, sizeof text, "%02x", static_cast<unsigned char>(packed[i]));
		hex += text;
	}
	return hex;
}

std::string address_claimed(const std::string &packed)
{
	const std::string text = address_show(FI_SOCKADDR, packed.data(), packed.size());
	return text.empty() ? "somebody" : text;
}

void log_dropped(port &p, const std::string &who, const char *what)
{
	if (worth_a_line(p.dropped))
		PGAS_WARN(FI_LOG_EP_CTRL, "link: the connection of %s was closed: %s (%llu so far)\n", who.c_str(),
			  what, static_cast<unsigned long long>(p.dropped));
}

} // namespace pgas
