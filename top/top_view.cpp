// SPDX-License-Identifier: BSD-3-Clause
// top_view.cpp: see top_view.hpp.
#include "top_view.hpp"
#include "top_who.hpp"

#include <pgas/pgas_ranges.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace oshtop {
namespace {

constexpr double kNs = 1e-9;
constexpr double kLongCall_s = 1; // a call that takes longer is worth a sentence

const char *state_of(const pe_sample &pe)
{
	if (!pe.is_here)
		return pe.is_stopped ? "stopped" : "elsewhere";
	if (!pe.pid)
		return pe.slot_state == pgas::boot::kSlotNew ? "not there" : "ended";
	if (pe.process.state == 'T')
		return "stopped";
	if (pe.process.state == 't')
		return "debugged";
	if (pe.slot_state == pgas::boot::kSlotNew)
		return "starting";
	if (pe.slot_state == pgas::boot::kSlotDone)
		return "finalized";
	switch (pe.process.state) {
	case 'R':
		return "running";
	case 'D':
		return "in kernel";
	default:
		return "sleeping";
	}
}

// Counts of one process only grow; another process of the same PE begins anew.
maybe rate(uint64_t before, uint64_t now, double seconds)
{
	if (now < before || seconds <= 0)
		return std::nullopt;
	return static_cast<double>(now - before) / seconds;
}

bool is_same_process(const pe_sample &a, const pe_sample &b)
{
	return a.pid && a.pid == b.pid && a.process.start_ticks == b.process.start_ticks;
}

// The time in calls that wait, up to now: the tool adds it when a call ends.
uint64_t waited_ns(const tool_figures &tool, const call_names &names, uint64_t now)
{
	const pgas_tools::head &h = tool.head;
	if (!h.in_call || h.in_since_ns > now || !is_waiting_call(names.text(h.in_call - 1)))
		return h.waiting_ns;
	return h.waiting_ns + (now - h.in_since_ns);
}

void add_tool(const sampler &source, const sample &before, const sample &now, size_t rank, row &line)
{
	const pe_sample &old = before.pes[rank], &pe = now.pes[rank];
	const tool_figures &tool = *pe.memory.tool;
	const call_names &names = source.names_of(pe.rank);
	line.calls = static_cast<double>(tool.calls);
	line.messages = static_cast<double>(tool.messages);
	line.bytes = static_cast<double>(tool.bytes);
	line.heap_high_bytes = static_cast<double>(tool.head.heap_high);
	if (tool.head.in_call) {
		line.call = names.text(tool.head.in_call - 1);
		line.call_s =
			tool.head.in_since_ns <= now.ns ? static_cast<double>(now.ns - tool.head.in_since_ns) * kNs : 0;
		line.is_waiting = is_waiting_call(line.call);
		line.place = place_of(tool.head, names);
	}
	if (!old.memory.tool || !is_same_process(old, pe))
		return;
	const double seconds = static_cast<double>(now.ns - before.ns) * kNs;
	line.calls_rate = rate(old.memory.tool->calls, tool.calls, seconds);
	line.messages_rate = rate(old.memory.tool->messages, tool.messages, seconds);
	line.bytes_rate = rate(old.memory.tool->bytes, tool.bytes, seconds);
	if (const maybe part =
		    rate(waited_ns(*old.memory.tool, names, before.ns), waited_ns(tool, names, now.ns), seconds))
		line.wait_percent = std::min(*part * kNs * 100, 100.0);
}

void add_process(const pe_sample &old, const pe_sample &pe, double seconds, row &line)
{
	line.pid = pe.pid;
	line.cpu = pe.process.cpu;
	line.threads = pe.process.threads;
	line.cpu_s = seconds_of(pe.process.cpu_ticks);
	line.resident_bytes = static_cast<double>(pe.process.resident_bytes);
	if (!is_same_process(old, pe))
		return;
	if (const maybe ticks = rate(old.process.cpu_ticks, pe.process.cpu_ticks, seconds))
		line.cpu_percent = *ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) * 100;
}

row make_row(const sampler &source, const sample &before, const sample &now, size_t rank, const progress &old_progress,
	     const progress &progress)
{
	const pe_sample &old = before.pes[rank], &pe = now.pes[rank];
	const double seconds = static_cast<double>(now.ns - before.ns) * kNs;
	row line;
	line.rank = pe.rank;
	line.host = pe.host;
	line.is_here = pe.is_here;
	line.state = state_of(pe);
	if (!pe.pid)
		return line;
	add_process(old, pe, seconds, line);
	if (!pe.memory.kind)
		return line;
	const bool was_there = is_same_process(old, pe) && old.memory.kind == pe.memory.kind;
	line.heap_bytes = static_cast<double>(pe.memory.heap_bytes);
	line.touched_bytes = static_cast<double>(pe.memory.touched_bytes);
	line.syncs = static_cast<double>(progress.syncs[rank]);
	if (pe.memory.kind == &pgas::kShmemMemory)
		line.collectives = static_cast<double>(progress.collectives[rank]);
	if (pe.memory.arrivals)
		line.arrivals = static_cast<double>(*pe.memory.arrivals);
	if (was_there) {
		line.syncs_rate = rate(old_progress.syncs[rank], progress.syncs[rank], seconds);
		if (line.collectives)
			line.collectives_rate =
				rate(old_progress.collectives[rank], progress.collectives[rank], seconds);
		if (pe.memory.arrivals && old.memory.arrivals)
			line.arrivals_rate = rate(*old.memory.arrivals, *pe.memory.arrivals, seconds);
	}
	if (pe.memory.tool)
		add_tool(source, before, now, rank, line);
	return line;
}

