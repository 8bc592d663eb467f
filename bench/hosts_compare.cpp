// SPDX-License-Identifier: BSD-3-Clause
//
// hosts_compare: how well this library uses the network between two hosts, next to raw TCP sockets, the messages of the
// libfabric provider below it, and Open MPI's OpenSHMEM, interleaved in one run: a table with the goals and whether
// they are reached, CSV and SVG. The hosts are two network namespaces of this machine (tests/hosts/fakehosts), or two
// real ones. What is not installed is omitted with a message. No pass or fail by speed: it exits 0 whenever the table
// was made, and 77 where there can be no hosts.
#include "hosts_compare.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace {

using namespace bench::hosts;
using bench::words;

struct arguments {
	std::string oshcc, hosts, agent, launcher;
	words nets, settings;
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
	line.value("--launcher", "NAME",
		   "of our programs: oshrun, hydra or mpirun (default: the first that starts one on both)", a.launcher);
	line.value("--oshcc", "FILE",
		   "Open MPI's oshcc (default: oshcc.openmpi, or an oshcc in PATH that is Open MPI's)", a.oshcc);
	line.flag("--alone", "leave Open MPI out", a.alone);
	line.flag("--raw", "leave our library out: what the others reach here", a.raw);
}

// Whether the values are what they should be.
bool check_options(const arguments &a)
{
	const auto no_setting = [](const std::string &one) { return one.find('=') == std::string::npos; };
	return std::ranges::none_of(a.settings, no_setting) &&
	       (a.hosts.empty() || a.hosts.find(',') != std::string::npos);
}

// The two hosts, and how to start programs on them.
struct pair_of_hosts {
	std::string first = "h1", second = "h2";
	words here;        // precedes a command that runs on the first host
	std::string agent; // precedes a host and a command
	std::string tool;  // that simulates them; empty: they are real

	pair_of_hosts() = default;
	pair_of_hosts(const pair_of_hosts &) = delete;
	pair_of_hosts &operator=(const pair_of_hosts &) = delete;
	~pair_of_hosts()
	{
		if (!tool.empty())
			bench::run_quietly({tool, "down"});
	}
	// 0, or the exit status
	int open(const arguments &a, const std::string &folder);
};

int pair_of_hosts::open(const arguments &a, const std::string &folder)
{
	if (!a.hosts.empty()) {
		first = a.hosts.substr(0, a.hosts.find(','));
		second = a.hosts.substr(a.hosts.find(',') + 1);
		agent = a.agent.empty() ? "ssh -x" : a.agent;
		return 0;
	}
	const std::string tools = BENCH_SOURCE_DIR "/../tests/hosts";
	setenv("FAKEHOSTS_DIR", (folder + "/hosts").c_str(), 1);
	const words up{tools + "/fakehosts", "up", "2", "--cpus", "2", "--owner", std::to_string(getpid())};
	if (const int status = system(bench::shell_quoted(up).c_str()); status != 0)
		return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	tool = tools + "/fakehosts";
	here = {tool, "exec", first};
	agent = tools + "/agent";
	return 0;
}

// The ways to start one process on each host: the words before the program.
words launch_words(const pair_of_hosts &hosts, const std::string &top, const std::string &name)
{
	const std::string both = hosts.first + ":1," + hosts.second + ":1";
	if (name == "oshrun")
		return {top + "/launch/oshrun",
			"--launch-agent",
			hosts.agent,
			"-H",
			both,
			"-x",
			"LD_LIBRARY_PATH",
			"-n",
			"2",
			"--bind",
			"none"};
	if (name == "hydra")
		return {"mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", hosts.agent, "-hosts", both, "-n", "2"};
	return {"mpirun",
		"--allow-run-as-root",
		"--bind-to",
		"none",
		"--mca",
		"plm_rsh_agent",
		hosts.agent,
		"--host",
		both,
		"-x",
		"LD_LIBRARY_PATH",
		"-n",
		"2"};
}

// The first that works; empty if none does.
words our_launcher(const arguments &a, const pair_of_hosts &hosts, const std::string &top)
{
	for (const char *name : {"oshrun", "hydra", "mpirun"}) {
		if (!a.launcher.empty() && a.launcher != name)
			continue;
		const words command = bench::joined(hosts.here, launch_words(hosts, top, name));
		if (bench::run_quietly(bench::joined({"timeout", "60"}, bench::joined(command, {"true"})))) {
			fprintf(stderr, "hosts_compare: our programs are started by %s\n", name);
			return command;
		}
	}
	fprintf(stderr, "hosts_compare: no launcher starts our programs on both hosts\n");
	return {};
}

