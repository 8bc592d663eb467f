// SPDX-License-Identifier: BSD-3-Clause
//
// hosts_compare: how well this library uses the network between two hosts, next to raw TCP sockets, the messages of the
// libfabric provider below it, and Open MPI's OpenSHMEM, interleaved in one run: a table with the goals and whether
// they are reached, CSV and SVG. The hosts are two network namespaces of this machine (tests/hosts/fakehosts), or two
// real ones. What is not installed is omitted with a message. No pass or fail by speed: it exits 0 whenever the table
// was made, and 77 where there can be no hosts.
#include "hosts_compare.hpp"
#include "hosts_pair.hpp"

#include <algorithm>
#include <cstdlib>

namespace {

using namespace bench::hosts;
using bench::words;

struct arguments {
	std::string oshcc, hosts, agent, launcher, table;
	words nets, settings, per_host_texts;
	std::vector<int> per_host; // empty: one, and only the rows with goals
	bool alone = false, raw = false;
};

void add_options(bench::command_line &line, arguments &a)
{
	line.value("--hosts", "A,B",
		   "two real hosts, A this one; this build's files must be there too (default: made-up hosts)",
		   a.hosts);
	line.value("--agent", "COMMAND",
		   "what runs a command on another host, as ssh does (default: ssh -x, or that of the made-up hosts)",
		   a.agent);
	line.list("--net", "A,B,...",
		  "a column of ours for each of these values of FI_PGAS_NET (default: one, as it is set)", a.nets);
	line.list("--with", "NAME=VALUE,...",
		  "one more column of ours for each of these variables, such as FI_PGAS_NET_SIGN=1, and what it costs",
		  a.settings);
	line.list("--ppn", "N,M,...",
		  "so many PEs on each host, a table for each; with pairs of PEs and collectives by size (default: 1 "
		  "without them)",
		  a.per_host_texts);
	line.value("--launcher", "NAME",
		   "of our programs: oshrun, hydra or mpirun (default: the first that starts one on both)", a.launcher);
	line.value("--oshcc", "FILE",
		   "Open MPI's oshcc (default: oshcc.openmpi, or an oshcc in PATH that is Open MPI's)", a.oshcc);
	line.value("--from", "FILE",
		   "measure nothing: plot the table of one PE on each host that an earlier run printed", a.table);
	line.flag("--alone", "leave Open MPI out", a.alone);
	line.flag("--raw", "leave our library out: what the others reach here", a.raw);
}

// Whether the values are what they should be.
bool check_options(const bench::command_line &line, arguments &a)
{
	if (!a.table.empty() && (line.svg.empty() || !a.per_host_texts.empty()))
		return false; // a plot of that table is all that there can be
	for (const std::string &text : a.per_host_texts) {
		a.per_host.push_back(atoi(text.c_str()));
		if (a.per_host.back() < 1 || a.per_host.back() > 512)
			return false;
	}
	const auto no_setting = [](const std::string &one) { return one.find('=') == std::string::npos; };
	return std::ranges::none_of(a.settings, no_setting) &&
	       (a.hosts.empty() || a.hosts.find(',') != std::string::npos);
}

// A program whose client starts its server on the other host.
bench::column raw_column(const std::string &title, const std::string &file, const pair_of_hosts &hosts,
			 const char *group)
{
	bench::column c = bench::column_of(title, file, hosts.here);
	c.launcher = hosts.here;
	c.provider = hosts.agent + " " + hosts.second + " " + file + " serve";
	c.groups = {group};
	c.expected = hosts.places;
	return c;
}

// With one PE on each host: the rows in the order of the goals, after the rows that those are relative to. With
// several, or on request: those in which all PEs take part.
std::vector<bench::row> rows_of(const bench::command_line &line, const std::string &top, const std::string &program,
				int per_host, bool wants_all_pes)
{
	std::vector<bench::row> rows;
	const std::vector<bench::row> known = bench::list_rows({program, "--between-hosts"});
	if (per_host == 1) {
		rows = bench::list_rows({top + "/bench/rawtcp"});
		for (const bench::row &r : bench::list_rows({top + "/bench/rawofi"}))
			rows.push_back(r);
		for (const goal &g : kGoals)
			for (const bench::row &r : known)
				if (r.name == g.row && line.wants(r))
					rows.push_back(r);
	}
	for (const bench::row &r : known)
		if (wants_all_pes && line.wants(r) && (r.group == "pairs" || r.group.starts_with("hosts-")))
			rows.push_back(r);
	return rows;
}

// What is the same for all tables.
struct session {
	const bench::command_line &line;
	const arguments &args;
	std::string top, peer, ours{}, theirs{};
	bench::workshop shop{}; // has the state of the hosts, and so ends after them
	pair_of_hosts pair{};
};

// A column of a library without its launcher.
bench::column library_column(const session &s, const results &all, const std::string &program)
{
	bench::column c;
	c.program = program;
	c.extra = {"--between-hosts", "--where"};
	c.expected = s.pair.expected(all.per_host);
	for (const bench::row &r : all.rows)
		if (r.group != "raw" && r.group != "inner" && std::ranges::find(c.groups, r.group) == c.groups.end())
			c.groups.push_back(r.group);
	if (!s.pair.tool.empty())
		c.extra.emplace_back("--wired");
	// blocks of 8 MiB, and one of 256 KiB for each PE, twice, beside what every program has
	const int heap_mib = 64 + 2 * all.per_host;
	if (!all.rows_without_goals().empty())
		c.launcher = {"env", "SHMEM_SYMMETRIC_SIZE=" + std::to_string(heap_mib) + "M"};
	return c;
}

// Our library: a column for each network, and one more for each setting.
void add_our_columns(const session &s, results &all)
{
	const words launcher = our_launcher(s.pair, s.top, s.args.launcher, all.per_host);
	if (launcher.empty())
		return;
	const bench::column like = library_column(s, all, s.ours);
	const auto add = [&](const std::string &title, const words &start) {
		bench::column c = bench::column_of(title, s.ours, bench::joined(start, like.launcher));
		c.groups = like.groups, c.extra = like.extra, c.expected = like.expected;
		all.columns.push_back(c);
	};
	const auto add_with_settings = [&](const std::string &title, const words &start) {
		const size_t plain = all.columns.size();
		add(title, start);
		for (const std::string &setting : s.args.settings) {
			all.variants.push_back({all.columns.size(), plain, setting});
			add(title + " with " + setting, bench::joined(start, {"env", setting}));
		}
	};
	if (s.args.nets.empty())
		add_with_settings("pgas", launcher);
	for (const std::string &net : s.args.nets)
		add_with_settings("pgas, " + net, bench::joined(launcher, {"env", "FI_PGAS_NET=" + net}));
}

// Measures one table. Returns whether it has what it should have.
bool measure(const session &s, results &all)
{
	all.columns.push_back(raw_column("raw TCP", s.top + "/bench/rawtcp", s.pair, "raw"));
	all.columns.push_back(raw_column("libfabric", s.top + "/bench/rawofi", s.pair, "inner"));
	if (!s.args.raw)
		add_our_columns(s, all);
	if (!s.theirs.empty()) {
		peer found = best_openmpi(s.pair, s.peer, library_column(s, all, s.theirs), s.line.run, all.rows,
					  all.per_host);
		all.columns.insert(all.columns.end(), found.columns.begin(), found.columns.end());
		all.notes = found.notes;
		for (const std::string &note : found.notes)
			fprintf(stderr, "hosts_compare: %s\n", note.c_str());
	}
	bench::run(s.line.run, all.rows, all.columns);
	bool good = true;
	for (const bench::column &c : all.columns)
		if (!c.refusal.empty()) {
			fprintf(stderr, "hosts_compare: %s is not shown: %s\n", c.title.c_str(), c.refusal.c_str());
			good = good && c.program == s.theirs; // it is the peer's own fault
		} else if (c.restarts > 0) {
			all.notes.push_back(c.title + ": started again " + std::to_string(c.restarts) +
					    " times, since its program had ended without a result");
		}
	std::vector<bench::column> libraries;
	for (const bench::column *c : all.libraries())
		libraries.push_back(*c);
	bench::explain(all.rows, libraries, {"raw", "inner", "signal"}); // libraries before 1.5 have no signals
	return good && (!all.has_goals() || all.best_of(results::kRaw, "tcp_spin") > 0);
}

// Draws what an earlier run measured.
int draw_earlier(const session &s, results &all)
{
	if (read_earlier(s.args.table, all))
		return write_picture(s.line, all) ? 0 : 1;
	fprintf(stderr, "hosts_compare: %s is no table of one PE on each host\n", s.args.table.c_str());
	return 1;
}

int compare(session &s)
{
	s.ours = s.shop.folder + "/ours";
	if (!bench::compile(s.top + "/shmem/bin/oshcc", {}, s.ours))
		return 1;
	const std::vector<int> numbers = s.args.per_host.empty() ? std::vector<int>{1} : s.args.per_host;
	const int most = *std::ranges::max_element(numbers);
	std::vector<results> tables;
	for (const int per_host : numbers)
		tables.push_back(
			{per_host, rows_of(s.line, s.top, s.ours, per_host, !s.args.per_host.empty()), {}, {}, {}});
	if (s.line.lacks_rows())
		return 2;
	if (s.line.has_listed(tables[0].rows))
		return 0;
	if (!s.args.table.empty())
		return draw_earlier(s, tables[0]);
	if (const int status = s.pair.open(s.args.hosts, s.args.agent, s.shop.folder, std::max(2, most)); status != 0)
		return status;
	if (!s.pair.find_places(s.top + "/bench/rawtcp"))
		return 1;
	if (!s.peer.empty() && bench::compile(s.peer, {}, s.shop.folder + "/openmpi"))
		s.theirs = s.shop.folder + "/openmpi";
	else
		fprintf(stderr, "hosts_compare: %s\n",
			s.args.alone ? "Open MPI is left out" : "Open MPI's oshcc is not installed: left out");
	bool good = true;
	for (results &all : tables)
		good = measure(s, all) && good;
	return write_results(s.line, tables) && good ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
	arguments a;
	bench::command_line line(
		"hosts_compare [options]",
		"Measures raw TCP, this OpenSHMEM library and Open MPI's between two hosts, and compares "
		"them with the goals.",
		20000);
	add_options(line, a);
	if (const int status = line.parse(argc, argv); status >= 0)
		return status;
	if (!check_options(line, a))
		return line.reject();
	session s{line, a, bench::own_folder() + "/..", a.alone ? "" : bench::openmpi_compiler(a.oshcc)};
	for (const std::string &name : bench::clear_launcher_variables())
		fprintf(stderr, "hosts_compare: %s is ignored: it says how Open MPI starts and what it takes\n",
			name.c_str());
	bench::use_build_tree(s.top);
	return compare(s);
}
