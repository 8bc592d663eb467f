// SPDX-License-Identifier: BSD-3-Clause
//
// Reporting of races. Each PE keeps a list of pairs of places with the first occurrence of each; at the end the
// collector reads the lists of all PEs, merges equal pairs, and reports them as text and, on request, as JSON. A job
// that found a race does not end with status 0.
#include "race_state.hpp"

#include "tool_lines.hpp"
#include "tool_report.hpp"
#include "tool_symbols.hpp"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <map>
#include <string>

namespace pgas_tools::race {

void record_race(const access &mine, const cell &other, int target, uint64_t offset, uint64_t bytes)
{
	room_head *h = head_of_mine();
	auto *list = reinterpret_cast<race_entry *>(c.mine + c.place.races);
	for (uint32_t i = 0; i < h->races_used; i++) {
		race_entry &r = list[i];
		if (r.my_site == mine.site && r.other_site == other.site && r.other_pe == other.pe &&
		    r.mine == mine.what && r.other == static_cast<kind>(other.what)) {
			r.count++;
			return;
		}
	}
	if (h->races_used == kRaces) {
		h->races_left_out++;
		return;
	}
	race_entry &r = list[h->races_used];
	r = {mine.site,
	     other.site,
	     other.pe,
	     static_cast<uint32_t>(target),
	     mine.what,
	     static_cast<kind>(other.what),
	     static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX)),
	     0,
	     offset,
	     1,
	     "",
	     ""};
	const place_name name = offset == kPrivate ? place_name{"memory of its own", ""} : name_place(offset);
	snprintf(r.what, sizeof r.what, "%s", name.object.c_str());
	if (name.declared.size() < sizeof r.declared) // a part of it would be another place
		snprintf(r.declared, sizeof r.declared, "%s", name.declared.c_str());
	pgas_store_relaxed(&h->races_used, h->races_used + 1); // read when all have left, or when the job ends early
}

