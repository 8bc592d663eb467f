// SPDX-License-Identifier: BSD-3-Clause
//
// What follows from where the PEs are: who waits for whom, and whether any of them can go on. A PE in a collective of
// all PEs waits for those that are in none; a PE in a lock call waits for the holder; a PE that waits for a word waits
// for some other PE. A circle of these, or no PE left that could end a wait, is a deadlock. What the report cannot see,
// PEs of other hosts among it, is never taken for waiting.
#include "tool_figures.hpp"

#include <pgas/pgas_ranges.hpp>

#include <algorithm>

namespace pgas_tools {
namespace {

constexpr uint64_t kSettledNs = 500'000'000; // in one call for so long, a PE is not just passing through

struct pe_state {
	bool is_seen = false;
	head h{};

	bool in_call() const { return is_seen && h.in_call; }
	bool in_collective() const { return in_call() && h.in_team_pes == static_cast<uint32_t>(g.n_pes); }
	bool for_word() const { return in_call() && h.in_place && h.in_pe == kNoPe && h.in_how != kForLock; }
	bool for_lock() const { return in_call() && h.in_place && h.in_how == kForLock; }
	bool is_settled(uint64_t now) const { return in_call() && now - h.in_since_ns > kSettledNs; }
	bool holds(uint64_t lock) const
	{
		return is_seen && std::find(h.held, h.held + kLocksMost, lock) != h.held + kLocksMost;
	}
};

class inquiry {
public:
	explicit inquiry(const std::vector<figures *> &figures_of) : states_(figures_of.size()), now_(now_ns())
	{
		for (size_t pe = 0; pe < states_.size(); pe++)
			if (figures_of[pe])
				states_[pe] = {true, figures_of[pe]->head};
	}

	std::vector<std::string> all()
	{
		add_collectives();
		add_locks();
		if (!add_circle())
			add_standstill();
		return sentences_;
	}

private:
	using condition = bool (pe_state::*)() const;

	std::vector<int> those(condition which, bool wanted = true) const
	{
		std::vector<int> pes;
		for (size_t pe = 0; pe < states_.size(); pe++)
			if (states_[pe].is_seen && (states_[pe].*which)() == wanted)
				pes.push_back(static_cast<int>(pe));
		return pes;
	}

	std::string call_of(int pe) const { return call_text(states_[static_cast<size_t>(pe)].h.in_call - 1); }

	std::string whereabouts(int pe) const
	{
		const pe_state &s = states_[static_cast<size_t>(pe)];
		return s.h.in_call ? "in " + call_of(pe) : s.h.left ? "at its end" : "in no call";
	}

	// PEs of a list for which a text is the same, in the order of their first.
	template <class Text>
	static std::vector<std::pair<std::string, std::vector<int>>> by_text(const std::vector<int> &pes, Text text)
	{
		std::vector<std::pair<std::string, std::vector<int>>> found;
		for (const int pe : pes) {
			const std::string words = text(pe);
			auto it = std::ranges::find_if(found, [&](const auto &f) { return f.first == words; });
			if (it == found.end())
				it = found.insert(it, {words, {}});
			it->second.push_back(pe);
		}
		return found;
	}

	void add_collectives()
	{
		const std::vector<int> inside = those(&pe_state::in_collective);
		if (inside.empty())
			return;
		const auto calls = by_text(inside, [this](int pe) { return call_of(pe); });
		const std::string what = calls.size() == 1 ? calls[0].first : "collectives of all PEs";
		const std::vector<int> missing = those(&pe_state::in_collective, false);
		for (const auto &[words, pes] : by_text(missing, [this](int pe) { return whereabouts(pe); }))
			sentences_.push_back("PE " + pgas::ranges_of(inside) +
					     (inside.size() == 1 ? " waits" : " wait") + " in " + what + " for PE " +
					     pgas::ranges_of(pes) + ", " + words);
		if (!missing.empty() || calls.size() == 1)
			return;
		std::string text;
		for (const auto &[call, pes] : calls)
			text += (text.empty() ? "PE " : "; PE ") + pgas::ranges_of(pes) + " in " + call;
		sentences_.push_back("the PEs are in different collectives: " + text);
	}

	int holder_of(uint64_t lock) const
	{
		for (size_t pe = 0; pe < states_.size(); pe++)
			if (states_[pe].holds(lock))
				return static_cast<int>(pe);
		return kNoPe;
	}

	void add_locks()
	{
		for (const int pe : those(&pe_state::for_lock)) {
			const uint64_t lock = states_[static_cast<size_t>(pe)].h.in_place;
			const int holder = holder_of(lock);
			if (holder == kNoPe || holder == pe)
				continue;
			const std::string name = name_of_word(lock - 1);
			sentences_.push_back("PE " + std::to_string(pe) + " waits for the lock " +
					     (name.empty() ? "" : name + ", ") + "which PE " + std::to_string(holder) +
					     " holds, " + whereabouts(holder));
		}
	}

	// The PEs that this one certainly waits for.
	std::vector<int> awaited_by(int pe) const
	{
		const pe_state &s = states_[static_cast<size_t>(pe)];
		if (!s.is_settled(now_))
			return {};
		if (s.in_collective())
			return those(&pe_state::in_collective, false);
		const int holder = s.for_lock() ? holder_of(s.h.in_place) : kNoPe;
		return holder == kNoPe || holder == pe ? std::vector<int>{} : std::vector<int>{holder};
	}

	// Whether `pe` is reached from `start`; the way is in `path`. done: PEs from which it is not reached.
	bool leads_back(int start, int pe, std::vector<int> &path, std::vector<bool> &done) const
	{
		for (const int next : awaited_by(start)) {
			if (next == pe)
				return true;
			if (done[static_cast<size_t>(next)])
				continue;
			done[static_cast<size_t>(next)] = true;
			path.push_back(next);
			if (leads_back(next, pe, path, done))
				return true;
			path.pop_back();
		}
		return false;
	}

	bool add_circle()
	{
		for (size_t pe = 0; pe < states_.size(); pe++) {
			const int first = static_cast<int>(pe);
			std::vector<int> path{first};
			std::vector<bool> done(states_.size());
			if (!leads_back(first, first, path, done))
				continue;
			path.push_back(first);
			std::string text = "deadlock: PE " + std::to_string(first) + " waits for PE " +
					   std::to_string(path[1]);
			for (size_t i = 2; i < path.size(); i++)
				text += ", which waits for PE " + std::to_string(path[i]);
			sentences_.push_back(text);
			return true;
		}
		return false;
	}

	// With several threads in a PE another one may go on.
	void add_standstill()
	{
		const bool all = std::ranges::all_of(states_, [this](const pe_state &s) {
			return s.is_settled(now_) && (s.in_collective() || s.for_lock() || s.for_word());
		});
		if (all && !g.threads && !states_.empty())
			sentences_.push_back("deadlock: every PE waits, and none is left that could end a wait");
	}

	std::vector<pe_state> states_;
	std::vector<std::string> sentences_;
	uint64_t now_;
};

} // namespace

std::vector<std::string> conclusions(const std::vector<figures *> &figures_of)
{
	return inquiry(figures_of).all();
}

} // namespace pgas_tools
