// SPDX-License-Identifier: BSD-3-Clause
//
// Lines that the kernel encrypts (FI_PGAS_NET_TLS=1), with a middleman who reads and changes the bytes between both
// ends: no byte of a packet can be read, and a byte that was changed, left out or sent twice ends the line before any
// of it is reported.
#include "socket_node.hpp"

#include <fcntl.h>
#include <sys/syscall.h>

using namespace socket_test;

namespace {

// --- a middleman -----------------------------------------------------------------------------------------------------

int g_detour = 0; // the port on the loopback interface that connect() goes to instead; 0: none

int plain_connect(int fd, const sockaddr *dst, socklen_t len)
{
	return static_cast<int>(syscall(SYS_connect, fd, dst, len));
}

enum class deed : uint8_t { none, flip, leave_out, repeat };

// One direction of a connection. The first bytes, hello from the caller and welcome from the callee, are not encrypted:
// `where` counts the bytes after them.
struct direction {
	unique_fd *source, *target;
	size_t plain; // bytes that are not encrypted
	deed does = deed::none;
	size_t where = 0;   // after the plain ones
	std::string seen{}; // all of it
	std::string waiting{};
	bool closed = false;
};

struct middleman {
	unique_fd listener{socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)}, caller, callee;
	sockaddr_in real{};
	direction ways[2] = {{&caller, &callee, sizeof(hello_record)}, {&callee, &caller, sizeof(welcome_record)}};

	explicit middleman(const node &dest)
	{
		char raw[128];
		assert_true(address_unpack(FI_SOCKADDR, dest.address.data(), dest.address.size(), raw, sizeof raw));
		memcpy(&real, raw, sizeof real);
		sockaddr_in own{};
		socklen_t len = sizeof own;
		own.sin_family = AF_INET;
		own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		assert_int_equal(bind(listener.get(), reinterpret_cast<sockaddr *>(&own), len), 0);
		assert_int_equal(listen(listener.get(), 1), 0);
		assert_int_equal(getsockname(listener.get(), reinterpret_cast<sockaddr *>(&own), &len), 0);
		g_detour = ntohs(own.sin_port);
	}
	~middleman() { g_detour = 0; }
	void look()
	{
		if (!caller) {
			caller = unique_fd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
			if (!caller)
				return;
			g_detour = 0; // for the first call only
			callee = unique_fd(socket(AF_INET, SOCK_STREAM, 0));
			assert_int_equal(plain_connect(callee.get(), reinterpret_cast<sockaddr *>(&real), sizeof real),
					 0);
			assert_int_equal(fcntl(callee.get(), F_SETFL, O_NONBLOCK), 0);
		}
		for (direction &way : ways)
			pass(way);
	}

private:
	static void alter_bytes(direction &way, std::string &bytes)
	{
		const size_t first = way.seen.size(), pos = way.plain + way.where;
		if (way.does == deed::none || pos < first || pos >= first + bytes.size())
			return;
		switch (way.does) {
		case deed::flip:
			bytes[pos - first] = static_cast<char>(bytes[pos - first] ^ 1);
			break;
		case deed::leave_out:
			bytes.erase(pos - first, 1);
			break;
		default: // repeats everything after the plain bytes
			bytes += (way.seen + bytes).substr(way.plain);
		}
		way.does = deed::none;
	}
	static void pass(direction &way)
	{
		char room[65536];
		ssize_t n = 0;
		while (way.waiting.size() < sizeof room && (n = recv(way.source->get(), room, sizeof room, 0)) > 0) {
			std::string bytes(room, static_cast<size_t>(n)), changed = bytes;
			alter_bytes(way, changed);
			way.seen += bytes;
			way.waiting += changed;
		}
		const ssize_t gone = ::send(way.target->get(), way.waiting.data(), way.waiting.size(), MSG_NOSIGNAL);
		if (gone > 0)
			way.waiting.erase(0, static_cast<size_t>(gone));
		if (n == 0 && way.waiting.empty() && !std::exchange(way.closed, true))
			shutdown(way.target->get(), SHUT_WR);
	}
};

// --- two nodes -------------------------------------------------------------------------------------------------------

constexpr std::array<uint64_t, 2> kSecret{0x1234567890abcdef, 0xfedcba0987654321};
constexpr char kMarker[] = "a sentence that nobody else shall read";

port_options encrypted(const std::array<uint64_t, 2> &secret = kSecret)
{
	return {.packet = kPacket, .tls = true, .secret = secret};
}

// Two ends, and the middleman between them.
struct scene {
	node a, b;
	middleman m{b};
	uint64_t to_b;
	explicit scene(const port_options &of_a = encrypted(), const port_options &of_b = encrypted())
		: a(of_a), b(of_b), to_b(a.to(b))
	{
	}
	template <class Done>
	void run_until(Done &&done)
	{
		look_until({&a, &b}, [&] {
			m.look();
			return done();
		});
	}
	// Packets go both ways until one line is lost, or each side received `most`. They arrive as sent, in order.
	bool talk(size_t most)
	{
		size_t sent[2] = {0, 0}, got[2] = {0, 0};
		run_until([&] {
			const uint64_t to_a = b.back(a.address);
			if (sent[0] < most && a.send(to_b, packet(sent[0])))
				sent[0]++;
			if (to_a && sent[1] < most && b.send(to_a, packet(sent[1])))
				sent[1]++;
			node *ends[] = {&b, &a};
			for (int i = 0; i < 2; i++)
				for (; !ends[i]->came.empty(); ends[i]->came.pop_front())
					assert_true(ends[i]->came.front() == packet(got[i]++));
			return lost() || (got[0] == most && got[1] == most && !a.open() && !b.open());
		});
		return !lost();
	}
	bool lost() const { return !a.lost.empty() || !b.lost.empty(); }
	std::string why_of(const node &n) const
	{
		node &owner = const_cast<node &>(n);
		return owner.lost.empty() ? "" : owner.why(owner.lost[0]);
	}

private:
	static std::string packet(size_t number)
	{
		std::string bytes = kMarker + std::to_string(number);
		bytes.resize(1000 + number % 1000, '.');
		return bytes;
	}
};