namespace {

struct place {
	std::string module;
	uint64_t offset = 0;
	uint32_t call = 0;
	auto operator<=>(const place &) const = default;
};
struct side {
	place spot;
	kind what;
	int pe;
	auto operator<=>(const side &o) const
	{
		const auto by_place = spot <=> o.spot;
		return by_place != 0 ? by_place : what <=> o.what;
	}
	bool operator==(const side &o) const { return spot == o.spot && what == o.what; }
};
struct pair_of_places {
	side a, b;
	int target;
	uint64_t offset, bytes, count;
	std::string what, declared;
};

struct summary {
	std::vector<pair_of_places> pairs;
	uint64_t checked = 0, left_out = 0, pages = 0, cells = 0, words = 0;
	int pes = 0;
};

struct pe_tables {
	room_head head;
	std::vector<site> sites;
	std::vector<char> modules;
	std::vector<race_entry> races;
};

bool read_pe(int pe, pe_tables &t)
{
	read_room(pe, c.place.head, &t.head, sizeof t.head);
	if (t.head.magic != kRaceMagic)
		return false;
	t.sites.resize(std::min(t.head.sites_used, kSites));
	t.modules.resize(size_t{kModules} * kModuleBytes);
	t.races.resize(std::min(t.head.races_used, kRaces));
	read_room(pe, c.place.modules, t.modules.data(), t.modules.size());
	if (!t.sites.empty())
		read_room(pe, c.place.sites, t.sites.data(), t.sites.size() * sizeof(site));
	if (!t.races.empty())
		read_room(pe, c.place.races, t.races.data(), t.races.size() * sizeof(race_entry));
	return true;
}

place place_of(const pe_tables &t, uint32_t number)
{
	if (number == 0 || number >= t.sites.size())
		return {};
	const site &s = t.sites[number];
	const char *module = s.module < kModules ? &t.modules[size_t{s.module} * kModuleBytes] : "";
	return {std::string(module, strnlen(module, kModuleBytes)), s.offset, s.call};
}

void add(summary &sum, pair_of_places now)
{
	if (now.b < now.a)
		std::swap(now.a, now.b);
	for (pair_of_places &old : sum.pairs)
		if (old.a == now.a && old.b == now.b) {
			old.count += now.count;
			return;
		}
	sum.pairs.push_back(std::move(now));
}

summary gather(bool near_only)
{
	summary sum;
	std::map<int, pe_tables> all;
	for (int pe = 0; pe < c.n_pes; pe++) {
		pe_tables t;
		if ((near_only && !c.near[static_cast<size_t>(pe)]) || !read_pe(pe, t))
			continue;
		sum.pes++;
		sum.checked += t.head.checked;
		sum.left_out += t.head.races_left_out;
		sum.pages += t.head.pages_forgotten;
		sum.cells += t.head.cells_forgotten;
		sum.words += t.head.words_forgotten;
		all.emplace(pe, std::move(t));
	}
	for (const auto &[pe, t] : all)
		for (const race_entry &r : t.races) {
			const auto there = all.find(static_cast<int>(r.other_pe));
			const place other = there == all.end() ? place{} : place_of(there->second, r.other_site);
			add(sum, {{place_of(t, r.my_site), r.mine, pe},
				  {other, r.other, static_cast<int>(r.other_pe)},
				  static_cast<int>(r.target),
				  r.offset,
				  r.bytes,
				  r.count,
				  std::string(r.what, strnlen(r.what, sizeof r.what)),
				  std::string(r.declared, strnlen(r.declared, sizeof r.declared))});
		}
	return sum;
}

// --- as text ---------------------------------------------------------------------------------------------------------

struct resolved {
	std::string function, line, module;
};

// The call precedes its return address.
resolved resolve(const place &p)
{
	resolved r;
	if (p.module.empty() || !p.offset)
		return r;
	uint64_t within = 0;
	r.function = function_at(p.module.c_str(), 0, p.offset - 1, within);
	r.line = line_at(p.module.c_str(), p.offset - 1);
	char item[32];
	snprintf(item, sizeof item, "+%#" PRIx64, p.offset - 1);
	r.module = p.module.substr(p.module.rfind('/') + 1) + item;
	return r;
}

const char *word_of(kind k)
{
	static const char *const words[] = {"?", "reads", "writes", "reads atomically", "writes atomically"};
	return words[static_cast<uint32_t>(k) < 5 ? static_cast<uint32_t>(k) : 0];
}

void print_side(FILE *out, const side &s)
{
	const resolved r = resolve(s.spot);
	fprintf(out, "  PE %d %s: %s", s.pe, word_of(s.what), s.spot.module.empty() ? "?" : call_text(s.spot.call));
	if (!r.function.empty())
		fprintf(out, " in %s", r.function.c_str());
	if (!r.line.empty())
		fprintf(out, " at %s", r.line.c_str());
	else if (!r.module.empty())
		fprintf(out, " at %s", r.module.c_str());
	fputc('\n', out);
}

void print_text(FILE *out, const summary &sum, const char *early)
{
	size_t number = 0;
	for (const pair_of_places &p : sum.pairs) {
		fprintf(out, "SHMEM race %zu of %zu, seen %s: nothing orders these two\n", ++number, sum.pairs.size(),
			p.count == 1 ? "once" : (std::to_string(p.count) + " times").c_str());
		print_side(out, p.a);
		print_side(out, p.b);
		fprintf(out, "  both at PE %d: %" PRIu64 " byte%s, %s", p.target, p.bytes, p.bytes == 1 ? "" : "s",
			p.what.c_str());
		fputs(p.declared.empty() ? "\n" : (" (" + p.declared + ")\n").c_str(), out);
	}
	fprintf(out, "SHMEM race check%s: ", early);
	if (sum.pairs.empty())
		fputs("no race", out);
	else
		fprintf(out, "%zu race%s", sum.pairs.size(), sum.pairs.size() == 1 ? "" : "s");
	fprintf(out, "; %" PRIu64 " accesses of %d PEs", sum.checked, sum.pes);
	if (sum.pages || sum.cells || sum.words)
		fprintf(out, "; forgotten for want of room: %" PRIu64 " pages, %" PRIu64 " accesses, %" PRIu64 " words",
			sum.pages, sum.cells, sum.words);
	if (sum.left_out)
		fprintf(out, "; %" PRIu64 " more pairs were left out", sum.left_out);
	fputc('\n', out);
	fflush(out);
}

// --- as JSON ---------------------------------------------------------------------------------------------------------

void write_side(pgas::json_writer &out, const char *name, const side &s)
{
	const resolved r = resolve(s.spot);
	const size_t colon = r.line.rfind(':');
	const bool has_line = colon != std::string::npos;
	out.line().key(name).begin_object().member("pe", s.pe).member("access", word_of(s.what));
	out.member("call", s.spot.module.empty() ? "" : call_text(s.spot.call)).member("function", r.function);
	out.member("file", has_line ? r.line.substr(0, colon) : std::string()).key("line");
	has_line ? out.value(atoi(r.line.c_str() + colon + 1)) : out.null();
	out.member("address", r.module).end_object();
}

void write_json(const char *path, const summary &sum)
{
	FILE *out = fopen(path, "w");
	if (!out) {
		fprintf(stderr, "PE %d: race check: cannot write %s: %s\n", c.me, path, strerror(errno));
		return;
	}
	pgas::json_writer json;
	json.begin_object().line().member("pes", sum.pes).member("accesses", sum.checked).key("forgotten");
	json.begin_object().member("pages", sum.pages).member("accesses", sum.cells).member("words", sum.words);
	json.end_object().line().key("races").begin_array();
	for (const pair_of_places &p : sum.pairs) {
		json.line().begin_object().member("count", p.count).member("target", p.target);
		json.member("bytes", p.bytes).member("where", p.what);
		json.member("declared", p.declared);
		write_side(json, "first", p.a);
		write_side(json, "second", p.b);
		json.end_object();
	}
	json.line().end_array().line().end_object();
	fputs(json.take().c_str(), out);
	const bool failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed)
		fprintf(stderr, "PE %d: race check: cannot write %s: %s\n", c.me, path, strerror(errno));
}

