// SPDX-License-Identifier: BSD-3-Clause
// oshrun_survey.cpp: see oshrun_survey.hpp.
#include "oshrun_survey.hpp"
#include "oshrun_process.hpp"

#include <pgas/pgas_ranges.hpp>

#include <algorithm>
#include <atomic>

namespace oshrun {
namespace {

constexpr double kPatience = 2; // seconds for the answers: a wait looks at the board at least four times a second

bool is_plain(char c)
{
	return c >= ' ' && c < 127;
}

} // namespace

// A question while one waits for its answers is the same question: whoever asks every second gets answers, too.
void survey::ask()
{
	if (deadline_ != 0)
		return;
	places_.assign(pes_.size(), "");
	question_++;
	deadline_ = now_s() + kPatience;
	std::atomic_ref<uint32_t>(files_.view.head().questions).store(question_, std::memory_order_relaxed);
}

void survey::take(const pe &one, uint32_t question, const char *place)
{
	if (deadline_ == 0 || question != question_)
		return;
	if (!*place) { // it prints a hang report itself
		deadline_ = 0;
		return;
	}
	std::string &text = places_[static_cast<size_t>(&one - &*pes_.begin())];
	text = std::string("in ") + place;
	std::replace_if(
		text.begin(), text.end(), [](char c) { return !is_plain(c); }, '?');
}

bool survey::is_answered() const
{
	size_t position = 0;
	for (const pe &one : pes_)
		if (places_[position++].empty() && one.child > 0 && pes_.slot_state(one.rank) == pgas::boot::kSlotLive)
			return false;
	return true;
}

void survey::check(double now)
{
	if (deadline_ == 0 || (now < deadline_ && !is_answered()))
		return;
	deadline_ = 0;
	print();
}

std::string survey::place_of(const pe &one) const
{
	if (one.child == 0)
		return "has ended";
	switch (pes_.slot_state(one.rank)) {
	case pgas::boot::kSlotNew:
		return "has not joined the job: nothing is known of where it is";
	case pgas::boot::kSlotDone:
		return "has finalized";
	default:
		break;
	}
	const std::string &answer = places_[static_cast<size_t>(&one - &*pes_.begin())];
	if (!answer.empty())
		return answer;
	switch (process_state(one.joined > 0 ? one.joined : one.child)) {
	case 'R':
		return "in no call that waits; it computes";
	case 'S':
	case 'D':
		return "in no call that waits; it sleeps in a system call";
	case 'T':
	case 't':
		return "in no call that waits; it is stopped";
	default:
		return "in no call that waits";
	}
}

// PEs in equal places are printed together.
void survey::print() const
{
	bool joined = false;
	std::vector<std::pair<std::string, std::vector<int>>> groups;
	for (const pe &one : pes_) {
		joined |= one.has_joined || pes_.slot_state(one.rank) != pgas::boot::kSlotNew;
		const std::string place = place_of(one);
		auto it = std::find_if(groups.begin(), groups.end(), [&](const auto &g) { return g.first == place; });
		if (it == groups.end())
			it = groups.insert(it, {place, {}});
		it->second.push_back(one.rank);
	}
	if (!joined) {
		say("SIGUSR1: no PE has joined the job, so nothing is known of where they are: this is no program of "
		    "OpenSHMEM or GASNet, or it has not reached its init yet");
		return;
	}
	say("SIGUSR1: where the PEs are:");
	for (const auto &[place, ranks] : groups)
		say("  PE %s: %s", pgas::ranges_of(ranks).c_str(), place.c_str());
}

} // namespace oshrun
