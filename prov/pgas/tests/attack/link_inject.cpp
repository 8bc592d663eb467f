// SPDX-License-Identifier: BSD-3-Clause
//
// An observer of a packet knows the number and the session of its channel, and sends more in that channel's name over
// its own connection: none of it may be run, and the job continues.
//
// When packets were not bound to the connection that proved itself, such a put was run, and replayed packets ended the
// job ("an acknowledgement of what was never sent"). The first case sends the same over the right connection, where it
// is run.
#include "link_scene.hpp"

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>

using namespace attack;

namespace {

constexpr uint64_t kLast = 65536 - 8; // where no victim writes

bool g_alone; // this is our own network

// What an attacker that knows this about a channel may send.
struct seen {
	uint32_t channel, seq, ack;
	uint64_t session;
	std::string packet; // as it was
};

std::vector<std::string> injections(const seen &s)
{
	const auto say = [&s](uint8_t flags, const std::string &body, uint32_t more) {
		return packet_of(flags, s.channel, s.session, body, s.seq + more, s.ack);
	};
	return {
		say(kPacketData, put_of(0xbad, kLast), 1),
		say(kPacketData, put_of(0xbad, kLast), 0),
		say(kPacketData | kPacketBye, put_of(0xbad, kLast), 1),
		s.packet,
		say(0, "", 0),
		say(kPacketPing, "", 0),
		say(kPacketBye, "", 0),
		say(kPacketWake, "", 0),
		say(kPacketRefuse, "go away", 0),
		say(kPacketProof, std::string(sizeof(proof), 1), 0),
		say(kPacketHello | kPacketProof, std::string(sizeof(hello) + sizeof(proof), 1), 0),
		say(kPacketData, std::string(64, 0x55), 1),
	};
}

// From its own connections: under its own name, under the name of the peer, and without a hello.
void inject_all(const std::string &dest, const std::string &peer, const seen &s)
{
	listener own;
	for (const std::string &p : injections(s))
		for (const std::string &claim : {own.address, peer, std::string()}) {
			line l;
			l.fd = connect_to(dest);
			if (!l.fd)
				continue;
			std::string all = claim.empty() ? "" : bytes_of(hello_record_of(claim));
			if (!claim.empty() && p.size() % 3 == 0) // its own call before it
				all += record_of(packet_of(kPacketHello, 0, 0,
							   bytes_of(hello_as(link_role::caller, claim, 0, 0))));
			all += record_of(p);
			l.say(all);
			l.closed(claim.empty() ? 5 : 20);
		}
}

void the_same_packet_is_run_when_it_comes_by_the_right_connection()
{
	victim a;
	listener own;
	session s;
	CHECK(open_to(s, a.at(), own.address));
	const seen known{s.theirs().channel, 0, 0, s.theirs().session, ""};
	CHECK(s.conn.say_packet(injections(known)[0]));
	s.sent++;
	CHECK(s.answers());
	CHECK_SAYS(a.ask("last"), "bad");
}

void another_connection_is_not_believed()
{
	victim a;
	listener own;
	session s;
	CHECK(open_to(s, a.at(), own.address));
	CHECK(s.say_frames(put_of(1)) && s.answers());
	inject_all(a.at().address, own.address,
		   {s.theirs().channel, s.sent, s.ran, s.theirs().session, s.packet(kPacketData, put_of(2))});
	CHECK_SAYS(a.ask("last"), "0");
	CHECK_SAYS(a.ask("word"), "1");
	CHECK(s.answers());
	CHECK(s.say_frames(put_of(3)) && s.answers());
	CHECK_SAYS(a.ask("word"), "3");
	CHECK_EQ(a.end(), 0);
}

// Returns what a key_answer of the victim tells a peer that it believes.
key_frame ask_for_key(session &s)
{
	key_frame k{};
	k.key = 1;
	k.len = 8;
	k.write = 1;
	CHECK(s.say_frames(frame_of(frame_kind::key_ask, 0, 0, 0, bytes_of(k))));
	for (;;) {
		const std::string p = s.conn.hear_packet();
		CHECK(!p.empty());
		if (!(head_in(p).flags & kPacketData))
			continue;
		s.ran = head_in(p).seq;
		if (body_in<frame_head>(p).kind == frame_kind::key_answer)
			return body_in<key_frame>(p, sizeof(frame_head));
	}
}

std::string write_of(const key_frame &k, uint64_t value)
{
	return bytes_of(write_record{head_of(record_kind::write, 8), k.port_key, k.port_addr, 8}) + bytes_of(value);
}

// A key crosses the network in clear, and moves memory only for a connection that proved itself: not for one that said
// hello to the port or to the link, or repeats what the peer with the key sent.
void keys_that_passed_by_prove_nothing()
{
	victim a;
	listener own;
	session s;
	CHECK(open_to(s, a.at(), own.address));
	const key_frame k = ask_for_key(s);
	CHECK_EQ(k.status, 0);
	const std::string read = bytes_of(read_record{head_of(record_kind::read, 8), k.port_key, k.port_addr, 1});
	for (const bool with_link_hello : {false, true})
		for (const std::string &record : {write_of(k, 0xdead), read}) {
			listener other;
			line l;
			CHECK(line_call(l, a.at().address, other.address));
			if (with_link_hello) {
				const hello h = hello_as(link_role::caller, other.address, 0, 0);
				l.say_packet(packet_of(kPacketHello, 0, 0, bytes_of(h)));
				CHECK(!l.hear_packet().empty());
			}
			CHECK(l.say(record));
			CHECK(l.closed());
			CHECK_SAYS(a.ask("word"), "0");
		}
	CHECK(s.conn.say(write_of(k, 0xbeef)) && s.answers());
	CHECK_SAYS(a.ask("word"), "beef");
	CHECK_EQ(a.end(), 0);
}

// Another proven peer is not believed either: it has its own channels.
void another_peer_is_not_believed_either()
{
	victim a;
	listener own, other;
	session s;
	CHECK(open_to(s, a.at(), own.address));
	const seen known{s.theirs().channel, 0, 0, s.theirs().session, ""};
	for (const std::string &p : injections(known)) {
		session t;
		CHECK(open_to(t, a.at(), other.address));
		t.conn.say_packet(p);
		CHECK(p.empty() || t.conn.closed());
	}
	CHECK_SAYS(a.ask("last"), "0");
	CHECK(s.answers());
	CHECK_EQ(a.end(), 0);
}

// --- observed packets ------------------------------------------------------------------------------------------------

// Captures the packets of others on the network.
class tap {
public:
	tap() : fd_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_IP)))
	{
		sockaddr_ll place{};
		place.sll_family = AF_PACKET;
		place.sll_protocol = htons(ETH_P_IP);
		place.sll_ifindex = static_cast<int>(if_nametoindex("lo"));
		good_ = fd_ && bind(fd_.get(), reinterpret_cast<sockaddr *>(&place), sizeof place) == 0;
	}
	bool good() const { return good_; }
	// Finds the last data packet so far that was sent to the listener at that address.
	bool last(const std::string &dest, seen &out) const
	{
		bool found = false;
		static char room[65536 * 2];
		while (readable(fd_.get(), 20)) {
			const ssize_t n = recv(fd_.get(), room, sizeof room, 0);
			found |= n > 0 && is_data(room, static_cast<size_t>(n), dest, out);
		}
		return found;
	}

