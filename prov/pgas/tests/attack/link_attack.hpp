// SPDX-License-Identifier: BSD-3-Clause
//
// For attacks on the link between hosts: the protocol of the socket port and of the link, spoken over plain sockets. It
// is written anew from the comments of net_frame.hpp, port_socket.hpp and net_greet.cpp, so that an attacker can send
// anything, and so that both sides of a handshake do not share a mistake.
//
// Everything runs on the loopback interface, in the test's own network namespace where that is allowed.
#pragma once

#include "wire/net/link/net_frame.hpp"
#include "wire/net/port/socket/port_socket.hpp"

#include <pgas/pgas_proof.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace attack {

using namespace pgas;

inline constexpr secret kSecret = {0x1122334455667788, 0x99aabbccddeeff00}; // of the victims' job
inline constexpr secret kGuess = {1, 2};                                    // of an outsider that does not know it
inline constexpr int kSoonMs = 5000;                                        // for a victim's answer, on a busy machine

// --- addresses -------------------------------------------------------------------------------------------------------

inline std::string pack(const sockaddr_in &a)
{
	std::string s(6, 0);
	memcpy(s.data(), &a.sin_addr, 4);
	memcpy(s.data() + 4, &a.sin_port, 2);
	return s;
}
inline sockaddr_in unpack(const std::string &s)
{
	sockaddr_in a{};
	a.sin_family = AF_INET;
	memcpy(&a.sin_addr, s.data(), 4);
	memcpy(&a.sin_port, s.data() + 4, 2);
	return a;
}
inline sockaddr_in loopback(uint16_t port, uint8_t last = 1)
{
	sockaddr_in a{};
	a.sin_family = AF_INET;
	a.sin_addr.s_addr = htonl(0x7f000000u | last);
	a.sin_port = htons(port);
	return a;
}

inline constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

inline std::string from_base64(const std::string &text)
{
	std::string out;
	uint32_t bits = 0, have = 0;
	for (const char c : text) {
		bits = bits << 6 | static_cast<uint32_t>(strchr(kBase64, c) - kBase64);
		have += 6;
		if (have >= 8) {
			have -= 8;
			out += static_cast<char>(bits >> have);
		}
	}
	return out;
}
inline std::string to_base64(const std::string &bytes)
{
	std::string out;
	uint32_t bits = 0, have = 0;
	for (const char c : bytes) {
		bits = bits << 8 | static_cast<unsigned char>(c);
		for (have += 8; have >= 6; have -= 6)
			out += kBase64[bits >> (have - 6) & 63];
	}
	if (have)
		out += kBase64[bits << (6 - have) & 63];
	return out;
}

// The place of an endpoint, from its address (a text): ...n/s and the packed address and the number in base64.
struct place {
	std::string name, address;
	uint16_t endpoint = 0;
};
inline place place_of(const std::string &name)
{
	place p{name, "", 0};
	const size_t pos = name.find("n/s");
	if (pos == std::string::npos)
		return p;
	const std::string bytes = from_base64(name.substr(pos + 3, name.find('+', pos) - pos - 3));
	p.address = bytes.substr(0, 6);
	memcpy(&p.endpoint, bytes.data() + 6, 2);
	return p;
}
// The address of an endpoint that only the link reaches.
inline std::string name_at(const std::string &address, uint16_t endpoint = 0)
{
	std::string bytes = address;
	bytes.append(reinterpret_cast<const char *>(&endpoint), 2);
	return "fi_pgas://n/s" + to_base64(bytes);
}

// Creates a private network, if the kernel allows that. Call it before anything else.
inline bool own_network()
{
	const uid_t uid = getuid();
	if (unshare(CLONE_NEWNET) != 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
			return false;
		char map[64];
		const int len = snprintf(map, sizeof map, "%u %u 1\n", uid, uid);
		const unique_fd file(open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC));
		if (write(file.get(), map, static_cast<size_t>(len)) != len)
			return false;
	}
	const unique_fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	ifreq r{};
	strcpy(r.ifr_name, "lo");
	r.ifr_flags = IFF_UP | IFF_RUNNING;
	return ioctl(fd.get(), SIOCSIFFLAGS, &r) == 0;
}

