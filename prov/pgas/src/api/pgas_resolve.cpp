// SPDX-License-Identifier: BSD-3-Clause
//
// Names: the text form of an address, service names of this host (abstract sockets, which end with their process), and
// host names as far as they refer to this host.
#include "support/pgas_addr.hpp"
#include "support/pgas_host.hpp"
#include "engine/pgas_wire.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdio>
#include <cstring>
#include <utility>

namespace pgas {
namespace {

constexpr char kPartChars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:.-_/";

// Parts of wires that are not in use here may be any printable text: the peer is reached through its other parts, or
// not at all.
bool part_canonical(std::string_view part, char *out, size_t room)
{
	std::string_view rest;
	const wire_ops *w = wire_of_part(part, rest);
	const size_t name = static_cast<size_t>(rest.data() - part.data());
	if (part.size() >= room || part.empty())
		return false;
	memcpy(out, part.data(), part.size());
	out[part.size()] = 0;
	if (w)
		return w->canonical(rest, out + name, room - name);
	return name > 1 && !rest.empty() && part.find_first_not_of(kPartChars) == part.npos;
}

} // namespace

bool address_parse(const char *text, ep_address &out)
{
	if (strnlen(text, kNameBytes) == kNameBytes || strncmp(text, kScheme, kSchemeBytes) != 0)
		return false;
	text += kSchemeBytes;
	if (strcmp(text, "*") == 0) {
		out = {};
		out.any = true;
		return true;
	}
	if (*text == '@') {
		if (strlen(text + 1) == 0 || strlen(text + 1) >= sizeof out.service)
			return false;
		out = {};
		out.named = true;
		strcpy(out.service, text + 1);
		return true;
	}
	out = {};
	size_t used = 0;
	std::string_view parts(text);
	if (parts.empty() || parts.back() == '+')
		return false;
	while (!parts.empty()) {
		if (used)
			out.parts[used++] = '+';
		if (!part_canonical(address_next_part(parts), out.parts + used, sizeof out.parts - kSchemeBytes - used))
			return false;
		used += strlen(out.parts + used);
	}
	return true;
}

ep_name address_format(const ep_address &a)
{
	ep_name n{};
	if (a.any)
		return address_of_any();
	if (a.named)
		snprintf(n.text, sizeof n.text, "%s@%s", kScheme, a.service);
	else
		snprintf(n.text, sizeof n.text, "%s%.*s", kScheme, static_cast<int>(kNameBytes - kSchemeBytes - 1),
			 a.parts);
	return n;
}

std::string address_readable(const char *text)
{
	ep_address a;
	if (!address_parse(text, a))
		return "not an address of fi_pgas";
	if (a.any || a.named)
		return text;
	std::string out = kScheme;
	char separator = '?';
	std::string_view parts(a.parts);
	for (std::string_view part = address_next_part(parts); !part.empty(); part = address_next_part(parts)) {
		std::string_view rest;
		const wire_ops *w = wire_of_part(part, rest);
		if (out.size() > kSchemeBytes)
			out += std::exchange(separator, '&');
		out += w ? w->show(rest) : std::string(part);
	}
	return out;
}

ep_name address_of_any()
{
	ep_name n{};
	snprintf(n.text, sizeof n.text, "%s*", kScheme);
	return n;
}

ep_name address_of_service(const char *service)
{
	ep_address a;
	a.named = true;
	snprintf(a.service, sizeof a.service, "%s", service);
	return address_format(a);
}

// --- bytes as text ---------------------------------------------------------------------------------------------------
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

} // namespace

void bytes_to_text(const void *bytes, size_t len, char *out, size_t room)
{
	const auto *pos = static_cast<const unsigned char *>(bytes);
	size_t n = 0;
	uint32_t bits = 0, held = 0;
	for (size_t i = 0; i < len || held;) {
		if (held < 6 && i < len) {
			bits = bits << 8 | pos[i++];
			held += 8;
		}
		const uint32_t take = std::min(held, 6u);
		if (n + 1 >= room)
			break;
		out[n++] = kDigits[(bits >> (held - take) & ((1u << take) - 1)) << (6 - take)];
		held -= take;
	}
	out[n] = 0;
}

size_t text_to_bytes(std::string_view text, void *out, size_t room)
{
	auto *dst = static_cast<unsigned char *>(out);
	size_t n = 0;
	uint32_t bits = 0, held = 0;
	for (const char c : text) {
		const char *digit = c ? strchr(kDigits, c) : nullptr;
		if (!digit)
			return 0;
		bits = bits << 6 | static_cast<uint32_t>(digit - kDigits);
		held += 6;
		if (held < 8)
			continue;
		if (n == room)
			return 0;
		held -= 8;
		dst[n++] = static_cast<unsigned char>(bits >> held);
	}
	return held < 6 && (bits & ((1u << held) - 1)) == 0 ? n : 0;
}