private:
	static bool is_data(const char *pos, size_t n, const std::string &dest, seen &out)
	{
		const size_t ip_at = sizeof(ether_header);
		iphdr ip;
		tcphdr tcp;
		if (n < ip_at + sizeof ip + sizeof tcp)
			return false;
		memcpy(&ip, pos + ip_at, sizeof ip);
		const size_t tcp_at = ip_at + ip.ihl * 4u;
		if (ip.protocol != IPPROTO_TCP || n < tcp_at + sizeof tcp)
			return false;
		memcpy(&tcp, pos + tcp_at, sizeof tcp);
		const size_t begin = tcp_at + tcp.doff * 4u;
		record_head r;
		packet_head h;
		if (memcmp(&tcp.dest, dest.data() + 4, 2) != 0 || n < begin + sizeof r + sizeof h)
			return false;
		memcpy(&r, pos + begin, sizeof r);
		memcpy(&h, pos + begin + sizeof r, sizeof h);
		if (r.magic != kRecordMagic || r.kind != record_kind::packet || h.magic != kPacketMagic ||
		    !(h.flags & kPacketData) || n < begin + sizeof r + r.bytes)
			return false;
		out = {h.channel, h.seq, h.ack, h.session, {pos + begin + sizeof r, r.bytes}};
		return true;
	}
	unique_fd fd_;
	bool good_ = false;
};

void packets_that_passed_by_are_not_run_again()
{
	tap t;
	if (!g_alone || !t.good()) {
		printf("not run: this user may not read what passes by\n");
		return;
	}
	int injected = 0;
	for (int i = 0; i < tries(3); i++) {
		job j;
		for (const auto &v : j.all)
			v->at();
		j.begin(5000);
		for (size_t k = 0; k < 6; k++) {
			// one of the two called the other; its own listener gets no packets
			const size_t count = k % 2;
			seen s{};
			usleep(20000);
			kill(j[1 - count].pid(), SIGSTOP); // so that it sends nothing first
			if (t.last(j[count].at().address, s)) {
				injected++;
				inject_all(j[count].at().address, j[1 - count].at().address, s);
			}
			kill(j[1 - count].pid(), SIGCONT);
		}
		CHECK_WELL(j.result());
		for (const auto &v : j.all)
			CHECK_SAYS(v->ask("last"), "0");
		CHECK_WELL(j.end());
	}
	CHECK(injected > 0);
	printf("# %d times\n", injected);
}

} // namespace

int main(int argc, char **argv)
{
	g_alone = own_network();
	return run_cases(
		{
			{"the_same_packet_is_run_when_it_comes_by_the_right_connection",
			 the_same_packet_is_run_when_it_comes_by_the_right_connection},
			{"another_connection_is_not_believed", another_connection_is_not_believed},
			{"another_peer_is_not_believed_either", another_peer_is_not_believed_either},
			{"keys_that_passed_by_prove_nothing", keys_that_passed_by_prove_nothing},
			{"packets_that_passed_by_are_not_run_again", packets_that_passed_by_are_not_run_again},
		},
		argc, argv);
}