words openmpi_words(const std::string &compiler, const pair_of_hosts &hosts)
{
	const words command = bench::openmpi_launcher(compiler);
	if (command.empty())
		return {};
	words launch = bench::joined(hosts.here, command);
	// Simulated hosts are one machine, which newer versions of UCX detect: they would use its memory.
	if (!hosts.tool.empty() && !getenv("UCX_TLS"))
		launch = bench::joined(launch, {"-x", "UCX_TLS=tcp,self"});
	return bench::joined(launch, {"--mca", "plm_rsh_agent", hosts.agent, "--host",
				      hosts.first + ":1," + hosts.second + ":1", "-n", "2"});
}

// A program whose client starts its server on the other host.
bench::column raw_column(const std::string &title, const std::string &file, const pair_of_hosts &hosts,
			 const char *group)
{
	bench::column c = bench::column_of(title, file, hosts.here);
	c.launcher = hosts.here;
	c.provider = hosts.agent + " " + hosts.second + " " + file + " serve";
	c.groups = {group};
	return c;
}

// The rows in the order of the goals, after the rows that those are relative to.
std::vector<bench::row> rows_of(const bench::command_line &line, const std::string &top, const std::string &program)
{
	std::vector<bench::row> rows = bench::list_rows({top + "/bench/rawtcp"});
	for (const bench::row &r : bench::list_rows({top + "/bench/rawofi"}))
		rows.push_back(r);
	const std::vector<bench::row> known = bench::list_rows({program, "--between-hosts"});
	for (const goal &g : kGoals)
		for (const bench::row &r : known)
			if (r.name == g.row && line.wants(r))
				rows.push_back(r);
	return rows;
}

int compare(const bench::command_line &line, const arguments &a, const std::string &top, const std::string &peer)
{
	const bench::workshop shop;
	const std::string ours = shop.folder + "/ours", theirs = shop.folder + "/openmpi";
	if (!bench::compile(top + "/shmem/bin/oshcc", {}, ours))
		return 1;
	results all;
	all.rows = rows_of(line, top, ours);
	if (line.has_listed(all.rows))
		return 0;
	pair_of_hosts hosts;
	if (const int status = hosts.open(a, shop.folder); status != 0)
		return status;
	all.columns.push_back(raw_column("raw TCP", top + "/bench/rawtcp", hosts, "raw"));
	all.columns.push_back(raw_column("libfabric", top + "/bench/rawofi", hosts, "inner"));
	words groups;
	for (const bench::row &r : all.rows)
		if (r.group != "raw" && r.group != "inner" && std::ranges::find(groups, r.group) == groups.end())
			groups.push_back(r.group);
	const auto library = [&](const char *title, const std::string &program, const words &launcher) {
		bench::column c = bench::column_of(title, program, launcher);
		c.groups = groups;
		c.extra = {"--between-hosts"};
		all.columns.push_back(c);
	};
	// One column, and one more for each setting.
	const auto our_library = [&](const std::string &title, const words &launcher) {
		const size_t plain = all.columns.size();
		library(title.c_str(), ours, launcher);
		for (const std::string &setting : a.settings) {
			all.variants.push_back({all.columns.size(), plain, setting});
			library((title + " with " + setting).c_str(), ours, bench::joined(launcher, {"env", setting}));
		}
	};
	if (!a.raw)
		if (const words launcher = our_launcher(a, hosts, top); !launcher.empty()) {
			if (a.nets.empty())
				our_library("pgas", launcher);
			for (const std::string &net : a.nets)
				our_library("pgas, " + net, bench::joined(launcher, {"env", "FI_PGAS_NET=" + net}));
		}
	if (const words launcher = peer.empty() ? words{} : openmpi_words(peer, hosts);
	    !launcher.empty() && bench::compile(peer, {}, theirs))
		library("Open MPI", theirs, launcher);
	else
		fprintf(stderr, "hosts_compare: %s\n",
			a.alone ? "Open MPI is left out" : "Open MPI's oshcc is not installed: left out");
	bench::run(line.run, all.rows, all.columns);
	std::vector<bench::column> libraries(all.columns.begin() + results::kFirstLibrary, all.columns.end());
	bench::explain(all.rows, libraries, {"raw", "inner", "signal"}); // libraries before 1.5 have no signals
	return write_results(line, all) && all.best_of(results::kRaw, "tcp_spin") > 0 ? 0 : 1;
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
	if (!check_options(a))
		return line.reject();
	const std::string top = bench::own_folder() + "/..";
	const std::string peer = a.alone ? "" : bench::openmpi_compiler(a.oshcc);
	bench::use_build_tree(top);
	return compare(line, a, top, peer);
}