bool has_marker(const direction &way)
{
	return way.seen.find(kMarker) != std::string::npos;
}

// --- promises --------------------------------------------------------------------------------------------------------

void test_tls_nobody_reads_packets(void **)
{
	for (const bool tls : {false, true}) { // plain ones first: the middleman does see the bytes
		const port_options options = tls ? encrypted() : port_options{.packet = kPacket};
		scene s(options, options);
		assert_true(s.talk(200));
		for (const direction &way : s.m.ways) {
			assert_true(way.seen.size() > 200'000);
			assert_true(has_marker(way) != tls);
		}
	}
}

void test_tls_nobody_reads_transfers(void **)
{
	scene s;
	assert_true(s.talk(1));
	shared_memory there(s.b, size_t{1} << 20);
	std::string bytes;
	while (bytes.size() < there.bytes.size())
		bytes += kMarker;
	bytes.resize(there.bytes.size());
	work *const w = s.a.write(s.to_b, bytes, there.m);
	assert_non_null(w);
	s.run_until([&] { return w->is != fate::in_flight; });
	work *const r = s.a.read(s.to_b, bytes.size(), there.m);
	assert_non_null(r);
	s.run_until([&] { return r->is != fate::in_flight; });
	assert_true(r->is == fate::good && r->bytes == bytes && there.bytes == bytes);
	for (const direction &way : s.m.ways)
		assert_false(way.seen.size() < bytes.size() || has_marker(way));
}

// In the head of a TLS record, in its body, after it, and in a later record. Not in the first byte of a head: the
// kernel does not use it, and the data arrives.
void test_tls_changed_bytes_end_the_line(void **)
{
	for (const deed does : {deed::flip, deed::leave_out, deed::repeat})
		for (const size_t where : {2, 4, 5, 100, 1031, 20'000, 100'000})
			for (const size_t way : {0, 1}) {
				scene s;
				s.m.ways[way].does = does;
				s.m.ways[way].where = where;
				assert_false(s.talk(400));
				// the kernel that received the change reports it, unless it waits for bytes that never
				// come
				const node &reader = way ? s.a : s.b;
				printf("# deed %d at %zu, way %zu: \"%s\", \"%s\"\n", static_cast<int>(does), where,
				       way, s.why_of(s.a).c_str(), s.why_of(s.b).c_str());
				if (does != deed::leave_out)
					assert_non_null(strstr(s.why_of(reader).c_str(), "changed on the way"));
			}
}

// The unencrypted parts: the nonces and the features of hello and welcome.
void test_tls_changed_greetings_end_the_line(void **)
{
	for (const size_t way : {0, 1}) {
		const size_t bytes = way ? sizeof(welcome_record) : sizeof(hello_record);
		const size_t nonce = way ? offsetof(welcome_record, nonce) : offsetof(hello_record, nonce);
		for (const size_t where : {nonce, nonce + 15, bytes - sizeof(uint64_t)}) {
			scene s;
			s.m.ways[way].plain = 0;
			s.m.ways[way].does = deed::flip;
			s.m.ways[way].where = where;
			assert_false(s.talk(400));
			assert_true(s.a.came.empty() && s.b.came.empty());
		}
	}
}

// Nonces of both sides go into the keys: a repeated hello gives other keys.
void test_tls_calls_differ(void **)
{
	std::string first;
	for (int i = 0; i < 2; i++) {
		scene s;
		assert_true(s.talk(1));
		const direction &way = s.m.ways[0];
		const std::string said = way.seen.substr(way.plain, 1000);
		assert_true(said.size() == 1000 && said != first);
		first = said;
	}
}

void test_tls_another_secret_gets_nothing_through(void **)
{
	scene s(encrypted(), encrypted({1, 2}));
	assert_false(s.talk(1));
	assert_true(s.a.came.empty() && s.b.came.empty());
}

void test_tls_both_sides_must_want_it(void **)
{
	for (const bool caller : {true, false}) {
		const port_options plain{.packet = kPacket};
		scene s(caller ? encrypted() : plain, caller ? plain : encrypted());
		assert_false(s.talk(1));
		assert_non_null(strstr(s.a.why(s.to_b).c_str(), "FI_PGAS_NET_TLS"));
	}
}

} // namespace

// Replaces the C library's function, for the port as well.
extern "C" int connect(int fd, const sockaddr *dst, socklen_t len)
{
	sockaddr_in detour{};
	if (!g_detour)
		return plain_connect(fd, dst, len);
	detour.sin_family = AF_INET;
	detour.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	detour.sin_port = htons(static_cast<uint16_t>(g_detour));
	return plain_connect(fd, reinterpret_cast<sockaddr *>(&detour), sizeof detour);
}

int socket_test::run_tls_tests()
{
	std::string why;
	if (!tls_usable(why)) {
		printf("not run: lines that the kernel encrypts: %s\n", why.c_str());
		return 0;
	}
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_tls_nobody_reads_packets),
		cmocka_unit_test(test_tls_nobody_reads_transfers),
		cmocka_unit_test(test_tls_changed_bytes_end_the_line),
		cmocka_unit_test(test_tls_changed_greetings_end_the_line),
		cmocka_unit_test(test_tls_calls_differ),
		cmocka_unit_test(test_tls_another_secret_gets_nothing_through),
		cmocka_unit_test(test_tls_both_sides_must_want_it),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
