// SPDX-License-Identifier: BSD-3-Clause
// oshrun_hosts.cpp: see oshrun_hosts.hpp.
#include "oshrun_hosts.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_set>

namespace oshrun {
namespace {

constexpr int kSlotsMax = 1 << 20;
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
	    value > kSlotsMax)
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
		one->slots = std::min(std::max(one->slots, 1) + std::max(slots, 1), kSlotsMax);
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
		return "\"" + text + "\": expected a number of slots from 1 to " + std::to_string(kSlotsMax) +
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
			wrong = "\"" + words[i] + "\": expected a number from 1 to " + std::to_string(kSlotsMax);
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

// Commas inside brackets do not end an item. Returns an error, or an empty text.
std::string expand_list(const std::string &text, strings &names)
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

std::string add_slurm_hosts(const std::string &list, const std::string &slots, host_set &hosts)
{
	strings names;
	std::vector<int> counts;
	if (std::string wrong = expand_list(list, names); !wrong.empty())
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

// --- the job's hosts -------------------------------------------------------------------------------------------------

bool is_this_machine(const std::string &name)
{
	if (name == "localhost" || name == "127.0.0.1" || name == "::1")
		return true;
	char own[256] = "";
	gethostname(own, sizeof own - 1);
	const std::string me = own;
	if (name == me)
		return true;
	// one name with its domain and one without; a numeric address is not a name with a domain
	const bool numeric = name.find_first_not_of("0123456789.:") == std::string::npos;
	const size_t dot = name.find('.'), my_dot = me.find('.');
	return !numeric && (dot == std::string::npos) != (my_dot == std::string::npos) &&
	       name.substr(0, dot) == me.substr(0, my_dot);
}

namespace {

bool read_host_file(const std::string &path, host_set &hosts)
{
	FILE *file = fopen(path.c_str(), "re");
	if (!file) {
		say("hostfile %s: %s", path.c_str(), strerror(errno));
		return false;
	}
	char *line = nullptr;
	size_t room = 0;
	std::string wrong;
	int number = 0;
	errno = 0;
	while (wrong.empty() && getline(&line, &room, file) >= 0) {
		number++;
		wrong = add_host_line(line, hosts);
	}
	if (wrong.empty() && ferror(file)) // for instance, a directory
		wrong = strerror(errno);
	free(line);
	fclose(file);
	if (!wrong.empty())
		say("hostfile %s, line %d: %s", path.c_str(), number, wrong.c_str());
	return wrong.empty();
}

const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : nullptr;
}

// Finds the hosts of the allocation around this job. If srun started several tasks, each of them is on its own.
bool find_allocation(host_set &hosts)
{
	const char *tasks = variable("SLURM_STEP_NUM_TASKS");
	const char *list = variable("SLURM_JOB_NODELIST");
	if (list && !(tasks && atoi(tasks) > 1)) {
		const char *slots = variable("SLURM_TASKS_PER_NODE");
		if (!slots)
			slots = variable("SLURM_JOB_CPUS_PER_NODE");
		std::string wrong = add_slurm_hosts(list, slots ? slots : "", hosts);
		if (!wrong.empty()) {
			say("the hosts of the Slurm allocation: %s", wrong.c_str());
			return false;
		}
		return true;
	}
	if (const char *file = variable("PBS_NODEFILE"))
		return read_host_file(file, hosts);
	return true;
}

// In a Slurm allocation Slurm's own command reaches the hosts, which may be reachable in no other way.
const char *usual_agent(const std::vector<host> &hosts)
{
	const char *list = variable("SLURM_JOB_NODELIST");
	strings names;
	const bool known = list && expand_list(list, names).empty();
	const std::unordered_set<std::string> allocated(names.begin(), names.end());
	const bool inside = known && std::all_of(hosts.begin(), hosts.end(), [&](const host &one) {
				    return one.here || allocated.count(one.name) > 0;
			    });
	return inside ? "srun -Q -w %h -N1 -n1 --overlap --cpu-bind=none --mpi=none" : "ssh -x -o BatchMode=yes";
}

bool read_lists(const options &opts, host_set &hosts)
{
	for (const std::string &list : opts.host_lists)
		if (std::string wrong = add_host_list(list, hosts); !wrong.empty()) {
			say("-H %s: %s", list.c_str(), wrong.c_str());
			return false;
		}
	for (const std::string &file : opts.host_files)
		if (!read_host_file(file, hosts))
			return false;
	if (hosts.list.empty())
		say("hostfile %s: no host in it", opts.host_files.back().c_str());
	return !hosts.list.empty();
}

bool only_this_machine(const std::vector<host> &hosts)
{
	return std::all_of(hosts.begin(), hosts.end(), [](const host &one) { return is_this_machine(one.name); });
}

// All names of this machine become one name, by which agents on other hosts can reach it too.
void settle_names(std::vector<host> &hosts)
{
	char own[256] = "localhost";
	gethostname(own, sizeof own - 1);
	std::vector<host> settled;
	size_t ours = SIZE_MAX; // index in settled
	for (host &one : hosts) {
		const bool here = is_this_machine(one.name);
		if (here && ours != SIZE_MAX) {
			settled[ours].slots += one.slots;
			continue;
		}
		if (here)
			ours = settled.size();
		settled.push_back({here ? std::string(own) : one.name, one.slots, here});
	}
	hosts = std::move(settled);
}

bool settle_slots(options &opts, std::vector<host> &hosts)
{
	long slots = 0;
	for (host &one : hosts) {
		one.slots = opts.ppn > 0 ? opts.ppn : std::max(one.slots, 1);
		slots += one.slots;
	}
	if (opts.count == 0 && slots <= kSlotsMax)
		opts.apps[0].count = opts.count = static_cast<int>(slots);
	if (opts.count > 0 && (opts.count <= slots || opts.oversubscribe))
		return true;
	if (opts.count == 0)
		say("the hosts have %ld slots, a job has %d PEs at most: use -n", slots, kSlotsMax);
	else
		say("%d PEs, but the %zu host%s %ld slot%s: name more (host:N, slots=N or --ppn N), or use "
		    "--oversubscribe",
		    opts.count, hosts.size(), hosts.size() == 1 ? " has" : "s have", slots, slots == 1 ? "" : "s");
	return false;
}

} // namespace

// Finds the hosts that --rankfile names.
static int find_ranks(options &opts)
{
	host_set found;
	std::vector<host> &hosts = found.list;
	strings names;
	if (!opts.host_lists.empty() || !opts.host_files.empty() || opts.ppn > 0) {
		say("--rankfile says where PEs go; -H, --hostfile and --ppn cannot");
		return kExitUsage;
	}
	if (!read_rankfile(opts, found, names))
		return kExitUsage;
	const int count = static_cast<int>(names.size());
	if (opts.count > 0 && opts.count != count) {
		say("--rankfile %s has %d ranks, and -n is %d", opts.rankfile.c_str(), count, opts.count);
		return kExitUsage;
	}
	settle_names(hosts);
	if (opts.count == 0)
		opts.apps[0].count = opts.count = count;
	std::unordered_map<std::string, uint32_t> number;
	uint32_t ours = 0;
	for (uint32_t i = 0; i < hosts.size(); i++) {
		number[hosts[i].name] = i;
		ours = hosts[i].here ? i : ours;
	}
	for (const std::string &name : names)
		opts.rank_hosts.push_back(is_this_machine(name) ? ours : number[name]);
	if (!only_this_machine(hosts))
		opts.hosts = std::move(hosts);
	if (opts.launch_agent.empty())
		opts.launch_agent = usual_agent(opts.hosts);
	return -1;
}

int find_hosts(options &opts)
{
	host_set found;
	std::vector<host> &hosts = found.list; // settle_names() changes names
	const bool asked = !opts.host_lists.empty() || !opts.host_files.empty();
	if (!opts.rankfile.empty())
		return find_ranks(opts);
	if (!(asked ? read_lists(opts, found) : find_allocation(found)))
		return kExitUsage;
	const bool alone = only_this_machine(hosts);
	if (alone && !asked && opts.ppn == 0) {
		if (opts.count == 0)
			opts.apps[0].count = opts.count = 1;
		return -1;
	}
	if (hosts.empty())
		hosts.push_back({"localhost", opts.ppn, true});
	settle_names(hosts);
	if (!settle_slots(opts, hosts))
		return kExitUsage;
	if (alone)
		return -1;
	if (opts.map == map_by::other) {
		say("--map-by: expected slot or node for a job on several hosts");
		return kExitUsage;
	}
	opts.hosts = std::move(hosts);
	const std::vector<uint32_t> used = place_ranks(opts);
	opts.hosts.resize(*std::max_element(used.begin(), used.end()) + 1); // the others get no PE
	if (only_this_machine(opts.hosts))
		opts.hosts.clear();
	if (opts.launch_agent.empty())
		opts.launch_agent = usual_agent(opts.hosts);
	return -1;
}

// Slots are filled first, host by host or one on each host in turn; the remaining PEs go round again.
std::vector<uint32_t> place_ranks(const options &opts)
{
	if (!opts.rank_hosts.empty())
		return opts.rank_hosts;
	std::vector<uint32_t> where;
	const size_t count = static_cast<size_t>(opts.count);
	const int rounds = std::max_element(opts.hosts.begin(), opts.hosts.end(), [](const host &a, const host &b) {
				   return a.slots < b.slots;
			   })->slots;
	where.reserve(count);
	while (where.size() < count)
		for (int round = 0; round < (opts.map == map_by::node ? rounds : 1) && where.size() < count; round++)
			for (uint32_t h = 0; h < opts.hosts.size() && where.size() < count; h++) {
				const int slots = opts.hosts[h].slots;
				const int some = opts.map == map_by::node ? (round < slots ? 1 : 0) : slots;
				where.insert(where.end(), std::min(static_cast<size_t>(some), count - where.size()), h);
			}
	return where;
}

std::vector<int> split_hosts(int first, int last, int groups)
{
	std::vector<int> begins;
	const int count = last - first, parts = std::min(count, groups);
	for (int i = 0; i < parts; i++)
		begins.push_back(first + static_cast<int>(static_cast<long>(count) * i / parts));
	return begins;
}

} // namespace oshrun