// All listeners, as any user on the host can read them.
inline std::vector<std::string> listeners()
{
	std::vector<std::string> all;
	FILE *f = fopen("/proc/self/net/tcp", "re");
	if (!f)
		return all;
	char line[512];
	while (fgets(line, sizeof line, f)) {
		unsigned ip = 0, port = 0, state = 0;
		if (sscanf(line, " %*u: %x:%x %*x:%*x %x", &ip, &port, &state) != 3 || state != 10)
			continue;
		sockaddr_in a{};
		a.sin_addr.s_addr = ip;
		a.sin_port = htons(static_cast<uint16_t>(port));
		all.push_back(pack(a));
	}
	fclose(f);
	return all;
}

// --- one connection --------------------------------------------------------------------------------------------------

template <class T>
std::string bytes_of(const T &t)
{
	return {reinterpret_cast<const char *>(&t), sizeof t};
}

// A packet as a record, padded.
inline std::string record_of(const std::string &packet)
{
	return bytes_of(head_of(record_kind::packet, packet.size())) + packet +
	       std::string((8 - packet.size() % 8) % 8, 0);
}

struct listener {
	unique_fd fd;
	std::string address; // packed; empty: it could not be bound

	explicit listener(sockaddr_in place = loopback(0)) : fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
	{
		const int enable = 1;
		socklen_t len = sizeof place;
		setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &enable, sizeof enable);
		if (bind(fd.get(), reinterpret_cast<sockaddr *>(&place), len) == 0 && listen(fd.get(), 64) == 0 &&
		    getsockname(fd.get(), reinterpret_cast<sockaddr *>(&place), &len) == 0)
			address = pack(place);
	}
};

inline bool readable(int fd, int ms)
{
	pollfd f{fd, POLLIN, 0};
	return poll(&f, 1, ms) == 1;
}

struct line {
	unique_fd fd;
	std::string theirs; // address that the hello record of a caller claimed
	hello_record asked{};
	welcome_record welcomed{};

	bool say(const void *bytes, size_t len) const
	{
		const auto *pos = static_cast<const char *>(bytes);
		while (len) {
			const ssize_t n = ::send(fd.get(), pos, len, MSG_NOSIGNAL);
			if (n <= 0)
				return false;
			pos += n;
			len -= static_cast<size_t>(n);
		}
		return true;
	}
	bool say(const std::string &s) const { return say(s.data(), s.size()); }
	// The next bytes; fewer if the connection ends, or nothing arrives for `ms`.
	std::string hear(size_t len, int ms = kSoonMs) const
	{
		std::string got(len, 0);
		size_t n = 0;
		while (n < len && readable(fd.get(), ms)) {
			const ssize_t more = recv(fd.get(), got.data() + n, len - n, 0);
			if (more <= 0)
				break;
			n += static_cast<size_t>(more);
		}
		got.resize(n);
		return got;
	}
	template <class Record>
	bool hear_record(Record &r, int ms = kSoonMs) const
	{
		const std::string got = hear(sizeof r, ms);
		memcpy(&r, got.data(), got.size());
		return got.size() == sizeof r;
	}
	// Returns whether the victim ended the connection; skips what it sent before.
	bool closed(int ms = kSoonMs) const
	{
		char room[4096];
		while (readable(fd.get(), ms))
			if (recv(fd.get(), room, sizeof room, 0) <= 0)
				return true;
		return false;
	}
	bool say_packet(const std::string &bytes) const { return say(record_of(bytes)); }
	// The next packet, skipping other records; empty if none arrived.
	std::string hear_packet(int ms = kSoonMs) const
	{
		record_head h{};
		if (!hear_record(h, ms) || h.magic != kRecordMagic || h.kind != record_kind::packet ||
		    h.bytes > 1 << 20)
			return "";
		const std::string all = hear((h.bytes + 7) / 8 * 8, ms);
		return all.substr(0, h.bytes);
	}
};

inline hello_record hello_record_of(const std::string &address, uint64_t features = 0)
{
	hello_record h{};
	h.head = head_of(record_kind::hello, address.size());
	memcpy(h.address, address.data(), address.size());
	h.nonce[0] = random_word();
	h.nonce[1] = random_word();
	h.features = features;
	return h;
}