// --- the exit status -------------------------------------------------------------------------------------------------

constexpr int kFoundStatus = 66; // as in similar tools
// PEs of this host, which may still have something to report after finalize. Never freed: exit needs it after all
// destructors.
std::vector<pid_t> *g_others = nullptr;

void on_exit_found(int status, void *)
{
	if (!g_others || status != 0)
		return;
	fflush(nullptr);
	// a launcher ends the job at the first PE that fails: let the others reach their own ends
	const timespec nap = {0, 1'000'000};
	for (int i = 0; i < 2000; i++) {
		std::erase_if(*g_others, [](pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; });
		if (g_others->empty())
			break;
		nanosleep(&nap, nullptr);
	}
	_exit(kFoundStatus);
}

// Registered before main, so that it runs after everything that the program registers.
__attribute__((constructor)) void register_exit()
{
	on_exit(on_exit_found, nullptr);
}

void note_found()
{
	if (!g_others)
		g_others = new std::vector<pid_t>;
	g_others->clear();
	for (int pe = 0; pe < c.n_pes; pe++)
		if (pe != c.me && c.near[static_cast<size_t>(pe)])
			g_others->push_back(static_cast<pid_t>(
				reinterpret_cast<room_head *>(c.near[static_cast<size_t>(pe)] + c.place.head)->pid));
}

const char *json_path()
{
	const char *colon = strchr(g.wish.check, ':');
	return colon && colon[1] ? colon + 1 : nullptr;
}

} // namespace

void report(bool early)
{
	const summary sum = gather(early);
	print_text(stderr, sum, early ? ", up to the early end of the job" : "");
	if (json_path())
		write_json(json_path(), sum);
	if (!sum.pairs.empty() && !early)
		note_found();
}

} // namespace pgas_tools::race
