// SPDX-License-Identifier: BSD-3-Clause
//
// The timeline: a bounded list of calls in each PE's room, and one file for all PEs in the Chrome trace format, which
// Perfetto opens. The collector reads the lists twice, in pieces: first the signals, then everything that it writes; it
// keeps a bounded number of signals.
#include "tool_trace.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace pgas_tools {
namespace {

constexpr size_t kPiece = 1024;           // events read at a time
constexpr size_t kMostSignals = 1u << 20; // kept to draw arrows

struct sent_signal {
	int target;
	uint64_t place, at_ns; // at_ns: by the collector's clock
	uint64_t value;        // the signal's; after collect_signals(), the word's value after it
	int source;
	uint8_t thread, how;
	uint32_t next; // in the first signal to a place: how many of them have been examined
};

class timeline {
public:
	timeline(const source &sender, bool aligned) : from_(sender), aligned_(aligned) {}
	bool write(const char *path);
	uint64_t calls = 0, dropped = 0, arrows = 0, arrows_dropped = 0;

private:
	template <class Each>
	void for_events(int pe, const head &h, Each &&each);
	bool read_head(int pe, head &h);
	void collect_signals();
	void write_pe(int pe, const head &h);
	void write_call(int pe, const event &e, uint64_t pos);
	void write_arrow(int pe, const event &e, uint64_t end);
	uint64_t here(const head &h, uint64_t ns) const { return aligned_ ? clock_here(h.host, ns) : ns; }
	double us(uint64_t ns) const { return static_cast<double>(static_cast<int64_t>(ns - origin_)) / 1e3; }

	const source &from_;
	bool aligned_;
	void flush() { fputs(json_.take().c_str(), out_); }
	pgas::json_writer &event_of(const char *name, const char *phase, int pe);

