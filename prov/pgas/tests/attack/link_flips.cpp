// SPDX-License-Identifier: BSD-3-Clause
//
// One bit that is changed in flight (link_flip.c), a different one in each job: in the head of a record, of a packet,
// of its first frame, or of bulk. Each job ends right, or with an error, and soon: none hangs, no process crashes.
// Where packets are signed no bit at all may give wrong data. Where they are not, the bytes after a frame's head may
// become another valid frame: then data may be wrong, and an operation whose request or response was changed into
// something else may never end.
//
// Some of these bits made a receiver silently drop one packet of a stream, so that its sender waited for the
// acknowledgement for ever; or take all that followed for part of a transfer; or drop a request as the response to
// nothing.
//
//	link_flips              a sample
//	link_flips all          every bit of the heads of one packet of data, of transfers, and of the signed packet
//	                        with its bytes
//	link_flips sweep        the same for the first ten records
//	link_flips RECORD BIT   one, ATTACK_TRIES times; signed: a third word
#include "link_scene.hpp"

#include <fstream>

using namespace attack;

namespace {

constexpr unsigned kHeadBits = 8 * (sizeof(record_head) + sizeof(packet_head) + sizeof(frame_head));
constexpr size_t kAtOnce = 12;

struct flip {
	unsigned record, bit;
	bool is_signed;
	record_kind kind = record_kind{0}; // to count; 0: all
};

struct tally {
	int right = 0, error = 0, wrong = 0, flipped = 0;
	int vanished = 0; // operations, lost with their frames
	int bad = 0;      // hung, crashed, or wrong where it must not be
};

class trial {
public:
	explicit trial(const flip &f) : f_(f)
	{
		char name[] = "/tmp/link_flips.XXXXXX";
		close(mkstemp(name));
		log_ = name;
		victim_options o;
		o.env = {"FI_PGAS_PEER_TIMEOUT=2", "LINK_VICTIM_AWAIT=3",
			 "LINK_VICTIM_SECONDS=" + std::to_string(6 * slowness()),
			 f.is_signed ? "FI_PGAS_NET_SIGN=1" : "FI_PGAS_NET_SIGN=0"};
		o.log = log_;
		job_.all.push_back(std::make_unique<victim>(o));
		o.env.push_back("LD_PRELOAD=" LINK_FLIP);
		o.env.push_back("LINK_FLIP=" + std::to_string(f.record) + ":" + std::to_string(f.bit) + ":" +
				std::to_string(static_cast<int>(f.kind)));
		job_.all.push_back(std::make_unique<victim>(o));
	}
	~trial() { unlink(log_.c_str()); }
	void begin()
	{
		for (const auto &v : job_.all)
			v->at();
		job_.begin(10);
	}
	void end(tally &t)
	{
		std::string said[2];
		int status[2];
		for (size_t i = 0; i < 2; i++)
			said[i] = job_[i].hear();
		for (size_t i = 0; i < 2; i++) {
			if (!said[i].empty())
				job_[i].tell("end");
			while (!job_[i].hear().empty())
				;
			status[i] = job_[i].stop(false);
		}
		std::ifstream log(log_);
		std::string line;
		while (std::getline(log, line))
			if (line == "link_flip: flipped")
				t.flipped++;
		count(said, status, t);
	}

private:
	void count(const std::string *said, const int *status, tally &t) const
	{
		const auto any = [said](const char *word) {
			return said[0].rfind(word, 0) == 0 || said[1].rfind(word, 0) == 0;
		};
		const bool crashed = status[0] || status[1] || said[0].empty() || said[1].empty();
		const bool error = any("error"), wrong = any("wrong") || (any("absent") && !error), hung = any("hang");
		const bool vanished = hung && !f_.is_signed && f_.kind == record_kind{0} && f_.bit >= kHeadBits;
		const bool bad = crashed || (hung && !vanished) || (wrong && f_.is_signed);
		t.right += !error && !wrong && !hung && !bad;
		t.error += error && !wrong && !vanished;
		t.wrong += wrong && !vanished;
		t.vanished += vanished;
		t.bad += bad;
		if (bad || getenv("LINK_FLIPS_VERBOSE"))
			printf("%s: record %u of kind %d, bit %u%s: \"%s\" (%d), \"%s\" (%d)\n", bad ? "FAILED" : "#",
			       f_.record, static_cast<int>(f_.kind), f_.bit, f_.is_signed ? ", signed" : "",
			       said[0].c_str(), status[0], said[1].c_str(), status[1]);
	}

