// SPDX-License-Identifier: BSD-3-Clause
// oshrun_opts.cpp: the command line. Options have the names that mpirun and mpiexec users know; options that make no
// difference here are accepted.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "oshrun_hosts.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

namespace oshrun {
namespace {

constexpr const char *kHelp =
	"Usage: oshrun [options] [--] program [args] [ : [options] program [args] ]...\n"
	"Start the PEs of an OpenSHMEM or GASNet job, on this machine or on several hosts.\n"
	"\n"
	"  -n, -np, -c N            number of PEs to start (default 1; with hosts: all slots)\n"
	"  -H, --host LIST          hosts and their slots: a:2,b:2; default: those of a Slurm or\n"
	"                           PBS allocation, else this machine\n"
	"  --hostfile FILE          lines of: host, host:N or host slots=N\n"
	"  --rankfile FILE          lines of: rank N=host slot=CPUs; where each PE goes\n"
	"  --ppn N                  N slots on each host\n"
	"  --map-by slot|node       fill one host after the other, or take turns\n"
	"  --oversubscribe          more PEs than slots are wanted\n"
	"  --launch-agent \"COMMAND\" how to run a command on a host, which is %h or comes last\n"
	"                           (default ssh -x -o BatchMode=yes)\n"
	"  --tree N                 hosts that one host starts (default 16)\n"
	"  --host-timeout SECONDS   a host may be out of reach for so long (default 30, or\n"
	"                           FI_PGAS_PEER_TIMEOUT if that is more)\n"
	"  --bind-to, --bind WHAT   core, hwthread or none; default: one PE per core if they\n"
	"                           all fit and there is more than one, else none\n"
	"  --report-bindings        say which PE runs on which CPUs\n"
	"  --tag-output             begin each line with [1,PE]<stdout>: or [1,PE]<stderr>:\n"
	"  --output-filename DIR    what PE n writes goes also to DIR/pe-n.out and DIR/pe-n.err\n"
	"  --stdin PE|none          which PE gets standard input (default 0)\n"
	"  -x NAME[=VALUE]          pass or set a variable in the environment of the PEs\n"
	"  --wdir, -wd DIR          start the PEs in this directory\n"
	"  --no-aslr                switch address space randomisation off in the PEs\n"
	"  --timeout SECONDS        end the job after this time; exit status 124\n"
	"  --grace SECONDS          time between SIGTERM and SIGKILL when a job ends (default 2)\n"
	"  --gdb                    run each PE under gdb and print a backtrace if it crashes\n"
	"  --stats[=DIR]            count calls, bytes and time, print a table at the end; in DIR\n"
	"                           stats.json and stats.svg\n"
	"  --trace FILE             write a timeline of all PEs, for ui.perfetto.dev\n"
	"  --hang-after SECONDS     when a PE is in one call for so long, and at SIGUSR1: say\n"
	"                           where all PEs are, with backtraces\n"
	"  --check race[:FILE]      search for accesses to symmetric memory that nothing orders, say\n"
	"                           where they are, in FILE as JSON; exit status 66 if there are any\n"
	"  --attach PE              that PE waits at its start until a debugger is attached\n"
	"  --xterm                  each PE in an xterm; with --gdb: gdb in it, to work with\n"
	"  --valgrind               run each PE under valgrind\n"
	"  --debugger \"COMMAND\"     put COMMAND and its arguments before each program\n"
	"  --pmix, --no-pmix        offer a PMIx server to the PEs, or do not; default: unless\n"
	"                           the program plainly has no use for one\n"
	"  --progress               say how many PEs have joined and ended, as it changes\n"
	"  -v, --verbose            say what is started, how it ends, and how long it took\n"
	"  -h, --help               this text\n"
	"  -V, --version            version\n"
	"\n"
	"The exit status is that of the first PE that fails,\n"
	"128 + signal if a signal ended it, 0 if none failed. A PE that fails ends the job.\n";

constexpr const char *kHosts[] = {"-host", "-H", "-hosts"};
constexpr const char *kHostFiles[] = {"-hostfile", "-machinefile", "-f"};
constexpr const char *kPerHost[] = {"-ppn", "-N", "-npernode"};

struct cursor {
	int argc;
	char **argv;
	int index;
	const char *value = nullptr; // of --name=value
	std::string typed = {};      // the option as the user wrote it, for messages
};

// "--name" and "-name" are the same, as in mpirun; "--name=value" is split.
bool is(const std::string &option, const char *name)
{
	return option == name;
}

const char *take(cursor &input)
{
	if (input.value)
		return std::exchange(input.value, nullptr);
	if (input.index + 1 < input.argc)
		return input.argv[++input.index];
	say("option %s needs a value; see oshrun --help", input.typed.c_str());
	return nullptr;
}

bool parse_number(const char *text, double low, double high, double &out)
{
	char *end;
	errno = 0;
	out = strtod(text, &end);
	return end != text && !*end && !errno && out >= low && out <= high;
}

bool take_seconds(cursor &input, double low, double high, double &out)
{
	const char *text = take(input);
	if (!text || parse_number(text, low, high, out))
		return text != nullptr;
	say("%s %s: expected a number from %.15g to %.15g", input.typed.c_str(), text, low, high);
	return false;
}

bool take_count(cursor &input, int &out)
{
	constexpr int most = 1 << 20;
	const char *text = take(input);
	double value;
	if (text && parse_number(text, 1, most, value) && value == std::floor(value)) {
		out = static_cast<int>(value);
		return true;
	}
	if (text)
		say("%s %s: expected a whole number from 1 to %d", input.typed.c_str(), text, most);
	return false;
}

bool take_bind(cursor &input, options &opts)
{
	const char *text = take(input);
	if (!text)
		return false;
	std::string what = text;
	if (what == "none")
		opts.bind = bind_to::none;
	else if (what == "core")
		opts.bind = bind_to::core;
	else if (what == "hwthread")
		opts.bind = bind_to::hwthread;
	else {
		say("%s %s: expected core, hwthread or none", input.typed.c_str(), text);
		return false;
	}
	return true;
}

bool take_variable(cursor &input, app &program)
{
	const char *text = take(input);
	if (!text)
		return false;
	std::string assignment = text;
	if (assignment.empty() || assignment[0] == '=') {
		say("-x %s: expected NAME or NAME=VALUE", text);
		return false;
	}
	if (assignment.find('=') == std::string::npos) {
		const char *value = getenv(text);
		if (!value) {
			say("-x %s: not set here, so not set in the PEs", text);
			return true;
		}
		assignment += std::string("=") + value;
	}
	program.set_env.push_back(assignment);
	return true;
}

template <size_t Count>
bool among(const std::string &option, const char *const (&list)[Count])
{
	for (const char *name : list)
		if (option == name)
			return true;
	return false;
}

bool take_text(cursor &input, std::string &out)
{
	const char *text = take(input);
	out = text ? text : "";
	return text != nullptr;
}

bool take_map(cursor &input, options &opts)
{
	std::string what;
	if (!take_text(input, what))
		return false;
	opts.map = what == "slot" ? map_by::slot : what == "node" ? map_by::node : map_by::other;
	return true;
}

// Which hosts, and how to reach them. Returns false if the option is not one of these.
bool parse_host_option(const std::string &option, cursor &input, options &opts, bool &good)
{
	if (among(option, kHosts))
		good = take_text(input, opts.host_lists.emplace_back());
	else if (among(option, kHostFiles))
		good = take_text(input, opts.host_files.emplace_back());
	else if (among(option, kPerHost))
		good = take_count(input, opts.ppn);
	else if (is(option, "-map-by"))
		good = take_map(input, opts);
	else if (is(option, "-oversubscribe"))
		opts.oversubscribe = true;
	else if (is(option, "-rankfile") || is(option, "-rf"))
		good = take_text(input, opts.rankfile);
	else if (is(option, "-launch-agent"))
		good = take_text(input, opts.launch_agent);
	else if (is(option, "-tree"))
		good = take_count(input, opts.tree);
	else if (is(option, "-host-timeout"))
		good = take_seconds(input, 1, 1e6, opts.host_timeout_s);
	else
		return false;
	return true;
}

// Needed because PEs may have another working directory.
std::string absolute(const char *path)
{
	char here[PATH_MAX];
	return path[0] != '/' && getcwd(here, sizeof here) ? std::string(here) + "/" + path : path;
}

// What OpenSHMEM's library does by itself, if told to. Returns false if the option is not one of these.
bool parse_tool_option(const std::string &option, cursor &input, options &opts, bool &good)
{
	if (is(option, "-stats")) {
		const char *dir = std::exchange(input.value, nullptr);
		good = !dir || *dir;
		if (!good)
			say("--stats=: expected a folder, or --stats alone");
		opts.tool_env.push_back("SHMEM_STATS=" + (dir ? absolute(dir) : std::string("1")));
	} else if (is(option, "-trace")) {
		const char *file = take(input);
		good = file && *file;
		if (file && !*file)
			say("--trace: expected a file");
		opts.tool_env.push_back("SHMEM_TRACE=" + (good ? absolute(file) : std::string()));
	} else if (is(option, "-hang-after")) {
		double seconds = 0;
		good = take_seconds(input, 0.001, 1e9, seconds);
		opts.tool_env.push_back("SHMEM_HANG_AFTER=" + std::to_string(seconds));
	} else if (is(option, "-check")) {
		const char *text = take(input);
		const std::string what = text ? text : "";
		good = what == "race" || (what.size() > 5 && what.compare(0, 5, "race:") == 0);
		if (text && !good)
			say("--check %s: expected race or race:FILE", text);
		const std::string file = what.size() > 5 ? ":" + absolute(what.c_str() + 5) : "";
		opts.tool_env.push_back("SHMEM_CHECK=race" + file);
	} else
		return false;
	return true;
}

// What a program is started with.
struct wrapper {
	strings words; // of --debugger and the like
	bool gdb = false, xterm = false, debugger = false;
};

strings words_before(const wrapper &around)
{
	strings words = around.words;
	if (around.gdb && around.xterm)
		words = {"gdb", "-q", "--args"};
	else if (around.gdb)
		words = {"gdb",
			 "-q",
			 "-nx",
			 "-batch",
			 "-return-child-result",
			 "-ex",
			 "run",
			 "-ex",
			 "thread apply all bt",
			 "--args"};
	const strings terminal = {"xterm", "-e", "sh", "-c",
				  "printf '\\033]0;PE %s\\007' \"$OSHRUN_RANK\"; exec \"$0\" \"$@\""};
	if (around.xterm)
		words.insert(words.begin(), terminal.begin(), terminal.end());
	return words;
}

bool take_pe(cursor &input, int &pe, bool may_be_none)
{
	const char *text = take(input);
	double value;
	if (!text)
		return false;
	if (may_be_none && strcmp(text, "none") == 0) {
		pe = -1;
		return true;
	}
	if (!parse_number(text, 0, (1 << 20) - 1, value) || value != std::floor(value)) {
		say("%s %s: expected the number of a PE%s", input.typed.c_str(), text, may_be_none ? " or none" : "");
		return false;
	}
	pe = static_cast<int>(value);
	return true;
}

// Debugging PEs: debuggers and standard streams. Returns false if the option is not one of these.
bool parse_debug_option(const std::string &option, cursor &input, options &opts, wrapper &around, bool &good)
{
	if (is(option, "-gdb"))
		around.gdb = true;
	else if (is(option, "-xterm"))
		around.xterm = true;
	else if (is(option, "-valgrind"))
		around.words = {"valgrind", "-q"};
	else if (is(option, "-debugger")) {
		const char *text = take(input);
		good = text != nullptr;
		around.debugger = true;
		around.words.clear();
		add_words(around.words, text ? text : "");
	} else if (is(option, "-attach"))
		good = take_pe(input, opts.attach_pe, false);
	else if (is(option, "-stdin"))
		good = take_pe(input, opts.stdin_pe, true);
	else if (is(option, "-output-filename")) {
		const char *dir = take(input);
		good = dir && *dir;
		if (dir && !*dir)
			say("--output-filename: expected a folder");
		opts.output_dir = good ? dir : "";
	} else
		return false;
	return true;
}

// Takes the option at input.index. Returns -1 to continue, otherwise the exit code.
int parse_one(cursor &input, options &opts, app &program, wrapper &around)
{
	std::string option = input.argv[input.index] + (strncmp(input.argv[input.index], "--", 2) == 0 ? 1 : 0);
	input.value = nullptr;
	input.typed = input.argv[input.index];
	if (size_t equals = option.find('=');
	    equals != std::string::npos && strncmp(input.argv[input.index], "--", 2) == 0) {
		input.value = strchr(input.argv[input.index], '=') + 1;
		option.resize(equals);
		input.typed.resize(equals + 1);
	}
	bool good = true;
	if (is(option, "-n") || is(option, "-np") || is(option, "-c"))
		good = take_count(input, program.count);
	else if (is(option, "-bind-to") || is(option, "-bind"))
		good = take_bind(input, opts);
	else if (is(option, "-report-bindings"))
		opts.report_bindings = true;
	else if (is(option, "-aslr") || is(option, "-no-aslr"))
		opts.aslr = is(option, "-aslr");
	else if (is(option, "-tag-output"))
		opts.tag_output = true;
	else if (is(option, "-x"))
		good = take_variable(input, program);
	else if (is(option, "-wdir") || is(option, "-wd")) {
		const char *text = take(input);
		good = text != nullptr;
		program.wdir = text ? text : "";
	} else if (is(option, "-timeout"))
		good = take_seconds(input, 0.001, 1e9, opts.timeout_s);
	else if (is(option, "-grace"))
		good = take_seconds(input, 0, 1e6, opts.grace_s);
	else if (is(option, "-pmix"))
		opts.pmix = pmix_mode::enabled;
	else if (is(option, "-no-pmix"))
		opts.pmix = pmix_mode::disabled;
	else if (is(option, "-progress"))
		opts.progress = true;
	else if (is(option, "-v") || is(option, "-verbose"))
		opts.verbose = true;
	else if (is(option, "-h") || is(option, "-help")) {
		fputs(kHelp, stdout);
		return 0;
	} else if (is(option, "-V") || is(option, "-version")) {
		puts("oshrun " PACKAGE_VERSION);
		return 0;
	} else if (is(option, "-mca"))
		input.index += 2;
	else if (!parse_host_option(option, input, opts, good) && !parse_tool_option(option, input, opts, good) &&
		 !parse_debug_option(option, input, opts, around, good) && !is(option, "-allow-run-as-root")) {
		say("unknown option %s; see oshrun --help", input.argv[input.index]);
		return kExitUsage;
	}
	if (good && input.value) {
		say("option %s takes no value", input.typed.c_str());
		good = false;
	}
	return good ? -1 : kExitUsage;
}

constexpr double kHostTimeout = 30;
constexpr const char *kPeerTimeout = "FI_PGAS_PEER_TIMEOUT=";

// Calls `use` for each value that the user gives a variable: in the environment and with every -x.
template <class Use>
void each_value(const options &opts, const std::string &assignment, Use &&use)
{
	if (const char *value = getenv(assignment.substr(0, assignment.size() - 1).c_str()))
		use(value);
	for (const app &program : opts.apps)
		for (const std::string &entry : program.set_env)
			if (entry.compare(0, assignment.size(), assignment) == 0)
				use(entry.c_str() + assignment.size());
}

// A user who lets PEs wait long for their peers gets the same patience with hosts. A debugger stops PEs, which their
// peers on other hosts must not take for their end. It does not stop agents.
void settle_patience(options &opts, bool debugged)
{
	bool said = false;
	double peers = 0;
	each_value(opts, kPeerTimeout, [&](const char *text) {
		double value = 0;
		said = true;
		if (parse_number(text, 0, 1e6, value))
			peers = std::max(peers, value);
	});
	if (opts.host_timeout_s == 0)
		opts.host_timeout_s = std::max(kHostTimeout, peers);
	if (debugged && !said)
		opts.tool_env.push_back(std::string(kPeerTimeout) + "3600");
}

} // namespace

int parse_options(int argc, char **argv, options &opts)
{
	cursor input = {argc, argv, 1};
	bool more = true, debugged = false;
	while (more) {
		app program;
		wrapper around;
		for (; input.index < argc && argv[input.index][0] == '-' && argv[input.index][1]; input.index++) {
			if (strcmp(argv[input.index], "--") == 0) {
				input.index++;
				break;
			}
			int rc = parse_one(input, opts, program, around);
			if (rc >= 0)
				return rc;
		}
		const strings before = words_before(around);
		if (around.xterm && !getenv("DISPLAY")) {
			say("--xterm: DISPLAY is not set, so there is no screen to show it on");
			return kExitUsage;
		}
		debugged |= around.debugger || around.gdb;
		program.argv = before;
		for (; input.index < argc && strcmp(argv[input.index], ":") != 0; input.index++)
			program.argv.push_back(argv[input.index]);
		if (program.argv.size() == before.size()) {
			say("no program to start; usage: oshrun -n N program [args]");
			return kExitUsage;
		}
		more = input.index++ < argc; // there is a colon
		opts.apps.push_back(program);
	}
	if (opts.apps.size() > 1 || opts.apps[0].count > 0)
		for (app &program : opts.apps)
			opts.count += program.count = std::max(program.count, 1);
	settle_patience(opts, debugged || opts.attach_pe >= 0);
	if (opts.attach_pe >= 0)
		opts.tool_env.push_back("PGAS_BOOT_ATTACH=" + std::to_string(opts.attach_pe));
	for (app &program : opts.apps) // -x of the user is added later, and wins
		program.set_env.insert(program.set_env.begin(), opts.tool_env.begin(), opts.tool_env.end());
	if (int rc = find_hosts(opts); rc >= 0)
		return rc;
	for (auto [name, pe] : {std::pair("--stdin", opts.stdin_pe), std::pair("--attach", opts.attach_pe)})
		if (pe >= opts.count) {
			say("%s %d: there are %d PEs", name, pe, opts.count);
			return kExitUsage;
		}
	if (opts.hosts.empty()) // on other hosts the agents search for it
		for (app &program : opts.apps)
			if (int rc = resolve(program))
				return rc;
	return -1;
}

} // namespace oshrun