	FILE *out_ = nullptr;
	pgas::json_writer json_{pgas::json_writer::form::compact};
	uint64_t origin_ = UINT64_MAX;
	std::vector<sent_signal> signals_;
	event piece_[kPiece];
};

bool timeline::read_head(int pe, head &h)
{
	const pe_place where = where_is(pe);
	return where.with_tool && from_.read(pe, 0, &h, sizeof h) && h.magic == kMagic;
}

template <class Each>
void timeline::for_events(int pe, const head &h, Each &&each)
{
	const uint64_t count = std::min<uint64_t>(h.events, g.room_for_events);
	for (uint64_t pos = 0; pos < count; pos += kPiece) {
		const size_t n = std::min<size_t>(kPiece, count - pos);
		if (!from_.read(pe, kEventsAt + pos * sizeof(event), piece_, n * sizeof(event)))
			return;
		for (size_t i = 0; i < n; i++)
			each(piece_[i]);
	}
}

void timeline::collect_signals()
{
	head h;
	for (int pe = 0; pe < g.n_pes; pe++) {
		if (!read_head(pe, h))
			continue;
		origin_ = std::min(origin_, here(h, h.begin_ns));
		for_events(pe, h, [&](const event &e) {
			if (!e.place || e.pe == kNoPe)
				return;
			if (signals_.size() == kMostSignals)
				arrows_dropped++;
			else
				signals_.push_back(
					{e.pe, e.place, here(h, e.start_ns), e.value, pe, e.thread, e.how, 0});
		});
	}
	std::sort(signals_.begin(), signals_.end(), [](const sent_signal &a, const sent_signal &b) {
		return std::tie(a.target, a.place, a.at_ns) < std::tie(b.target, b.place, b.at_ns);
	});
	for (size_t i = 1; i < signals_.size(); i++) {
		const sent_signal &before = signals_[i - 1];
		sent_signal &s = signals_[i];
		if (signal_adds(s.how) && s.target == before.target && s.place == before.place)
			s.value += before.value;
	}
}

// Begins an event, which the caller ends.
pgas::json_writer &timeline::event_of(const char *name, const char *phase, int pe)
{
	return json_.line().begin_object().member("name", name).member("ph", phase).member("pid", pe);
}

void timeline::write_call(int pe, const event &e, uint64_t pos)
{
	event_of(call_text(e.call), "X", pe).member("tid", e.thread).key("ts").fixed(us(pos), 3);
	json_.key("dur").fixed(static_cast<double>(e.ns) / 1e3, 3).key("args").begin_object();
	if (e.pe != kNoPe)
		json_.member("pe", e.pe);
	json_.member("bytes", e.bytes).end_object().end_object();
	calls++;
}

// Draws an arrow from the signal that gave the word the value that the wait wants: the first such one that was sent
// before the wait ended and has not ended another wait. It may be wrong for words that do not start at 0, or that
// others store to.
void timeline::write_arrow(int pe, const event &e, uint64_t end)
{
	const auto first = std::lower_bound(
		signals_.begin(), signals_.end(), std::make_tuple(pe, e.place),
		[](const sent_signal &s, const auto &key) { return std::tie(s.target, s.place) < key; });
	const auto here = [&](const sent_signal &s) { return s.target == pe && s.place == e.place && s.at_ns <= end; };
	if (first == signals_.end())
		return;
	auto it = first + first->next;
	while (it != signals_.end() && here(*it) && !signal_fits(it->value, e.how, e.value))
		++it;
	if (it == signals_.end() || !here(*it))
		return;
	first->next = static_cast<uint32_t>(it - first) + 1;
	arrows++;
	event_of("signal", "s", it->source).member("cat", "signal").member("id", arrows).member("tid", it->thread);
	json_.key("ts").fixed(us(it->at_ns), 3).end_object();
	event_of("signal", "f", pe).member("cat", "signal").member("bp", "e").member("id", arrows);
	json_.member("tid", e.thread).key("ts").fixed(us(end), 3).end_object();
}

void timeline::write_pe(int pe, const head &h)
{
	const pe_place where = where_is(pe);
	event_of("process_name", "M", pe).key("args").begin_object();
	json_.member("name", "PE " + std::to_string(pe) + (*where.name ? " on " : "") + where.name);
	json_.end_object().end_object();
	event_of("process_sort_index", "M", pe).key("args").begin_object().member("sort_index", pe);
	json_.end_object().end_object();
	dropped += h.dropped;
	for_events(pe, h, [&](const event &e) {
		const uint64_t pos = here(h, e.start_ns);
		write_call(pe, e, pos);
		if (e.place && e.pe == kNoPe)
			write_arrow(pe, e, pos + e.ns);
		flush();
	});
}

bool timeline::write(const char *path)
{
	out_ = fopen(path, "we");
	if (!out_)
		return false;
	collect_signals();
	json_.begin_object().member("displayTimeUnit", "ns").key("traceEvents").begin_array();
	head h;
	for (int pe = 0; pe < g.n_pes; pe++)
		if (read_head(pe, h))
			write_pe(pe, h);
	json_.line().end_array().key("otherData").begin_object().member("n_pes", g.n_pes).member("calls", calls);
	json_.member("calls_not_held", dropped).member("arrows", arrows).end_object().end_object();
	flush();
	const bool good = !ferror(out_);
	return fclose(out_) == 0 && good;
}

void write_file(const source &sender, bool aligned, const std::string &path)
{
	auto t = std::make_unique<timeline>(sender, aligned);
	if (!t->write(path.c_str())) {
		fprintf(stderr, "PE %d: cannot write the timeline %s: %s\n", g.my_pe, path.c_str(), strerror(errno));
		return;
	}
	fprintf(stderr, "%s timeline: %" PRIu64 " calls and %" PRIu64 " arrows in %s\n", kSubject, t->calls, t->arrows,
		path.c_str());
	if (t->dropped)
		fprintf(stderr,
			"%s timeline: %" PRIu64 " calls had no room; SHMEM_TRACE_EVENTS is %" PRIu64 " per PE\n",
			kSubject, t->dropped, g.room_for_events);
	if (t->arrows_dropped)
		fprintf(stderr, "%s timeline: %" PRIu64 " signals have no arrows, there are so many\n", kSubject,
			t->arrows_dropped);
}

bool read_remote(int pe, size_t offset, void *dst, size_t bytes)
{
	read_room(pe, offset, dst, bytes);
	return true;
}

uint8_t thread_number()
{
	static std::atomic<uint8_t> threads{0};
	thread_local const uint8_t mine = threads++;
	return mine;
}

} // namespace

void trace_put(event e)
{
	head &h = g.mine->head;
	e.thread = g.threads ? thread_number() : 0;
	const uint64_t pos = g.threads ? pgas_add_relaxed(&h.events, uint64_t{1}) : h.events;
	if (pos >= g.room_for_events) {
		pgas_add_relaxed(&h.dropped, uint64_t{1});
		return;
	}
	g.events[pos] = e;
	if (!g.threads)
		pgas_store_relaxed(&h.events, pos + 1);
}

void trace_all()
{
	write_file({read_remote}, true, g.wish.trace);
	clock_forget();
}

void trace_early(const source &sender)
{
	const pe_place where = where_is(g.my_pe);
	write_file(sender, false, std::string(g.wish.trace) + (*where.name ? "-" : "") + where.name);
}

} // namespace pgas_tools