std::string pes_text(const std::vector<int> &pes)
{
	return "PE " + pgas::ranges_of(pes);
}

std::string sentence_of(const meeting &one, size_t pes)
{
	const char *verb = one.waiting.size() == 1 ? " waits" : " wait";
	const std::string place = std::string(" in a ") + one.what + " of all PEs";
	if (!one.is_certain)
		return pes_text(one.waiting) + (one.waiting.size() == 1 ? " has" : " have") + " notified a " +
		       one.what + " that " + pes_text(one.awaited) +
		       (one.awaited.size() == 1 ? " has not" : " have not");
	if (one.waiting.empty())
		return std::to_string(pes - one.awaited_count) + " of " + std::to_string(pes) + " PEs wait" + place +
		       " for the others";
	return pes_text(one.waiting) + verb + place + " for " +
	       (one.awaited.empty() ? "PEs that cannot be told from here" : pes_text(one.awaited));
}

void add_meetings(view &v, uint64_t now_ns)
{
	const bool has_sentences = !v.sentences.empty(); // the conclusions know more
	for (const meeting &one : v.meetings) {
		const double seconds = now_ns > one.since_ns ? static_cast<double>(now_ns - one.since_ns) * kNs : 0;
		if (!has_sentences)
			v.sentences.push_back(sentence_of(one, v.pes) + ", for " + time_text(seconds) + " or more");
		for (row &line : v.rows) {
			if (!one.is_certain || !std::binary_search(one.waiting.begin(), one.waiting.end(), line.rank))
				continue;
			line.is_waiting = true;
			if (line.place.empty())
				line.place = std::string(one.what) +
					     (one.awaited.empty() ? "" : ", waits for " + pes_text(one.awaited));
		}
	}
}

bool has_long_call(const view &v)
{
	return std::any_of(v.rows.begin(), v.rows.end(),
			   [](const row &line) { return line.call_s.value_or(0) > kLongCall_s; });
}

// What the columns lack, and which option of oshrun fills them.
void add_notes(const sample &now, view &v)
{
	if (!now.is_intact)
		v.notes.push_back(pgas::boot::kOverwritten);
	const auto live =
		std::find_if(now.pes.begin(), now.pes.end(), [](const pe_sample &pe) { return pe.memory.kind; });
	if (v.pes_here < v.pes)
		v.notes.push_back(std::to_string(v.pes - v.pes_here) + " PEs run on other hosts: run oshtop there" +
				  (v.stopped_elsewhere.empty() ? "" : "; stopped: " + pes_text(v.stopped_elsewhere)));
	if (live == now.pes.end())
		return;
	if (std::any_of(now.pes.begin(), now.pes.end(),
			[](const pe_sample &pe) { return pe.memory.kind && !pe.memory.tool; }))
		v.notes.push_back(
			"CALL/s, MSG/s, B/s, WAIT% and the call of each PE: start the job with oshrun --stats or "
			"--hang-after SECONDS");
	else if (!variable_of(live->pid, "SHMEM_HANG_AFTER"))
		v.notes.push_back("who holds a lock, and what is waited for: start the job with oshrun --hang-after "
				  "SECONDS");
}

void add_job(const sampler &source, const sample &before, const sample &now, view &v)
{
	const job &its_job = source.source();
	v.job = its_job.pid;
	v.command = command_of(its_job.pid);
	v.host = host_name();
	v.pes = source.size();
	v.age_s = uptime_s() - seconds_of(its_job.boards[0].start_ticks());
	v.interval_s = static_cast<double>(now.ns - before.ns) * kNs;
	std::set<uint32_t> hosts;
	for (const pe_sample &pe : now.pes) {
		hosts.insert(pe.host);
		v.pes_here += pe.is_here;
		if (!pe.is_here && pe.is_stopped)
			v.stopped_elsewhere.push_back(pe.rank);
	}
	v.hosts = static_cast<uint32_t>(hosts.size());
}

} // namespace

view viewer::update(const sampler &source, const sample &before, const sample &now)
{
	view v;
	const progress old_progress = read_progress(before), progress = read_progress(now);
	add_job(source, before, now, v);
	for (size_t rank = 0; rank < now.pes.size(); rank++)
		if (now.pes[rank].is_here)
			v.rows.push_back(make_row(source, before, now, rank, old_progress, progress));
	v.meetings = meetings_.update(before, now);
	if (has_long_call(v))
		v.sentences = conclusions_of(source, now);
	add_meetings(v, now.ns);
	add_notes(now, v);
	return v;
}

std::string count_text(double value)
{
	char text[32];
	const char *unit = "";
	for (const char *next : {"k", "M", "G", "T", "P", "E"}) {
		if (value < 9999.5)
			break;
		value /= 1000;
		unit = next;
	}
	snprintf(text, sizeof text, value < 9.95 && (*unit || value != std::floor(value)) ? "%.1f%s" : "%.0f%s", value,
		 unit);
	return text;
}

std::string bytes_text(double bytes)
{
	char text[32];
	const char *unit = "";
	for (const char *next : {"K", "M", "G", "T", "P", "E"}) {
		if (bytes < 1023.5)
			break;
		bytes /= 1024;
		unit = next;
	}
	snprintf(text, sizeof text, *unit && bytes < 99.95 ? "%.1f%s" : "%.0f%s", bytes, unit);
	return text;
}

std::string time_text(double seconds)
{
	char text[48];
	const auto whole = static_cast<long long>(std::clamp(seconds, 0.0, 1e12));
	if (whole >= 3600)
		snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
	else if (whole >= 60)
		snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
	else
		snprintf(text, sizeof text, "%.1f s", std::clamp(seconds, 0.0, 60.0));
	return text;
}

} // namespace oshtop
