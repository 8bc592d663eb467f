// SPDX-License-Identifier: BSD-3-Clause
// runner.cpp: a path of one process is counted here; a path of several PEs is
// started by its launcher as N copies of "instr-count count --pe 0", of which
// the first counts and the others become the program at once.
#include "runner.hpp"

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#include "arch.hpp"
#include "callgrind_engine.hpp"
#include "error.hpp"
#include "latency_model.hpp"
#include "locate.hpp"
#include "pin_engine.hpp"
#include "step_engine.hpp"
#include "subprocess.hpp"
#include "text.hpp"
#include "valgrind_engine.hpp"

namespace ic {

// Calls per round of a timed driver: tens of microseconds, so that some round runs undisturbed.
static constexpr unsigned kTimedCalls = 20000;

void require_engine_name(const std::string &engine)
{
	if (engine != "step" && engine != "valgrind" && engine != "callgrind" && engine != "pin")
		fail(exit_code::usage, "engine '%s' is not one of step, valgrind, callgrind, pin", engine.c_str());
}

namespace {

// What a driver reports about its run (driver_tell of drivers/driver.h).
struct driver_facts {
	std::string setting;
	uint64_t ps = 0;
};

driver_facts read_facts(const std::string &file)
{
	driver_facts facts;
	std::string text;
	read_file(file, text);
	for (const std::string &line : split(text, '\n')) {
		std::vector<std::string> words = split(line, '\t');
		if (words.size() == 2 && words[0] == "setting")
			facts.setting = words[1];
		else if (words.size() == 2 && words[0] == "ps")
			parse_u64(words[1], facts.ps);
	}
	return facts;
}

measurement run_engine(const std::string &engine, const count_request &request)
{
	if (engine == "valgrind")
		return valgrind_count(request);
	if (engine == "callgrind")
		return callgrind_count(request);
	if (engine == "pin")
		return pin_count(request);
	return step_count(request);
}

} // namespace

measurement measure_with(const std::string &engine, const count_request &request)
{
	require_engine_name(engine);
	scratch_dir dir;
	std::string file = dir.path() + "/facts";
	count_request asked = request;
	asked.extra_env.push_back("INSTR_COUNT_FACTS=" + file);
	measurement out = run_engine(engine, asked);
	out.setting = read_facts(file).setting;
	return out;
}

int rank_from_environment()
{
	for (const char *name : {"OSHRUN_RANK", "PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"})
		if (const char *text = getenv(name); text != nullptr && *text != '\0')
			return atoi(text);
	return -1;
}

// Replaces %t by the top of the build tree and %b by the folder of this command.
static std::string expand(const std::string &word, unsigned pes)
{
	std::string self = own_program(), folder = self.substr(0, self.rfind('/'));
	std::string top = file_exists(folder + "/build-tree") ? folder.substr(0, folder.rfind('/')) : "";
	std::string out;
	for (size_t i = 0; i < word.size(); i++) {
		char next = word[i] == '%' && i + 1 < word.size() ? word[i + 1] : '\0';
		if (next == 'n')
			out += format("%u", pes);
		else if (next == 't')
			out += top.empty() ? "/nonexistent" : top;
		else if (next == 'b')
			out += folder;
		else {
			out += word[i];
			continue;
		}
		i++;
	}
	return out;
}

// Variables that the user has set are kept; those that need a build tree are dropped without one.
static std::vector<std::string> environment_of(const path_table &table)
{
	std::vector<std::string> out;
	for (const auto &[name, value] : table.environment) {
		std::string expanded = expand(value, 1);
		if (getenv(name.c_str()) == nullptr && (value == expanded || file_exists(expanded)))
			out.push_back(name + "=" + expanded);
	}
	return out;
}

count_request request_for(const path_table &table, const path_entry &path, const run_settings &settings)
{
	count_request request;
	request.argv = split_words(path.driver);
	request.argv[0] = driver_file(request.argv[0]);
	request.entry = entry_point::parse(path.entry);
	request.end = boundary::parse(path.boundary);
	request.calls = settings.calls;
	request.warmup = settings.warmup;
	request.native_libc = settings.native_libc;
	request.timeout_s = settings.timeout_s;
	request.output_aside = request.makes_processes = true; // drivers print and fork on purpose
	request.extra_env = environment_of(table);
	return request;
}

std::vector<std::string> launcher_command(const path_table &table, const std::string &name, unsigned pes)
{
	std::string variable = "INSTR_COUNT_LAUNCH_";
	for (char c : name)
		variable += static_cast<char>(toupper(c));
	const char *given = getenv(variable.c_str());
	auto known = table.launchers.find(name);
	std::string alternatives = given != nullptr ? given : known != table.launchers.end() ? known->second : "";
	for (const std::string &alternative : split(alternatives, ';')) {
		std::vector<std::string> words;
		for (const std::string &word : split_words(alternative))
			words.push_back(expand(word, pes));
		if (!words.empty() && !find_program(words[0]).empty())
			return words;
	}
	return {};
}

path_status status_of(exit_code code)
{
	switch (code) {
	case exit_code::not_here:
		return path_status::not_built;
	case exit_code::usage:
		return path_status::unsupported;
	default:
		return path_status::failed;
	}
}

// A launcher that must end its PEs may take longer than they do.
unsigned launcher_timeout(unsigned timeout_s)
{
	return timeout_s == 0 ? 0 : timeout_s + 30;
}

static void run_launched(const path_table &table, const path_entry &path, const run_settings &settings,
			 path_result &result)
{
	std::vector<std::string> argv = launcher_command(table, path.launcher, path.pes);
	if (argv.empty()) {
		result.status = path_status::not_built;
		result.message = "launcher " + path.launcher + " is not here";
		return;
	}
	scratch_dir dir;
	std::string file = dir.path() + "/result.json";
	count_request request = request_for(table, path, settings);
	std::vector<std::string> rest = {own_program(), "count",
					 "--pe",        "0",
					 "--engine",    settings.engine,
					 "--entry",     path.entry,
					 "--boundary",  path.boundary,
					 "--calls",     format("%u", settings.calls),
					 "--warmup",    format("%u", settings.warmup),
					 "--timeout",   format("%u", settings.timeout_s),
					 "--quiet",     "--json",
					 file};
	if (settings.native_libc)
		rest.push_back("--native-libc");
	rest.push_back("--");
	rest.insert(rest.end(), request.argv.begin(), request.argv.end());
	argv.insert(argv.end(), rest.begin(), rest.end());
	run_options options;
	options.env = request.extra_env;
	options.env.push_back(format("INSTR_COUNT_CALLS=%u", settings.calls + settings.warmup));
	options.capture = true; // drivers' output is not shown
	// The PE that counts ends its program first and reports why.
	options.timeout_s = launcher_timeout(settings.timeout_s);
	run_result run = run_program(argv, options);
	std::string text;
	if (run.timed_out)
		fail(exit_code::program_failed, "%s did not end within %u s (--timeout)", argv[0].c_str(),
		     options.timeout_s);
	if (!read_file(file, text) || text.empty()) {
		const int status = WIFEXITED(run.status) ? WEXITSTATUS(run.status) : 128 + WTERMSIG(run.status);
		result.status = status_of(static_cast<exit_code>(status)); // another PE may have reported it first
		result.message = format("%s ended with status %d and no count", base_name(argv[0]).c_str(), status);
		return;
	}
	result_set one = result_set::from_json(text, file);
	if (one.results.empty())
		fail(exit_code::internal, "empty result of %s", argv[0].c_str());
	path_result got = one.results[0];
	got.path = result.path;
	got.who = result.who;
	got.figure = result.figure;
	got.description = result.description;
	got.budget = result.budget;
	result = got;
}

// The last word of a driver's arguments says how the target is reached (drivers/driver.h), or that one call is wanted.
static std::string last_word(const path_entry &path)
{
	return split_words(path.driver).back();
}

// Time of one call at full speed, as the driver measures it; 0 if it does not.
static uint64_t time_of(const path_table &table, const path_entry &path, const run_settings &settings)
{
	std::vector<std::string> argv;
	if (path.launcher != "-")
		argv = launcher_command(table, path.launcher, path.pes);
	if (path.launcher != "-" && argv.empty())
		return 0;
	count_request request = request_for(table, path, settings);
	argv.insert(argv.end(), request.argv.begin(), request.argv.end());
	scratch_dir dir;
	std::string file = dir.path() + "/facts";
	run_options options;
	options.env = request.extra_env;
	options.env.insert(options.env.end(), {"LD_BIND_NOW=1", "INSTR_COUNT_CALLS=3", "INSTR_COUNT_FACTS=" + file,
					       format("INSTR_COUNT_TIME=%u", kTimedCalls)});
	options.hush = true;
	options.timeout_s = launcher_timeout(settings.timeout_s);
	run_result run = run_program(argv, options);
	bool good = !run.timed_out && WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0;
	return good ? read_facts(file).ps : 0;
}

static bool worth_timing(const path_entry &path)
{
	std::string how = last_word(path);
	return path.figure != "-" && !path.who.starts_with("hand") && !path.several_hosts() && how != "first" &&
	       how != "short";
}

path_result run_path(const path_table &table, const path_entry &path, const run_settings &given)
{
	run_settings settings = given;
	if (last_word(path) == "first") {
		settings.calls = 1;
		settings.warmup = 0;
	}
	path_result result;
	result.path = path.name;
	result.who = path.who;
	result.figure = path.figure;
	result.description = path.description;
	result.entry = path.entry;
	result.boundary = path.boundary;
	result.budget = path.budget();
	result.engine = settings.engine;
	try {
		if (driver_file(split_words(path.driver)[0]).empty()) {
			result.status = path_status::not_built;
			result.message = "driver " + split_words(path.driver)[0] + " is not built";
		} else if (path.launcher != "-") {
			run_launched(table, path, settings, result);
		} else {
			result.fill(measure_with(settings.engine, request_for(table, path, settings)), table);
		}
		// A call that waits for another process has no time of its own.
		bool waits = result.min != result.max;
		if (settings.time && result.status == path_status::ok && !waits && worth_timing(path))
			result.ps = time_of(table, path, settings);
	} catch (const failure &e) {
		// A missing engine affects all paths: let the command end.
		if (e.code() == exit_code::no_engine)
			throw;
		result.status = status_of(e.code());
		result.message = e.what();
	}
	return result;
}

result_set run_paths(const path_table &table, const std::vector<const path_entry *> &paths,
		     const run_settings &settings)
{
	require_engine_name(settings.engine);
	result_set set;
	set.arch = arch::kName;
	set.engine = settings.engine;
#ifdef __clang__
	set.compiler = format("clang %d.%d", __clang_major__, __clang_minor__);
#else
	set.compiler = format("gcc %d.%d", __GNUC__, __GNUC_MINOR__);
#endif
	set.cpu = machine_cpu();
	if (double ghz = 0; machine_ghz(ghz))
		set.mhz = static_cast<uint64_t>(ghz * 1000 + 0.5);
	bool tell = isatty(STDERR_FILENO) != 0;
	for (const path_entry *path : paths) {
		if (tell)
			fprintf(stderr, "\r\033[Kcounting %s", path->name.c_str());
		set.results.push_back(run_path(table, *path, settings));
	}
	if (tell)
		fprintf(stderr, "\r\033[K");
	return set;
}

} // namespace ic