// --- service names ---------------------------------------------------------------------------------------------------
//
// Two abstract sockets: "pgas/UID/SERVICE" is taken once (bind fails for the second), and "pgas/UID/SERVICE/PARTS"
// names its owner. Abstract sockets end with their process, live in the network namespace, and /proc/net/unix lists
// them. Their names must be short: a part that begins with the identity of this host is written from the following ':'
// on.
namespace {

constexpr size_t kHostChars = 16;
struct host_name {
	char text[kHostChars + 1];
};
host_name host_text()
{
	host_name h;
	snprintf(h.text, sizeof h.text, "%016llx", static_cast<unsigned long long>(host_identity()));
	return h;
}

int bind_abstract(const char *name, unique_fd &out)
{
	unique_fd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	if (!fd)
		return -errno;
	sockaddr_un a{};
	a.sun_family = AF_UNIX;
	const size_t len = strlen(name);
	if (len + 1 > sizeof a.sun_path)
		return -FI_EINVAL;
	memcpy(a.sun_path + 1, name, len);
	if (bind(fd.get(), reinterpret_cast<sockaddr *>(&a),
		 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + len)))
		return errno == EADDRINUSE ? -FI_EADDRINUSE : -errno;
	out = std::move(fd);
	return 0;
}

} // namespace

int service_bind(const char *service, const ep_name &where, service_binding &out)
{
	char name[108];
	snprintf(name, sizeof name, "pgas/%u/%s", geteuid(), service);
	if (const int err = bind_abstract(name, out.name))
		return err;
	const host_name host = host_text();
	const char *parts = where.text + kSchemeBytes;
	if (strncmp(parts, host.text, kHostChars) == 0)
		parts += kHostChars;
	snprintf(name, sizeof name, "pgas/%u/%s/%s", geteuid(), service, parts);
	return bind_abstract(name, out.target);
}

int service_lookup(const char *service, ep_address &out)
{
	char prefix[108];
	const int prefix_len = snprintf(prefix, sizeof prefix, "@pgas/%u/%s/", geteuid(), service);
	FILE *f = fopen("/proc/net/unix", "re");
	if (!f)
		return -FI_EHOSTUNREACH;
	char line[512];
	int err = -FI_EHOSTUNREACH;
	while (err && fgets(line, sizeof line, f)) {
		const char *pos = strstr(line, prefix);
		if (!pos)
			continue;
		pos += prefix_len;
		char text[kSchemeBytes + 20 + sizeof line];
		snprintf(text, sizeof text, "%s%.*s%.*s", kScheme, *pos == ':' ? static_cast<int>(kHostChars) : 0,
			 host_text().text, static_cast<int>(strcspn(pos, "\n")), pos);
		if (address_parse(text, out) && !out.named && !out.any)
			err = 0;
	}
	fclose(f);
	return err;
}

// --- host names ------------------------------------------------------------------------------------------------------
namespace {

bool same_ip(const sockaddr *a, const sockaddr *b)
{
	if (!a || !b || a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return reinterpret_cast<const sockaddr_in *>(a)->sin_addr.s_addr ==
		       reinterpret_cast<const sockaddr_in *>(b)->sin_addr.s_addr;
	if (a->sa_family == AF_INET6)
		return memcmp(&reinterpret_cast<const sockaddr_in6 *>(a)->sin6_addr,
			      &reinterpret_cast<const sockaddr_in6 *>(b)->sin6_addr, sizeof(in6_addr)) == 0;
	return false;
}

bool is_loopback(const sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(reinterpret_cast<const sockaddr_in *>(a)->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6 *>(a)->sin6_addr);
}

bool is_this_host(const char *node, uint64_t flags)
{
	char self[256] = {};
	gethostname(self, sizeof self - 1);
	if (strcmp(node, "localhost") == 0 || strcmp(node, self) == 0)
		return true;
	addrinfo want{}, *list = nullptr;
	want.ai_socktype = SOCK_STREAM;
	want.ai_flags = flags & FI_NUMERICHOST ? AI_NUMERICHOST : 0;
	if (getaddrinfo(node, nullptr, &want, &list) != 0)
		return false;
	ifaddrs *ifs = nullptr;
	if (getifaddrs(&ifs) != 0)
		ifs = nullptr;
	bool found = false;
	for (addrinfo *a = list; a && !found; a = a->ai_next) {
		found = is_loopback(a->ai_addr);
		for (ifaddrs *i = ifs; i && !found; i = i->ifa_next)
			found = same_ip(a->ai_addr, i->ifa_addr);
	}
	if (ifs)
		freeifaddrs(ifs);
	freeaddrinfo(list);
	return found;
}

} // namespace

int resolve_node(const char *node, const char *service, uint64_t flags, ep_name &out)
{
	ep_address a;
	if (node && strncmp(node, kScheme, kSchemeBytes) == 0) {
		if (!address_parse(node, a))
			return -FI_ENODATA;
		out = address_format(a);
		return 0;
	}
	if (node && !is_this_host(node, flags)) {
		PGAS_INFO(FI_LOG_CORE, "host %s is not this host\n", node);
		return -FI_ENODATA;
	}
	if (!service)
		return 0;
	if (strlen(service) >= sizeof a.service || strpbrk(service, "/ "))
		return -FI_ENODATA;
	out = address_of_service(service);
	return 0;
}

} // namespace pgas
