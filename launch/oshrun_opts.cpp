// SPDX-License-Identifier: BSD-3-Clause
// oshrun_opts.cpp: the command line. Options have the names that mpirun and mpiexec users know; options that make no
// difference here are accepted.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "launch_words.hpp"
#include "oshrun_hosts.hpp"

#include <pgas/pgas_variables.hpp>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <variant>

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

using launch::cursor, launch::parse_number, launch::take;

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

bool take_text(cursor &input, std::string &out)
{
	const char *text = take(input);
	out = text ? text : "";
	return text != nullptr;
}

// Needed because PEs may have another working directory.
std::string absolute(const char *path)
{
	char here[PATH_MAX];
	return path[0] != '/' && getcwd(here, sizeof here) ? std::string(here) + "/" + path : path;
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

// --- options that are more than a value ------------------------------------------------------------------------------

// What the options of one program change: everything for the job, and what is for that program.
struct command {
	options &opts;
	app program = {};
	wrapper around = {};
};

bool take_bind(cursor &input, command &cmd)
{
	std::string text;
	if (!take_text(input, text))
		return false;
	for (auto [word, value] : {std::pair("none", bind_to::none), std::pair("core", bind_to::core),
				   std::pair("hwthread", bind_to::hwthread)})
		if (text == word) {
			cmd.opts.bind = value;
			return true;
		}
	say("%s %s: expected core, hwthread or none", input.typed.c_str(), text.c_str());
	return false;
}

bool take_map(cursor &input, command &cmd)
{
	std::string text;
	if (!take_text(input, text))
		return false;
	cmd.opts.map = text == "slot" ? map_by::slot : text == "node" ? map_by::node : map_by::other;
	if (cmd.opts.map != map_by::other)
		return true;
	for (const char *known :
	     {"core", "hwthread", "numa", "package", "socket", "board", "l1cache", "l2cache", "l3cache"})
		if (text == known)
			return true; // of mpirun; with several hosts it is refused later
	say("%s %s: expected slot or node (or a part of a host, as for mpirun, which makes no difference on one host: "
	    "core, numa, socket, ...)",
	    input.typed.c_str(), text.c_str());
	return false;
}

// A value that must not be empty.
bool take_path(cursor &input, const char *error, std::string &out)
{
	if (!take_text(input, out))
		return false;
	if (out.empty())
		say("%s", error);
	return !out.empty();
}

bool take_output_dir(cursor &input, command &cmd)
{
	return take_path(input, "--output-filename: expected a folder", cmd.opts.output_dir);
}

// The options that follow are settings of OpenSHMEM's library.
bool take_stats(cursor &input, command &cmd)
{
	const char *dir = std::exchange(input.value, nullptr);
	if (dir && !*dir) {
		say("--stats=: expected a folder, or --stats alone");
		return false;
	}
	cmd.opts.tool_env.push_back("SHMEM_STATS=" + (dir ? absolute(dir) : std::string("1")));
	return true;
}

bool take_trace(cursor &input, command &cmd)
{
	std::string file;
	if (!take_path(input, "--trace: expected a file", file))
		return false;
	cmd.opts.tool_env.push_back("SHMEM_TRACE=" + absolute(file.c_str()));
	return true;
}

bool take_hang(cursor &input, command &cmd)
{
	double seconds = 0;
	if (!take_seconds(input, 0.001, 1e9, seconds))
		return false;
	cmd.opts.tool_env.push_back("SHMEM_HANG_AFTER=" + std::to_string(seconds));
	return true;
}

bool take_check(cursor &input, command &cmd)
{
	std::string text;
	if (!take_text(input, text))
		return false;
	if (text != "race" && (text.size() <= 5 || text.compare(0, 5, "race:") != 0)) {
		say("--check %s: expected race or race:FILE", text.c_str());
		return false;
	}
	const std::string file = text.size() > 5 ? ":" + absolute(text.c_str() + 5) : "";
	cmd.opts.tool_env.push_back("SHMEM_CHECK=race" + file);
	return true;
}

bool take_debugger(cursor &input, command &cmd)
{
	std::string text;
	cmd.around.debugger = true;
	cmd.around.words.clear();
	if (!take_text(input, text))
		return false;
	add_words(cmd.around.words, text);
	return true;
}

// --- all options -----------------------------------------------------------------------------------------------------

struct flag { // sets a member of the job's options
	bool options::*member;
	bool value = true;
};
struct word { // one more word in a list
	strings options::*member;
};
struct seconds {
	double options::*member;
	double least, most;
};
struct rank_of_pe {
	int options::*member;
	bool may_be_none;
};
using handler = bool (*)(cursor &, command &);
using option_kind = std::variant<flag, int options::*, std::string options::*, word, seconds, rank_of_pe, int app::*,
				 std::string app::*, bool wrapper::*, handler>;

struct option {
	const char *names[4]; // with one dash; two are accepted as well
	option_kind kind;
};
// clang-format off
constexpr option kOptions[] = {
	// PEs, and the environment that they get
	{{"-n", "-np", "-c"}, &app::count},
	{{"-wdir", "-wd"}, &app::wdir},
	{{"-x"}, [](cursor &input, command &cmd) { return take_variable(input, cmd.program); }},
	{{"-bind-to", "-bind"}, take_bind},
	{{"-report-bindings"}, flag{&options::report_bindings}},
	{{"-aslr"}, flag{&options::aslr}},
	{{"-no-aslr"}, flag{&options::aslr, false}},
	{{"-pmix"}, [](cursor &, command &cmd) { cmd.opts.pmix = pmix_mode::enabled; return true; }},
	{{"-no-pmix"}, [](cursor &, command &cmd) { cmd.opts.pmix = pmix_mode::disabled; return true; }},
	// which hosts, and how to reach them
	{{"-host", "-H", "-hosts"}, word{&options::host_lists}},
	{{"-hostfile", "-machinefile", "-f"}, word{&options::host_files}},
	{{"-rankfile", "-rf"}, &options::rankfile},
	{{"-ppn", "-N", "-npernode"}, &options::ppn},
	{{"-map-by"}, take_map},
	{{"-oversubscribe"}, flag{&options::oversubscribe}},
	{{"-launch-agent"}, &options::launch_agent},
	{{"-tree"}, &options::tree},
	{{"-host-timeout"}, seconds{&options::host_timeout_s, 1, 1e6}},
	// limits, streams and messages
	{{"-timeout"}, seconds{&options::timeout_s, 0.001, 1e9}},
	{{"-grace"}, seconds{&options::grace_s, 0, 1e6}},
	{{"-stdin"}, rank_of_pe{&options::stdin_pe, true}},
	{{"-tag-output"}, flag{&options::tag_output}},
	{{"-output-filename"}, take_output_dir},
	{{"-progress"}, flag{&options::progress}},
	{{"-v", "-verbose"}, flag{&options::verbose}},
	// settings of OpenSHMEM's library
	{{"-stats"}, take_stats},
	{{"-trace"}, take_trace},
	{{"-hang-after"}, take_hang},
	{{"-check"}, take_check},
	// debuggers
	{{"-attach"}, rank_of_pe{&options::attach_pe, false}},
	{{"-gdb"}, &wrapper::gdb},
	{{"-xterm"}, &wrapper::xterm},
	{{"-valgrind"}, [](cursor &, command &cmd) { cmd.around.words = {"valgrind", "-q"}; return true; }},
	{{"-debugger"}, take_debugger},
	// those of others, which make no difference here
	{{"-mca"}, [](cursor &input, command &) { input.index += 2; return true; }},
	{{"-allow-run-as-root"}, [](cursor &, command &) { return true; }},
};
// clang-format on

const option *find_option(const std::string &name)
{
	for (const option &one : kOptions)
		for (const char *known : one.names)
			if (known && name == known)
				return &one;
	return nullptr;
}

// The option that was probably meant, with two dashes as most are written; empty: it is similar to none.
std::string similar_option(const std::string &name)
{
	std::string nearest;
	size_t least = std::clamp<size_t>(name.size() / 4, 1, 3) + 1;
	for (const option &one : kOptions)
		for (const char *known : one.names)
			if (known && strlen(known) > 3 && pgas::variables::distance(name.c_str(), known) < least) {
				least = pgas::variables::distance(name.c_str(), known);
				nearest = std::string("-") + known;
			}
	return nearest;
}

// Takes the values that an option has.
struct taker {
	cursor &input;
	command &cmd;

	bool operator()(flag what) const
	{
		cmd.opts.*what.member = what.value;
		return true;
	}
	bool operator()(int options::*member) const { return take_count(input, cmd.opts.*member); }
	bool operator()(std::string options::*member) const { return take_text(input, cmd.opts.*member); }
	bool operator()(word what) const { return take_text(input, (cmd.opts.*what.member).emplace_back()); }
	bool operator()(seconds what) const
	{
		return take_seconds(input, what.least, what.most, cmd.opts.*what.member);
	}
	bool operator()(rank_of_pe what) const { return take_pe(input, cmd.opts.*what.member, what.may_be_none); }
	bool operator()(int app::*member) const { return take_count(input, cmd.program.*member); }
	bool operator()(std::string app::*member) const { return take_text(input, cmd.program.*member); }
	bool operator()(bool wrapper::*member) const
	{
		cmd.around.*member = true;
		return true;
	}
	bool operator()(handler take) const { return take(input, cmd); }
};

// Help and version end oshrun.
bool print_and_end(const std::string &name)
{
	if (name == "-h" || name == "-help")
		fputs(kHelp, stdout);
	else if (name == "-V" || name == "-version")
		puts("oshrun " PACKAGE_VERSION);
	else
		return false;
	return true;
}

// Takes the option at input.index. "--name" and "-name" are the same, as in mpirun; "--name=value" is split.
// Returns -1 to continue, otherwise the exit code.
int parse_one(cursor &input, command &cmd)
{
	const char *text = input.argv[input.index];
	const bool two_dashes = strncmp(text, "--", 2) == 0;
	std::string name = text + two_dashes;
	input.value = nullptr;
	input.typed = text;
	if (size_t equals = name.find('='); equals != std::string::npos && two_dashes) {
		input.value = strchr(text, '=') + 1;
		name.resize(equals);
		input.typed.resize(equals + 1);
	}
	if (print_and_end(name))
		return 0;
	const option *found = find_option(name);
	if (!found) {
		const std::string meant = similar_option(name);
		say("unknown option %s; %s%s%s", text, meant.empty() ? "see oshrun --help" : "did you mean ",
		    meant.c_str(), meant.empty() ? "" : "?");
		return kExitUsage;
	}
	bool good = std::visit(taker{input, cmd}, found->kind);
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

// Takes the options and the words of one program, up to the colon. Returns -1 to continue, otherwise the exit code.
int parse_command(cursor &input, command &cmd)
{
	for (; input.is_option(); input.index++) {
		if (strcmp(input.argv[input.index], "--") == 0) {
			input.index++;
			break;
		}
		const int rc = parse_one(input, cmd);
		if (rc >= 0)
			return rc;
	}
	if (cmd.around.xterm && !getenv("DISPLAY")) {
		say("--xterm: DISPLAY is not set, so there is no screen to show it on");
		return kExitUsage;
	}
	cmd.program.argv = words_before(cmd.around);
	const int first = input.index;
	for (; input.index < input.argc && strcmp(input.argv[input.index], ":") != 0; input.index++)
		cmd.program.argv.push_back(input.argv[input.index]);
	if (input.index == first) {
		say("no program to start; usage: oshrun -n N program [args]");
		return kExitUsage;
	}
	return -1;
}

// Settings that follow from others.
void settle(options &opts, bool debugged)
{
	if (opts.apps.size() > 1 || opts.apps[0].count > 0)
		for (app &program : opts.apps)
			opts.count += program.count = std::max(program.count, 1);
	settle_patience(opts, debugged || opts.attach_pe >= 0);
	if (opts.attach_pe >= 0)
		opts.tool_env.push_back("PGAS_BOOT_ATTACH=" + std::to_string(opts.attach_pe));
	for (app &program : opts.apps) // -x of the user is added later, and wins
		program.set_env.insert(program.set_env.begin(), opts.tool_env.begin(), opts.tool_env.end());
}

} // namespace

int parse_options(int argc, char **argv, options &opts)
{
	cursor input = {argc, argv, "oshrun", say};
	bool more = true, debugged = false;
	while (more) {
		command cmd = {opts};
		if (int rc = parse_command(input, cmd); rc >= 0)
			return rc;
		debugged |= cmd.around.debugger || cmd.around.gdb;
		more = input.index++ < argc; // there is a colon
		opts.apps.push_back(std::move(cmd.program));
	}
	settle(opts, debugged);
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
