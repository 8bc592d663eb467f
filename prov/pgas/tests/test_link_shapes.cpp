// SPDX-License-Identifier: BSD-3-Clause
//
// The link against intruders, over both shapes of a port: with lines, as sockets and adapters have them, and without,
// as a network of libfabric, where any peer may send anything to any other.
#include "link_pair.hpp"
#include "test_link.hpp"

using namespace pgas;
using namespace link_model;

namespace {

constexpr bool kShapes[] = {true, false};

template <class Body>
std::string packet_with(packet_head h, const Body &body)
{
	h.magic = kPacketMagic;
	h.protocol = kProtocol;
	h.bytes = static_cast<uint32_t>(sizeof h + sizeof body);
	std::string bytes(reinterpret_cast<const char *>(&h), sizeof h);
	return bytes.append(reinterpret_cast<const char *>(&body), sizeof body);
}

void go_on(std::initializer_list<side *> all, int turns = 20)
{
	for (int i = 0; i < turns; i++)
		for (side *s : all)
			link_progress(*s->l);
}

// --- relays ----------------------------------------------------------------------------------------------------------

struct answer_body {
	hello h;
	proof p;
};
static_assert(sizeof(answer_body) == sizeof(hello) + sizeof(proof));

// An answer to `dest`, made of the other caller's hello as if it were ours, with the last proof seen.
std::string answer_from(const hello &said, const hello &dest, const side &ours, const proof &p)
{
	answer_body b{said, p};
	b.h.role = link_role::callee;
	b.h.looks_for = kNoEndpoint;
	memcpy(b.h.address, ours.address.data(), ours.address.size());
	packet_head h{};
	h.flags = kPacketHello | kPacketProof;
	h.channel = dest.channel;
	h.session = dest.session;
	return packet_with(h, b);
}

// Two processes call the address of a dead one, where an attacker without the secret listens. It passes each one's
// packets to the other: as an answer, and unchanged.
void test_relay_is_not_believed(void **)
{
	for (const bool lines : kShapes) {
		world net(lines);
		side a(net.open(1), 1, settings()), b(net.open(2), 2, settings()), gone(net.open(3), 3, settings());
		std::map<unsigned, hello> said; // by caller
		proof seen{};
		a.post(gone, 8);
		b.post(gone, 8);
		for (int turn = 0; turn < 8; turn++) {
			go_on({&a, &b});
			std::deque<fake::arrival> inbox = std::exchange(fake::of(*gone.l->port).inbox, {});
			for (const fake::arrival &x : inbox) {
				const unsigned source = x.line & 0xff, other = 3 - source;
				const packet_head h = head_in(x.bytes);
				if (h.flags & kPacketHello)
					memcpy(&said[source], x.bytes.data() + sizeof h, sizeof(hello));
				if (h.flags & kPacketProof)
					memcpy(&seen, x.bytes.data() + x.bytes.size() - sizeof seen, sizeof seen);
				auto &dest = fake::of(*(other == 1 ? a : b).l->port).inbox;
				if (said.contains(other))
					dest.push_back({answer_from(said[source], said[other], gone, seen), 0,
							3 | fake::kOurs});
				dest.push_back({x.bytes, 0, uint64_t{3}});
				dest.push_back({x.bytes, 0, 3 | fake::kOurs});
			}
		}
		assert_int_equal(said.size(), 2);
		for (const side *s : {&a, &b}) {
			assert_false(s->channels.at(3)->open());
			assert_int_equal(s->frames, 0);
			assert_int_equal(s->told.contains(3) ? s->told.at(3) : 0, 0);
		}
	}
}

// Packets before trust: if any bit of them is changed in flight, no channel opens.
size_t g_bit, g_changed;
uint8_t g_flags;

bool change_bit(fake::network &, std::string &bytes)
{
	if (head_in(bytes).flags != g_flags || g_changed++)
		return true;
	bytes[sizeof(packet_head) + g_bit / 8] ^= static_cast<char>(1 << g_bit % 8);
	return true;
}

void test_changed_hello_opens_nothing(void **)
{
	for (const bool lines : kShapes)
		for (const uint8_t flags : {uint8_t{kPacketHello}, uint8_t{kPacketHello | kPacketProof}}) {
			const size_t bytes = flags & kPacketProof ? sizeof(answer_body) : sizeof(hello);
			for (g_bit = 0; g_bit < 8 * bytes; g_bit++) {
				world net(lines);
				side a(net.open(1), 1, settings()), b(net.open(2), 2, settings());
				g_changed = 0;
				g_flags = flags;
				net.change = change_bit;
				a.post(b, 8);
				go_on({&a, &b});
				assert_int_not_equal(g_changed, 0);
				assert_false(a.channels[2]->open());
				assert_int_equal(b.frames, 0);
			}
		}
}

// --- without lines ---------------------------------------------------------------------------------------------------

// Two links that have communicated. Channel numbers can be guessed, and without lines the sender of a packet is
// unknown. A forged packet ends nothing.
void test_forged_packets_end_nothing(void **)
{
	pair_of_links target(settings(), world(false));
	assert_true(target.of_b()->signs);
	for (unsigned flags = 0; flags < 128; flags++)
		for (uint32_t channel = 0; channel < 4; channel++)
			for (const uint64_t session : {uint64_t{0}, uint64_t{1}, target.of_b()->session_in}) {
				packet_head h{};
				h.flags = static_cast<uint8_t>(flags);
				h.channel = channel;
				h.session = session;
				h.seq = target.of_b()->executed + (flags & kPacketData ? 1 : 0);
				for (const std::string &bytes :
				     {packet_with(h, std::array<char, 0>{}), packet_with(h, proof{}),
				      packet_with(h, hello{}), packet_with(h, answer_body{})})
					packet_receive(*target.b.l, 0, bytes.data(), bytes.size());
			}
	go_on({&target.a, &target.b});
	assert_int_equal(target.a.ended + target.b.ended, 0);
	const uint64_t told = target.a.told[2];
	run_until({&target.a, &target.b},
		  [&] { return target.a.told[2] > told + 20 || (target.a.post(target.b, 40), false); });
}

bool change_once(fake::network &, std::string &bytes)
{
	if (!g_changed++)
		bytes.back() ^= 1;
	return true;
}

// A byte that was changed in flight is not run, and its channel finally reports it.
void test_changed_packet_is_named_without_lines(void **)
{
	pair_of_links target(settings(4, 1024, 50'000'000), world(false));
	const uint64_t ran = target.b.ran[1];
	g_changed = 0;
	target.net.change = change_once;
	target.a.post(target.b, 40);
	run_until({&target.a, &target.b}, [&] {
		target.b.post(target.a, 40); // so that b waits, too
		return target.b.ended > 0;
	});
	assert_int_equal(target.b.ran[1], ran);
	assert_non_null(strstr(target.b.channels[1]->reason.c_str(), "signature"));
}

} // namespace

int run_shape_tests()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_relay_is_not_believed),
		cmocka_unit_test(test_changed_hello_opens_nothing),
		cmocka_unit_test(test_forged_packets_end_nothing),
		cmocka_unit_test(test_changed_packet_is_named_without_lines),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