inline unique_fd connect_to(const std::string &address, uint8_t source = 1)
{
	unique_fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	sockaddr_in own = loopback(0, source), dest = unpack(address);
	if (!fd || (source != 1 && bind(fd.get(), reinterpret_cast<sockaddr *>(&own), sizeof own) != 0) ||
	    connect(fd.get(), reinterpret_cast<sockaddr *>(&dest), sizeof dest) != 0)
		return {};
	return fd;
}

// Calls a port and claims to be `claim`. source: calls from 127.0.0.SOURCE.
inline bool line_call(line &l, const std::string &dest, const std::string &claim, uint64_t features = 0,
		      uint8_t source = 1)
{
	l.fd = connect_to(dest, source);
	l.asked = hello_record_of(claim, features);
	return l.fd && l.say(&l.asked, sizeof l.asked) && l.hear_record(l.welcomed) &&
	       l.welcomed.head.kind == record_kind::welcome;
}

// Accepts the next caller of a listener, and welcomes it.
inline bool line_accept(line &l, const listener &server, uint64_t features = 0, int ms = kSoonMs)
{
	if (!readable(server.fd.get(), ms))
		return false;
	l.fd = unique_fd(accept4(server.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
	if (!l.fd || !l.hear_record(l.asked) || l.asked.head.bytes > kLinkAddressMost)
		return false;
	l.theirs.assign(l.asked.address, l.asked.head.bytes);
	l.welcomed = {};
	l.welcomed.head = head_of(record_kind::welcome, 0);
	l.welcomed.features = features;
	return l.say(&l.welcomed, sizeof l.welcomed);
}

// --- packets ---------------------------------------------------------------------------------------------------------

inline std::string packet_of(uint8_t flags, uint32_t channel, uint64_t session, const std::string &body,
			     uint32_t seq = 0, uint32_t ack = 0, uint8_t protocol = kProtocol)
{
	packet_head h{};
	h.magic = kPacketMagic;
	h.protocol = protocol;
	h.flags = flags;
	h.bytes = static_cast<uint32_t>(sizeof h + body.size());
	h.channel = channel;
	h.seq = seq;
	h.ack = ack;
	h.session = session;
	return bytes_of(h) + body;
}
inline packet_head head_in(const std::string &packet)
{
	packet_head h{};
	memcpy(&h, packet.data(), std::min(packet.size(), sizeof h));
	return h;
}
template <class T>
T body_in(const std::string &packet, size_t pos = 0)
{
	T t{};
	const size_t begin = sizeof(packet_head) + pos;
	if (packet.size() >= begin + sizeof t)
		memcpy(&t, packet.data() + begin, sizeof t);
	return t;
}

inline std::string frame_of(frame_kind kind, uint8_t flags, uint16_t src, uint16_t dst, const std::string &body)
{
	const size_t words = (body.size() + 7) / 8, tail = words * 8 - body.size();
	const frame_head h{kind, static_cast<uint8_t>(flags | tail), src, dst, static_cast<uint16_t>(words)};
	return bytes_of(h) + body + std::string(tail, 0);
}
// Puts a word at the start of key 1's memory, or at `pos`.
inline std::string put_of(uint64_t value, uint64_t pos = 0)
{
	return frame_of(frame_kind::put, kFrameKey | kFrameLast, 0, 0,
			bytes_of(pos) + bytes_of(uint64_t{1}) + bytes_of(value));
}

// --- greeting --------------------------------------------------------------------------------------------------------

struct transcript {
	char label[20];
	uint16_t protocol, role;
	hello caller, callee;
};
static_assert(sizeof(transcript) == 184);

struct greeting {
	secret key = kSecret;
	std::string name; // of the callee's endpoint
	hello caller{}, callee{};

	proof by(link_role r, const char *label = "pgas link proof") const
	{
		transcript t{};
		memcpy(t.label, label, strlen(label));
		t.protocol = kProtocol;
		t.role = static_cast<uint16_t>(r);
		t.caller = caller;
		t.callee = callee;
		const secret mac = mac_of(mac_of(key, name.data(), name.size()), &t, sizeof t);
		return {{mac[0], mac[1]}};
	}
};

// machine: as in the victim's hello; attackers may request that from any process of the job.
inline hello hello_as(link_role role, const std::string &address, uint16_t looks_for, uint16_t endpoint)
{
	hello h{};
#if defined(__x86_64__)
	constexpr uint8_t kArchitecture = 1;
#else
	constexpr uint8_t kArchitecture = 2;
#endif
	h.machine = {0x01020304, static_cast<uint16_t>(sysconf(_SC_PAGESIZE) / 1024), 8, kArchitecture};
	h.id = random_word();
	h.nonce = random_word();
	h.session = random_word();
	h.channel = 1;
	h.packet = 16384;
	h.looks_for = looks_for;
	h.endpoint = endpoint;
	h.kind = 's';
	h.role = role;
	h.address_len = static_cast<uint8_t>(address.size());
	memcpy(h.address, address.data(), address.size());
	return h;
}

// An open channel, from the attacker's side.
struct session {
	line conn;
	greeting said;
	link_role role = link_role::caller;
	uint32_t sent = 0, ran = 0;

	const hello &theirs() const { return role == link_role::caller ? said.callee : said.caller; }
	const hello &ours() const { return role == link_role::caller ? said.caller : said.callee; }
	std::string packet(uint8_t flags, const std::string &body) const
	{
		return packet_of(flags, theirs().channel, theirs().session, body, sent, ran);
	}
	bool say_frames(const std::string &frames)
	{
		sent++;
		return conn.say_packet(packet(kPacketData, frames));
	}
	// Only the peer of the open channel answers a ping, and its answer says that all before it has been run. Other
	// packets of the peer may come first.
	bool answers()
	{
		if (!conn.say_packet(packet(kPacketPing, "")))
			return false;
		for (;;) {
			const std::string p = conn.hear_packet(1000);
			const packet_head h = head_in(p);
			if (p.empty() || (h.flags & (kPacketRefuse | kPacketBye)))
				return false;
			if (h.channel == ours().channel && h.session == ours().session && !(h.flags & kPacketHello) &&
			    h.ack == sent)
				return true;
		}
	}
};

// Says hello to a victim as if from `claim`; the victim's answer is in s.said.callee. Returns false if it gave none.
// its: the proof that came with it.
inline bool hello_to(session &s, const place &dest, const std::string &claim, proof *its = nullptr)
{
	s.role = link_role::caller;
	s.said.name = dest.name;
	s.said.caller = hello_as(link_role::caller, claim, dest.endpoint, 0);
	if (!line_call(s.conn, dest.address, claim) ||
	    !s.conn.say_packet(packet_of(kPacketHello, 0, 0, bytes_of(s.said.caller))))
		return false;
	const std::string answer = s.conn.hear_packet();
	if (!(head_in(answer).flags & kPacketHello))
		return false;
	s.said.callee = body_in<hello>(answer);
	if (its)
		*its = body_in<proof>(answer, sizeof(hello));
	return true;
}

inline bool prove_as_caller(session &s)
{
	return s.conn.say_packet(s.packet(kPacketProof, bytes_of(s.said.by(link_role::caller))));
}

// A complete call, with the key in s.said.key.
inline bool open_to(session &s, const place &dest, const std::string &claim)
{
	proof its{};
	if (!hello_to(s, dest, claim, &its))
		return false;
	const proof want = s.said.by(link_role::callee);
	return memcmp(&want, &its, sizeof its) == 0 && prove_as_caller(s) && s.answers();
}

// Accepts the next caller of a listener, and reads its hello; sends no answer yet.
inline bool called_by(session &s, const listener &server, int ms = kSoonMs)
{
	s.role = link_role::callee;
	if (!line_accept(s.conn, server, 0, ms))
		return false;
	const std::string p = s.conn.hear_packet();
	if (!(head_in(p).flags & kPacketHello))
		return false;
	s.said.caller = body_in<hello>(p);
	s.said.callee = hello_as(link_role::callee, server.address, kNoEndpoint, s.said.caller.looks_for);
	return true;
}

inline bool answer_call(session &s, const hello &said, const proof &p)
{
	return s.conn.say_packet(packet_of(kPacketHello | kPacketProof, s.said.caller.channel, s.said.caller.session,
					   bytes_of(said) + bytes_of(p)));
}

} // namespace attack
