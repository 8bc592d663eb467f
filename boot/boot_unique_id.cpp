// SPDX-License-Identifier: BSD-3-Clause
// boot_unique_id.cpp: making, checking and showing a unique id, and the settings around it.
#include "boot_unique.hpp"

#include <pgas/pgas_interface.hpp>

#include <arpa/inet.h>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace pgas::boot {
namespace {

constexpr uint64_t kTimeoutSeconds = 300, kTimeoutMost = 10'000'000;

uint64_t sum_of(const unique_id &id)
{
	return hash_bytes(&id, offsetof(unique_id, sum));
}

bool parse_address(const char *text, sockaddr_storage &address, socklen_t &length)
{
	sockaddr_in v4{};
	sockaddr_in6 v6{};
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
		v4.sin_family = AF_INET;
		memcpy(&address, &v4, length = sizeof v4);
		return true;
	}
	if (inet_pton(AF_INET6, text, &v6.sin6_addr) != 1)
		return false;
	v6.sin6_family = AF_INET6;
	memcpy(&address, &v6, length = sizeof v6);
	return true;
}

// The interface that FI_PGAS_NET names, if it names one: KIND:WHERE, where WHERE may be an adapter, too.
std::string link_interface()
{
	const char *net = pgas_boot_getenv("FI_PGAS_NET");
	const char *colon = net ? strchr(net, ':') : nullptr;
	return colon && if_nametoindex(colon + 1) ? colon + 1 : "";
}

} // namespace

bool id_create(unique_id &id)
{
	id = {};
	id.magic = kIdMagic;
	id.version = kIdVersion;
	gethostname(id.host, sizeof id.host - 1);
	return random_fill(id.proof_secret, sizeof id.proof_secret) &&
	       random_fill(id.link_secret, sizeof id.link_secret);
}

void id_seal(unique_id &id, const sockaddr_storage &address)
{
	if (address.ss_family == AF_INET6) {
		sockaddr_in6 v6;
		memcpy(&v6, &address, sizeof v6);
		id.family = 6;
		id.port = v6.sin6_port;
		memcpy(id.address, &v6.sin6_addr, 16);
	} else {
		sockaddr_in v4;
		memcpy(&v4, &address, sizeof v4);
		id.family = 4;
		id.port = v4.sin_port;
		memcpy(id.address, &v4.sin_addr, 4);
	}
	id.sum = sum_of(id);
}

const char *id_fault(const unique_id &id)
{
	if (id.magic != kIdMagic)
		return "it was not made by shmemx_get_uniqueid, or not passed on whole";
	if (id.version != kIdVersion)
		return "another version of this library made it; all processes of a job must use the same one";
	if (id.sum != sum_of(id) || !id.port || (id.family != 4 && id.family != 6) || id.host[sizeof id.host - 1])
		return "it was changed on its way; all 128 bytes of it must be passed on";
	return nullptr;
}

socklen_t id_address(const unique_id &id, sockaddr_storage &address)
{
	sockaddr_in v4{};
	sockaddr_in6 v6{};
	address = {};
	if (id.family == 4) {
		v4.sin_family = AF_INET;
		v4.sin_port = id.port;
		memcpy(&v4.sin_addr, id.address, 4);
		memcpy(&address, &v4, sizeof v4);
		return sizeof v4;
	}
	v6.sin6_family = AF_INET6;
	v6.sin6_port = id.port;
	memcpy(&v6.sin6_addr, id.address, 16);
	memcpy(&address, &v6, sizeof v6);
	return sizeof v6;
}

std::string id_show(const unique_id &id)
{
	char text[INET6_ADDRSTRLEN] = "?";
	inet_ntop(id.family == 4 ? AF_INET : AF_INET6, id.address, text, sizeof text);
	const std::string port = std::to_string(ntohs(id.port));
	return (id.family == 4 ? std::string(text) : "[" + std::string(text) + "]") + ":" + port + " (host " + id.host +
	       ")";
}

bool id_is_loopback(const unique_id &id)
{
	in6_addr v6;
	memcpy(&v6, id.address, sizeof v6);
	return id.family == 4 ? id.address[0] == 127 : IN6_IS_ADDR_LOOPBACK(&v6) != 0;
}

int id_listen_address(sockaddr_storage &address, socklen_t &length)
{
	const char *asked = pgas_boot_getenv("PGAS_BOOT_INTERFACE");
	address = {};
	if (asked && parse_address(asked, address, length))
		return 0;
	ip_interface found;
	int rc = choose_interface(asked ? asked : link_interface(), found);
	if (rc == 0 && found.addr.ss_family == AF_INET6 &&
	    IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6 *>(&found.addr)->sin6_addr))
		rc = -ENODEV; // such an address means nothing to other hosts
	if (rc == -ENODEV && asked) {
		print_error("PGAS_BOOT_INTERFACE=%s: %s", asked,
			    is_down(asked) ? "this interface is down"
					   : "no interface of this host with that name has an IP address, and it is no "
					     "IP address");
		return rc;
	}
	if (rc == -ENODEV) { // then all processes are on this host, or the callers will say so
		parse_address("127.0.0.1", address, length);
		return 0;
	}
	if (rc != 0) {
		print_error("cannot list the network interfaces: %s", strerror(-rc));
		return rc;
	}
	address = found.addr;
	length = found.len;
	return 0;
}

bool id_timeout(uint64_t &seconds)
{
	const char *text = pgas_boot_getenv("PGAS_BOOT_TIMEOUT");
	char *end = nullptr;
	seconds = text ? strtoull(text, &end, 10) : kTimeoutSeconds;
	if (!text || (*text >= '0' && *text <= '9' && !*end && seconds <= kTimeoutMost))
		return true;
	print_error("PGAS_BOOT_TIMEOUT=%s: a number of seconds is expected, at most %llu; 0: no limit", text,
		    static_cast<unsigned long long>(kTimeoutMost));
	return false;
}

} // namespace pgas::boot