	flip f_;
	std::string log_;
	job job_{0};
};

bool run_all(const std::vector<flip> &flips)
{
	tally t;
	for (size_t begin = 0; begin < flips.size(); begin += kAtOnce) {
		std::vector<std::unique_ptr<trial>> now;
		for (size_t i = begin; i < std::min(begin + kAtOnce, flips.size()); i++)
			now.push_back(std::make_unique<trial>(flips[i]));
		for (const auto &one : now)
			one->begin();
		for (const auto &one : now)
			one->end(t);
	}
	printf("# %zu jobs, %d bits flipped: %d right, %d with an error, %d with wrong data, %d with an operation that "
	       "vanished, %d bad\n",
	       flips.size(), t.flipped, t.right, t.error, t.wrong, t.vanished, t.bad);
	return t.bad == 0 && (t.flipped > 0 || flips.size() < 2);
}

std::vector<flip> g_flips;

void add(unsigned record, unsigned source, unsigned dest, bool is_signed)
{
	for (unsigned bit = source; bit < dest; bit++)
		g_flips.push_back({record, bit, is_signed});
}

// In the heads of transfers: one bit of each byte, or each bit.
void add_bulk(unsigned step)
{
	const struct {
		record_kind kind;
		size_t bytes;
	} heads[] = {{record_kind::write, sizeof(write_record)},
		     {record_kind::read, sizeof(read_record)},
		     {record_kind::answer, sizeof(answer_record)}};
	for (const auto &h : heads)
		for (unsigned bit = 24; bit < 8 * h.bytes; bit += step) // after its kind
			g_flips.push_back({1 + bit % 2, bit, false, h.kind});
}

// Each byte of the heads once, and some bytes after them.
void add_sample()
{
	add_bulk(7);
	for (unsigned byte = 0; byte < kHeadBits / 8; byte++)
		g_flips.push_back({2 + byte % 7, byte * 8 + byte * 3 % 8, false});
	const unsigned kind = 8 * (sizeof(record_head) + sizeof(packet_head));
	for (unsigned i = 0; i < 15; i++) // in records of which some are requests
		g_flips.push_back({6 + i % 3, kind + i % 5, false});
	for (const unsigned bit : {44u, 45u}) // longer than all data after it
		g_flips.push_back({5, bit, false});
	for (unsigned i = 0; i < 24; i++)
		g_flips.push_back({3 + i % 6, 64 + i * 61 % 800, true});
}

void every_job_ends()
{
	CHECK(run_all(g_flips));
}

} // namespace

int main(int argc, char **argv)
{
	own_network();
	const std::string what = argc > 1 ? argv[1] : "";
	constexpr unsigned kData = 5; // after the greeting and its proof, whichever side called
	if (what == "all") {
		add(kData, 0, kHeadBits, false);
		add(kData, 0, kHeadBits + 256, true);
		add_bulk(1);
	} else if (what == "sweep") {
		for (unsigned record = 1; record <= 10; record++) {
			add(record, 0, kHeadBits, false);
			add(record, 0, kHeadBits + 256, true);
		}
	} else if (argc > 2) {
		const flip one{static_cast<unsigned>(atoi(argv[1])), static_cast<unsigned>(atoi(argv[2])), argc > 3};
		g_flips.assign(static_cast<size_t>(tries(1)), one);
	} else {
		add_sample();
	}
	return run_cases({{"every_job_ends", every_job_ends}}, 1, argv);
}
