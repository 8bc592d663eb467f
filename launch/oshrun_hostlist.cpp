// SPDX-License-Identifier: BSD-3-Clause
// oshrun_hostlist.cpp: see oshrun_hostlist.hpp.
#include "oshrun_hostlist.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace oshrun {
namespace {

constexpr size_t kHostsMax = 1 << 20;
constexpr int kBracketsMax = 16; // per item of a Slurm list; each multiplies the names

// A name becomes an argument of the agent command: it must not look like an option.
bool good_name(const std::string &name)
{
	if (name.empty() || name.size() > 253 || name[0] == '-')
		return false;
	return std::all_of(name.begin(), name.end(), [](char c) {
		return isalnum(static_cast<unsigned char>(c)) || strchr("._-:@%", c) != nullptr;
	});
}

bool parse_slots(const std::string &text, int &slots)
{
	char *end;
	errno = 0;
	long value = strtol(text.c_str(), &end, 10);
	if (text.empty() || !isdigit(static_cast<unsigned char>(text[0])) || *end || errno || value < 1 ||
	    value > kSlotsMost)
		return false;
	slots = static_cast<int>(value);
	return true;
}

// slots 0: one more mention of a host for which no number was given
std::string add_host(const std::string &name, int slots, host_set &hosts)
{
	if (!good_name(name))
		return "\"" + name + "\" is not the name of a host";
	if (host *one = hosts.find(name))
		one->slots = std::min(std::max(one->slots, 1) + std::max(slots, 1), kSlotsMost);
	else if (hosts.list.size() >= kHostsMax)
		return "too many hosts";
	else
		hosts.add(name, slots);
	return {};
}

// parses "b", "b:2", "[fe80::1]", "[fe80::1]:2"
std::string split_name(const std::string &text, std::string &name, int &slots)
{
	std::string number;
	slots = 0;
	if (text[0] == '[') {
		const size_t end = text.find(']');
		if (end == std::string::npos || (end + 1 < text.size() && text[end + 1] != ':'))
			return "\"" + text + "\" is not understood";
		name = text.substr(1, end - 1);
		number = end + 1 < text.size() ? text.substr(end + 1) : "";
	} else {
		const size_t colon = text.find(':');
		name = text.substr(0, colon);
		number = colon == std::string::npos ? "" : text.substr(colon);
	}
	if (!number.empty() && !parse_slots(number.substr(1), slots))
		return "\"" + text + "\": expected a number of slots from 1 to " + std::to_string(kSlotsMost) +
		       " after the colon";
	return {};
}

std::vector<std::string> split_at(const std::string &text, char mark)
{
	std::vector<std::string> parts;
	for (size_t pos = 0; pos <= text.size();) {
		size_t end = std::min(text.find(mark, pos), text.size());
		parts.push_back(text.substr(pos, end - pos));
		pos = end + 1;
	}
	return parts;
}

std::string trim(const std::string &text)
{
	const size_t first = text.find_first_not_of(" \t\r\n");
	const size_t last = text.find_last_not_of(" \t\r\n");
	return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

} // namespace

host *host_set::find(const std::string &name)
{
	const auto found = at_.find(name);
	return found == at_.end() ? nullptr : &list[found->second];
}

host &host_set::add(const std::string &name, int slots)
{
	at_.emplace(name, list.size());
	return list.emplace_back(host{name, slots, false});
}

std::string add_host_list(const std::string &text, host_set &hosts)
{
	for (const std::string &part : split_at(text, ',')) {
		std::string one = trim(part), name;
		int slots;
		if (one.empty())
			return "a host without a name";
		std::string wrong = split_name(one, name, slots);
		if (wrong.empty())
			wrong = add_host(name, slots, hosts);
		if (!wrong.empty())
			return wrong;
	}
	return {};
}

std::string add_host_line(const std::string &text, host_set &hosts)
{
	std::string line = text.substr(0, text.find('#'));
	std::replace(line.begin(), line.end(), '\t', ' ');
	strings words;
	add_words(words, trim(line));
	if (words.empty())
		return {};
	std::string name;
	int slots;
	std::string wrong = split_name(words[0], name, slots);
	for (size_t i = 1; wrong.empty() && i < words.size(); i++) {
		const size_t equals = words[i].find('=');
		const std::string key = words[i].substr(0, equals);
		if (equals == std::string::npos || (key != "slots" && key != "max_slots" && key != "max-slots"))
			wrong = "\"" + words[i] + "\" is not understood; expected slots=N";
		else if (int given; !parse_slots(words[i].substr(equals + 1), given))
			wrong = "\"" + words[i] + "\": expected a number from 1 to " + std::to_string(kSlotsMost);
		else if (key == "slots")
			slots = given;
	}
	return wrong.empty() ? add_host(name, slots, hosts) : wrong;
}

// --- Slurm -----------------------------------------------------------------------------------------------------------

namespace {

enum class expanded { well, unclear, too_many };

// "01-03" after "n": n01 n02 n03, keeping the width. room: the most names that `names` may hold.
expanded add_range(const std::string &before, const std::string &range, const std::string &after, size_t room,
		   strings &names)
{
	const size_t dash = range.find('-');
	const std::string low = range.substr(0, dash), high = dash == std::string::npos ? low : range.substr(dash + 1);
	if (low.empty() || high.empty() || low.size() > 9 || high.size() > 9 ||
	    (low + high).find_first_not_of("0123456789") != std::string::npos)
		return expanded::unclear;
	const int last = atoi(high.c_str());
	for (int i = atoi(low.c_str()); i <= last; i++) {
		char number[16];
		snprintf(number, sizeof number, "%0*d", static_cast<int>(low.size()), i);
		if (names.size() >= room)
			return expanded::too_many;
		names.push_back(before + number + after);
	}
	return expanded::well;
}

// Expands one item of a list, with several brackets. room: how many names it may become, so that the list never grows
// beyond that.
expanded expand(const std::string &text, size_t room, strings &names)
{
	const size_t open = text.find('[');
	if (room == 0)
		return expanded::too_many;
	if (open == std::string::npos) {
		names.push_back(text);
		return expanded::well;
	}
	const size_t close = text.find(']', open);
	if (close == std::string::npos)
		return expanded::unclear;
	strings some;
	expanded how = expanded::well;
	for (const std::string &range : split_at(text.substr(open + 1, close - open - 1), ','))
		if (how == expanded::well)
			how = add_range(text.substr(0, open), range, text.substr(close + 1), room, some);
	for (const std::string &one : some)
		if (how == expanded::well)
			how = expand(one, room / some.size(), names);
	return how;
}

// Text from the user may have any length: an error line shows only its beginning.
std::string quote(const std::string &text)
{
	constexpr size_t most = 200;
	return "\"" + text.substr(0, most) + (text.size() > most ? "...\"" : "\"");
}

std::string expand_item(const std::string &text, strings &names)
{
	if (std::count(text.begin(), text.end(), '[') > kBracketsMax)
		return quote(text) + " has more than " + std::to_string(kBracketsMax) + " brackets";
	const expanded how = text.empty() ? expanded::unclear : expand(text, kHostsMax - names.size(), names);
	return how == expanded::well       ? ""
	       : how == expanded::too_many ? "too many hosts: " + quote(text)
					   : quote(text) + " is not understood";
}

// "2(x3),1": 2 2 2 1
bool expand_counts(const std::string &text, std::vector<int> &counts)
{
	for (const std::string &part : split_at(text, ',')) {
		int slots, times = 1;
		const size_t paren = part.find("(x");
		if (!parse_slots(part.substr(0, paren), slots))
			return false;
		if (paren != std::string::npos &&
		    (part.back() != ')' || !parse_slots(part.substr(paren + 2, part.size() - paren - 3), times)))
			return false;
		counts.insert(counts.end(), static_cast<size_t>(times), slots);
		if (counts.size() > kHostsMax)
			return false;
	}
	return true;
}

} // namespace

// Commas inside brackets do not end an item.
std::string expand_host_names(const std::string &text, strings &names)
{
	size_t begin = 0;
	int depth = 0;
	for (size_t pos = 0; pos <= text.size(); pos++) {
		if (pos == text.size() || (text[pos] == ',' && depth == 0)) {
			if (std::string wrong = expand_item(text.substr(begin, pos - begin), names); !wrong.empty())
				return wrong;
			begin = pos + 1;
		} else
			depth += text[pos] == '[' ? 1 : text[pos] == ']' ? -1 : 0;
		if (depth < 0 || depth > 1)
			return quote(text) + ": brackets in brackets, or one that is not open";
	}
	return depth == 0 ? "" : quote(text) + " is not understood";
}

std::string add_slurm_hosts(const std::string &list, const std::string &slots, host_set &hosts)
{
	strings names;
	std::vector<int> counts;
	if (std::string wrong = expand_host_names(list, names); !wrong.empty())
		return wrong;
	if (!slots.empty() && (!expand_counts(slots, counts) || counts.size() != names.size()))
		return quote(slots) + " is not understood for " + std::to_string(names.size()) + " hosts";
	for (size_t i = 0; i < names.size(); i++) {
		std::string wrong = add_host(names[i], counts.empty() ? 1 : counts[i], hosts);
		if (!wrong.empty())
			return wrong;
	}
	return {};
}

} // namespace oshrun
