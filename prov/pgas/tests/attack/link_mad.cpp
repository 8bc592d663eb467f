// SPDX-License-Identifier: BSD-3-Clause
//
// A peer that knows the secret, is believed, and then goes mad: frames of all kinds with impossible fields, answers to
// requests that were never made, names that are not its own, transfers to memory that it may not access, and bytes
// changed at random. The victim lives on, or reports why not; protected memory is unchanged; an honest peer is served.
//
//	LINK_FUZZ_SECONDS   how long the last case runs (3)
//	LINK_FUZZ_SEED      the seed of its random numbers; it prints the seed of each run
//
// An intro with the victim's own name and a long message after it once ended the victim by a signal: it took a peer of
// shared memory for one of the link.
#include "link_scene.hpp"

#include <random>

using namespace attack;

namespace {

struct request_head { // from pgas_request.cpp
	uint64_t op_id, addr, key, len, off;
	uint32_t count;
	uint8_t type, amo, form, pad_;
	uint8_t last;
	uint8_t pad2_[7];
};
struct response_head {
	uint64_t op_id, off, len;
	int32_t status;
	uint32_t long_done;
};

std::string any_claim()
{
	static uint16_t port = 20000;
	return pack(loopback(++port < 20000 ? port = 20000 : port));
}

std::string message_of(uint64_t len, uint64_t sender_op, uint8_t flags)
{
	return frame_of(
		frame_kind::message, flags, 0, 0,
		bytes_of(message_frame{len, 1, 0}) +
			(flags & kFrameLong ? bytes_of(sender_op) : std::string(std::min<uint64_t>(len, 8192), 'm')));
}

// Takes in what has arrived; returns the number of frames of that kind. Our later packets acknowledge it.
int take_in(session &s, frame_kind wanted, std::vector<key_frame> *keys = nullptr, int ms = 0)
{
	int n = 0;
	while (readable(s.conn.fd.get(), ms)) {
		record_head r{};
		if (!s.conn.hear_record(r, 200) || r.bytes > 1 << 20)
			return n;
		if (r.kind != record_kind::packet) { // a transfer: skip its bytes
			s.conn.hear(r.kind == record_kind::write  ? 24 + r.bytes
				    : r.kind == record_kind::read ? 24
								  : 16 + r.bytes,
				    200);
			continue;
		}
		const std::string p = s.conn.hear((r.bytes + 7) / 8 * 8, 200);
		const packet_head h = head_in(p);
		if (h.flags & kPacketData)
			s.ran = h.seq;
		for (size_t pos = sizeof h; pos + sizeof(frame_head) <= p.size() && (h.flags & kPacketData);) {
			frame_head f;
			memcpy(&f, p.data() + pos, sizeof f);
			n += f.kind == wanted;
			if (keys && (f.kind == frame_kind::key_answer || f.kind == frame_kind::key_ask))
				keys->push_back(body_in<key_frame>(p, pos + sizeof f - sizeof h));
			pos += sizeof f + size_t{f.words} * 8;
		}
	}
	return n;
}

// Empty if the victim did as it was told; otherwise its answer, or how it ended.
std::string answer_of(victim &v, const char *expected)
{
	std::string said = v.hear();
	if (said == expected)
		return "";
	return said.empty() ? "the victim ended by " + std::to_string(v.stop(false)) : said;
}

// --- known attacks ---------------------------------------------------------------------------------------------------

// The victim's, another one's, or its own name with the victim's path through shared memory in it.
std::string name_of_another(int i, victim &a, victim &b, const std::string &claim)
{
	const std::string own = name_at(claim), near = a.at().name.substr(0, a.at().name.find("+n/"));
	switch (i % 4) {
	case 0:
		return b.at().name;
	case 1:
		return near + "+" + own.substr(own.find("n/"));
	default:
		return a.at().name;
	}
}

void a_peer_with_the_victims_own_name()
{
	victim a, b;
	b.at();
	for (int i = 0; i < 40; i++) {
		session s;
		const std::string claim = any_claim();
		CHECK(open_to(s, a.at(), claim));
		s.say_frames(frame_of(frame_kind::intro, 0, 0, 0, name_of_another(i, a, b, claim)));
		std::string all;
		for (uint64_t n = 0; n < 12; n++) // some fit into the victim's receive buffers, some do not
			all += message_of(n & 1 ? 4096 : 100000, n, kFrameLong | (n % 5 == 0 ? kFrameTagged : 0));
		s.say_frames(all);
		take_in(s, frame_kind::request, nullptr, 20);
		if (i % 2)
			s.say_frames(frame_of(frame_kind::leave, 0, 0, 0, ""));
		s.conn.fd.reset();
		usleep(5000);
		a.tell("check");
		CHECK_WELL(answer_of(a, "sound"));
	}
	CHECK_SAYS(b.ask("put " + a.at().name + " 7"), "done");
	CHECK_EQ(a.end(), 0);
}

// The receiver of such an answer must not ask again forever.
void key_answers_of_no_length()
{
	victim a;
	session s;
	const std::string claim = any_claim();
	CHECK(open_to(s, a.at(), claim));
	a.tell("bother " + name_at(claim));
	int asked = 0;
	const uint64_t end = now_ms() + 1000;
	while (now_ms() < end) {
		std::vector<key_frame> keys;
		take_in(s, frame_kind::key_ask, &keys, 5);
		std::string frames;
		for (key_frame k : keys) {
			asked++;
			k.len = 0;
			k.status = 0;
			frames += frame_of(frame_kind::key_answer, 0, 0, 0, bytes_of(k));
			if (frames.size() > 8192)
				break;
		}
		if (!(frames.empty() ? s.conn.say_packet(s.packet(0, "")) : s.say_frames(frames)))
			break;
	}
	printf("# asked %d times\n", asked);
	CHECK(asked > 0 && asked < 100);
	CHECK_SAYS(a.hear(), "bothered");
	s.conn.fd.reset();
	CHECK_EQ(a.end(), 0);
}

// Results that nobody asked for, or of other lengths than were asked for: the channel ends, and nothing is written but
// to the places of questions.
void answer_wrongly(size_t len, bool asked)
{
	victim a;
	session s;
	const std::string claim = any_claim();
	CHECK(open_to(s, a.at(), claim));
	s.say_frames(frame_of(frame_kind::intro, 0, 0, 0, name_at(claim)));
	if (asked) {
		a.tell("ask " + name_at(claim)); // for 8 bytes, then for 64
		const uint64_t end = now_ms() + 10000 * slowness();
		int questions = 0;
		while (questions < 2 && now_ms() < end)
			questions += take_in(s, frame_kind::word_ask, nullptr, 20);
		CHECK_EQ(questions, 2);
	}
	s.say_frames(frame_of(frame_kind::word_answer, 0, 0, 0, std::string(len, 'a')));
	if (asked && len == 8) // right so far
		s.say_frames(frame_of(frame_kind::word_refusal, 0, 0, 0, bytes_of(word_refusal_frame{-22, 0})));
	else if (!asked || len != 72)
		CHECK(s.conn.closed(10000 * static_cast<int>(slowness())));
	if (asked)
		CHECK_SAYS(a.hear(), len < 8 ? "0 of 2 right" : len < 72 ? "1 of 2 right" : "2 of 2 right");
	CHECK_SAYS(a.ask("check"), "sound");
	CHECK_EQ(a.end(), 0);
}

void answers_that_nobody_asked_for()
{
	for (const size_t len : {0, 4, 8, 16, 64, 71, 72, 80, 8000}) {
		answer_wrongly(len, false);
		answer_wrongly(len, true);
	}
}

// It asks on and on and reads no result: the victim gives it up before the results fill its memory.
void questions_without_end()
{
	constexpr int kPackets = 4000; // the results are three times as long
	constexpr size_t kMostKib = 64 << 10;
	victim a;
	session s;
	CHECK(open_to(s, a.at(), any_claim()));
	const size_t before = a.memory_kib();
	std::string questions;
	while (questions.size() < 15000)
		questions += frame_of(frame_kind::word_ask, 0, 0, 0, bytes_of(word_frame{0, 0xff, 0, 0, 64, 0}));
	int sent = 0;
	while (sent < kPackets && s.say_frames(questions))
		sent++;
	printf("# %d packets of questions\n", sent);
	CHECK(sent < kPackets);
	CHECK(a.memory_kib() < before + kMostKib);
	CHECK_SAYS(a.ask("check"), "sound");
	CHECK_EQ(a.end(), 0);
}

// --- random attacks --------------------------------------------------------------------------------------------------

class madman {
public:
	explicit madman(unsigned seed) : from_(seed) {}
	void rave(victim &v, session &s);
	uint64_t frames = 0;

private:
	unsigned below(unsigned n) { return static_cast<unsigned>(from_() % n); }
	uint64_t number();
	uint64_t small() { return below(4) ? below(64) : number(); }
	uint64_t key() { return below(3) ? below(4) : number(); }
	std::string name(const std::string &own);
	std::string noise(size_t len);
	std::string frame(const std::string &own);
	std::string own_frame();
	std::string memory_frame();
	std::string request();
	std::string transfer();
	void bend(std::string &bytes, size_t begin);

