// SPDX-License-Identifier: BSD-3-Clause
//
// The hosts: two real ones, or two network namespaces of this machine (tests/hosts/fakehosts).
#include "hosts_pair.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace bench::hosts {

pair_of_hosts::~pair_of_hosts()
{
	if (!tool.empty())
		run_quietly({tool, "down"});
}

int pair_of_hosts::open(const std::string &hosts, const std::string &given_agent, const std::string &folder, int cpus)
{
	if (!hosts.empty()) {
		first = hosts.substr(0, hosts.find(','));
		second = hosts.substr(hosts.find(',') + 1);
		agent = given_agent.empty() ? "ssh -x" : given_agent;
		return 0;
	}
	const std::string tools = BENCH_SOURCE_DIR "/../tests/hosts";
	setenv("FAKEHOSTS_DIR", (folder + "/hosts").c_str(), 1);
	const words up{tools + "/fakehosts",    "up", "2", "--cpus", std::to_string(cpus), "--owner",
		       std::to_string(getpid())};
	if (const int status = system(shell_quoted(up).c_str()); status != 0)
		return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	tool = tools + "/fakehosts";
	here = {tool, "exec", first};
	agent = tools + "/agent";
	return 0;
}

bool pair_of_hosts::find_places(const std::string &program)
{
	words lines = output_lines(joined(joined({"/usr/bin/env"}, here), {program, "--where"}));
	places.assign(1, lines.empty() ? "" : lines[0]);
	lines = output_lines({"/bin/sh", "-c", agent + " " + second + " " + shell_quoted({program}) + " --where"});
	places.push_back(lines.empty() ? "" : lines[0]);
	for (size_t i = 0; i < 2; i++)
		if (places[i].empty()) {
			fprintf(stderr, "hosts_compare: nothing starts on %s\n", (i ? second : first).c_str());
			return false;
		}
	if (places[0] == places[1])
		fprintf(stderr, "hosts_compare: %s and %s are one host, %s: nothing to measure\n", first.c_str(),
			second.c_str(), places[0].c_str());
	return places[0] != places[1];
}

std::string pair_of_hosts::slots(int per_host) const
{
	const std::string count = ":" + std::to_string(per_host);
	return first + count + "," + second + count;
}

words pair_of_hosts::expected(int per_host) const
{
	words all(static_cast<size_t>(per_host), places[0]);
	all.insert(all.end(), static_cast<size_t>(per_host), places[1]);
	return all;
}

namespace {

words launch_words(const pair_of_hosts &pair, const std::string &top, const std::string &name, int per_host)
{
	const std::string slots = pair.slots(per_host), count = std::to_string(2 * per_host);
	words launch;
	if (name == "oshrun")
		launch = {top + "/launch/oshrun", "--launch-agent", pair.agent, "-H", slots, "-x",
			  "LD_LIBRARY_PATH",      "--bind",         "none"};
	else if (name == "hydra")
		launch = {"mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", pair.agent, "-hosts", slots};
	else
		launch = {"mpirun",
			  "--allow-run-as-root",
			  "--bind-to",
			  "none",
			  "--mca",
			  "plm_rsh_agent",
			  pair.agent,
			  "--host",
			  slots,
			  "-x",
			  "LD_LIBRARY_PATH"};
	return joined(launch, {"-n", count});
}

} // namespace

words our_launcher(const pair_of_hosts &pair, const std::string &top, const std::string &name, int per_host)
{
	for (const char *known : {"oshrun", "hydra", "mpirun"}) {
		if (!name.empty() && name != known)
			continue;
		const words command = joined(pair.here, launch_words(pair, top, known, per_host));
		if (run_quietly(joined({"timeout", "60"}, joined(command, {"true"})))) {
			fprintf(stderr, "hosts_compare: our programs are started by %s\n", known);
			return command;
		}
	}
	fprintf(stderr, "hosts_compare: no launcher starts our programs on both hosts\n");
	return {};
}

} // namespace bench::hosts