	std::mt19937_64 from_;
	std::vector<key_frame> keys_;
	std::string victim_name_;
	bool lies_ = false; // about its name, in this session
};

uint64_t madman::number()
{
	static constexpr uint64_t kOdd[] = {0,          1,          2,          7,         8,           9,
					    63,         64,         255,        256,       4095,        4096,
					    8192,       16384,      40000,      65528,     65535,       65536,
					    1ull << 20, 1ull << 30, 1ull << 31, ~0u,       1ull << 32,  1ull << 40,
					    1ull << 47, 1ull << 63, ~0ull,      ~0ull - 7, ~0ull - 4096};
	return below(8) ? kOdd[below(std::size(kOdd))] : from_();
}

std::string madman::noise(size_t len)
{
	std::string s(len, 0);
	for (char &c : s)
		c = static_cast<char>(from_());
	return s;
}

std::string madman::name(const std::string &own)
{
	switch (below(9)) {
	case 0:
	case 6:
	case 7:
		return victim_name_;
	case 1:
		return name_at(any_claim(), static_cast<uint16_t>(below(3)));
	case 2:
		return "fi_pgas://@service";
	case 3:
		return "fi_pgas://" + noise(below(80));
	case 4:
		return name_at(noise(below(32)), 0);
	case 5: // its own, with the victim's path through shared memory
		return victim_name_.substr(0, victim_name_.find("+n/")) + "+" + own.substr(own.find("n/"));
	default:
		return own;
	}
}

std::string madman::request()
{
	request_head h{small(),
		       number(),
		       key(),
		       number(),
		       number(),
		       static_cast<uint32_t>(number()),
		       static_cast<uint8_t>(below(20)),
		       static_cast<uint8_t>(below(24)),
		       static_cast<uint8_t>(below(5)),
		       0,
		       static_cast<uint8_t>(below(4)),
		       {}};
	const std::string data = noise(below(4) ? below(64) : below(8000));
	if (below(2))
		h.len = data.size();
	return frame_of(frame_kind::request, 0, static_cast<uint16_t>(below(2)), 0,
			bytes_of(uint64_t{below(7)}) + bytes_of(h) + data);
}

std::string madman::memory_frame()
{
	const auto type = static_cast<uint8_t>(below(20)), op = static_cast<uint8_t>(below(24));
	switch (below(6)) {
	case 0:
		return frame_of(frame_kind::put, below(2) ? kFrameKey : 0, 0, 0,
				bytes_of(number()) + bytes_of(key()) + noise(below(4) ? below(32) : below(9000)));
	case 1:
		return frame_of(frame_kind::amo, 0, 0, 0,
				bytes_of(amo_frame{number(), key(), static_cast<uint32_t>(small()), type, op, {}}) +
					noise(below(3) ? 8 : below(600)));
	case 2: {
		const key_frame k{key(), number(), number(), number(), number(), 0, static_cast<uint8_t>(below(2)),
				  0,     0,        0};
		return frame_of(frame_kind::key_ask, 0, 0, 0, bytes_of(k));
	}
	case 3:
		return frame_of(frame_kind::count, 0, 0, 0,
				bytes_of(count_frame{key(), static_cast<uint8_t>(below(2)), 1, 1, {}}));
	case 4: { // a read, or an atomic with its operands
		const auto form = static_cast<uint8_t>(below(2) ? 0xff : below(5));
		const size_t operands = form == 0xff ? 0 : form == 2 ? 16 : 8;
		return frame_of(frame_kind::word_ask, 0, 0, 0,
				bytes_of(word_frame{number(), form, type, op, static_cast<uint8_t>(below(70)), 0}) +
					noise(below(40) ? operands : below(40)));
	}
	default:
		return request();
	}
}

// A frame that may complete an operation of the victim.
std::string madman::own_frame()
{
	const int32_t status = below(2) ? 0 : static_cast<int32_t>(number());
	switch (below(40) ? below(6) : 6) {
	case 0: {
		const bool is_long = below(2);
		return message_of(is_long || below(20) == 0 ? number() : below(8000), small(),
				  static_cast<uint8_t>((is_long ? kFrameLong : 0) | (below(2) ? kFrameTagged : 0) |
						       (below(2) ? kFrameData : 0)));
	}
	case 1:
		return frame_of(frame_kind::response, 0, 0, 0,
				bytes_of(uint64_t{0}) +
					bytes_of(response_head{small(), small(), number(), status, below(2)}) +
					noise(below(200)));
	case 2:
		return frame_of(frame_kind::cq_data, 0, 0, 0, bytes_of(message_frame{number(), number(), from_()}));
	case 3:
		return frame_of(frame_kind::failed, 0, 0, 0,
				bytes_of(failed_frame{static_cast<uint32_t>(small()), static_cast<uint32_t>(small()),
						      status, 0}));
	case 4: {
		key_frame k{key(),
			    number(),
			    number(),
			    number(),
			    number(),
			    status,
			    static_cast<uint8_t>(below(2)),
			    static_cast<uint8_t>(below(2)),
			    static_cast<uint8_t>(below(2)),
			    0};
		if (!keys_.empty() && below(2)) {
			k = keys_[below(static_cast<unsigned>(keys_.size()))];
			k.len = number();
			k.status = status;
		}
		return frame_of(frame_kind::key_answer, 0, 0, 0, bytes_of(k));
	}
	case 5:
		return frame_of(frame_kind::key_gone, 0, 0, 0, bytes_of(key_frame{key(), 0, 0, 0, 0, 0, 0, 0, 0, 0}));
	default:
		return below(2) ? frame_of(frame_kind::word_answer, 0, 0, 0, noise(8 * below(12)))
				: frame_of(frame_kind::word_refusal, 0, 0, 0,
					   bytes_of(word_refusal_frame{status > 0 ? -status : status, 0}));
	}
}

void madman::bend(std::string &bytes, size_t begin)
{
	if (bytes.size() > begin)
		bytes[begin + below(static_cast<unsigned>(bytes.size() - begin))] ^= static_cast<char>(1u << below(8));
}

// Mostly a valid one: after an invalid frame the victim ignores the sender.
std::string madman::frame(const std::string &own)
{
	std::string f;
	const unsigned kind = below(40);
	if (kind == 0 || (lies_ && kind < 5))
		f = frame_of(frame_kind::intro, 0, 0, 0, lies_ ? name(own) : own);
	else if (kind == 6)
		f = frame_of(frame_kind::leave, 0, static_cast<uint16_t>(small()), 0, "");
	else if (kind < 25)
		f = memory_frame();
	else
		f = own_frame();
	if (below(16) == 0)
		bend(f, sizeof(frame_head));
	if (below(40) == 0)
		bend(f, 0);
	frames++;
	return f;
}

// From the port itself, with keys from the victim, or others.
std::string madman::transfer()
{
	uint64_t k = number(), addr = number();
	if (!keys_.empty() && below(4)) {
		const key_frame &known = keys_[below(static_cast<unsigned>(keys_.size()))];
		k = known.port_key;
		addr = below(2) ? known.port_addr : number();
	}
	const size_t len = below(4) ? below(64) : below(5000);
	switch (below(3)) {
	case 0:
		return bytes_of(write_record{head_of(record_kind::write, len), k, addr, len}) + noise(len);
	case 1:
		return bytes_of(read_record{head_of(record_kind::read, below(2) ? len : number()), k, addr, number()});
	default:
		return bytes_of(answer_record{head_of(record_kind::answer, len), small(), len}) + noise(len);
	}
}

void madman::rave(victim &v, session &s)
{
	victim_name_ = v.at().name;
	keys_.clear();
	const std::string own = name_at({s.ours().address, 6});
	lies_ = below(2);
	s.say_frames(frame_of(frame_kind::intro, 0, 0, 0, lies_ && below(2) ? name(own) : own));
	for (unsigned left = below(60); left; left--) {
		std::string all;
		for (unsigned n = 1 + below(4); n; n--)
			all += frame(own);
		s.sent++;
		std::string p = s.packet(kPacketData, all);
		if (below(50) == 0)
			bend(p, 0);
		if (!s.conn.say_packet(p) || (below(12) == 0 && !s.conn.say(transfer())))
			return;
		take_in(s, frame_kind::put, &keys_);
		if (keys_.size() > 64)
			keys_.erase(keys_.begin(), keys_.begin() + 32);
	}
}

void nothing_that_it_says_does_harm()
{
	const char *text = getenv("LINK_FUZZ_SECONDS"), *first = getenv("LINK_FUZZ_SEED");
	const uint64_t end = now_ms() + 1000 * (text ? strtoull(text, nullptr, 10) : 3);
	const auto seed = first ? static_cast<unsigned>(strtoul(first, nullptr, 10))
				: static_cast<unsigned>(random_word());
	printf("# LINK_FUZZ_SEED=%u\n", seed);
	madman m(seed);
	uint64_t sessions = 0;
	while (now_ms() < end) {
		victim v, honest; // fresh ones now and then: their address tables are finite
		honest.at();
		for (int i = 0; i < 300 && now_ms() < end; i++) {
			session s;
			const std::string claim = any_claim();
			if (!open_to(s, v.at(), claim))
				CHECK_SAYS(v.ask("check"), "sound"); // it lives; a claim may be an honest one's
			sessions++;
			const bool bothers = i % 2;
			if (bothers)
				v.tell("bother " + name_at(claim));
			m.rave(v, s);
			if (bothers)
				CHECK_WELL(answer_of(v, "bothered"));
			s.conn.fd.reset();
			if (i % 10 == 0)
				CHECK_SAYS(v.ask("check"), "sound");
		}
		CHECK_SAYS(v.ask("check"), "sound");
		CHECK_SAYS(honest.ask("put " + v.at().name + " 7"), "done");
		CHECK_EQ(v.end(), 0);
	}
	printf("# %llu sessions, %llu frames\n", static_cast<unsigned long long>(sessions),
	       static_cast<unsigned long long>(m.frames));
}

} // namespace

int main(int argc, char **argv)
{
	own_network();
	return run_cases(
		{
			{"a_peer_with_the_victims_own_name", a_peer_with_the_victims_own_name},
			{"key_answers_of_no_length", key_answers_of_no_length},
			{"answers_that_nobody_asked_for", answers_that_nobody_asked_for},
			{"questions_without_end", questions_without_end},
			{"nothing_that_it_says_does_harm", nothing_that_it_says_does_harm},
		},
		argc, argv);
}
