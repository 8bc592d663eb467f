// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of the drivers: the options that all have, and those that each one adds.
#include "compare.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace bench {

command_line::command_line(std::string usage, std::string about, int timeout_ms)
	: usage_(std::move(usage)), about_(std::move(about))
{
	const auto pass_on = [this](const char *name) {
		return [this, name](const char *value) {
			run.extra.insert(run.extra.end(), {name, value});
			return atol(value) > 0;
		};
	};
	const std::string timeout = "a row that takes longer than this is reported as timeout (default " +
				    std::to_string(timeout_ms) + ")";
	add("--rounds", "N", "rounds; each runs every row on every column (default 5)", [this](const char *value) {
		run.rounds = atoi(value);
		return run.rounds > 0;
	});
	add("--samples", "N", "samples of a row in a round (default 5)", pass_on("--samples"));
	value("--rows", "A,B,...", "only these rows (--list has the names)", rows_);
	add("--timeout-ms", "N", timeout.c_str(), pass_on("--timeout-ms"));
	add("--quick", "", "one round, one short sample: shows that it works, measures nothing", [this](const char *) {
		run.quick = true;
		run.rounds = 1;
		return true;
	});
	value("--csv", "FILE", "write the results as CSV", csv);
	value("--json", "FILE", "write the results as JSON, with every sample", json);
	value("--svg", "FILE", "plot the results", svg);
	flag("--list", "name the rows", is_list_);
	flag("--help", "this text", is_help_);
}

void command_line::add(const char *name, const char *word, const char *text, std::function<bool(const char *)> take)
{
	options_.push_back({name, word, text, std::move(take)});
}

void command_line::flag(const char *name, const char *text, bool &field)
{
	add(name, "", text, [&field](const char *) { return field = true; });
}

void command_line::value(const char *name, const char *word, const char *text, std::string &field)
{
	add(name, word, text, [&field](const char *given) {
		field = given;
		return !field.empty();
	});
}

void command_line::list(const char *name, const char *word, const char *text, words &field)
{
	add(name, word, text, [&field](const char *given) {
		field = split(given, ',');
		return true;
	});
}

void command_line::plain_words(size_t most, words &field)
{
	plain_ = &field;
	plain_most_ = most;
}

int command_line::parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const std::string word = argv[i];
		const option *found = nullptr;
		for (const option &o : options_)
			if (o.name == word)
				found = &o;
		if (!found && !word.empty() && word[0] != '-' && plain_ && plain_->size() < plain_most_) {
			plain_->push_back(word);
			continue;
		}
		const bool has_value = found && !found->word.empty();
		if (!found || (has_value && i + 1 >= argc) || !found->take(has_value ? argv[++i] : nullptr))
			return reject();
		if (is_help_) {
			print_usage(stdout);
			return 0;
		}
	}
	return -1;
}

int command_line::reject() const
{
	print_usage(stderr);
	return 2;
}

// An option that is longer than its column has its text on the next line.
void command_line::print_usage(std::FILE *out) const
{
	constexpr int kColumn = 17;
	fprintf(out, "usage: %s\n%s\n", usage_.c_str(), about_.c_str());
	for (const option &o : options_) {
		const std::string name = o.name + (o.word.empty() ? "" : " ") + o.word;
		const bool fits = name.size() < kColumn;
		fprintf(out, "  %-*s", fits ? kColumn : 0, name.c_str());
		if (!fits)
			fprintf(out, "\n  %*s", kColumn, "");
		fprintf(out, "%s\n", o.text.c_str());
	}
	fputs(notes_.c_str(), out);
}

bool command_line::wants(const row &r) const
{
	if (rows_.empty())
		return true;
	const words names = split(rows_, ',');
	const bool wanted = std::ranges::find(names, r.name) != names.end();
	if (wanted)
		found_rows_.push_back(r.name);
	return wanted;
}

bool command_line::lacks_rows() const
{
	for (const std::string &name : split(rows_, ','))
		if (!name.empty() && std::ranges::find(found_rows_, name) == found_rows_.end()) {
			fprintf(stderr, "%s: --rows: there is no row %s here; --list has the names\n",
				program_invocation_short_name, name.c_str());
			return true;
		}
	return false;
}

bool command_line::has_listed(const std::vector<row> &rows) const
{
	for (const row &r : is_list_ ? rows : std::vector<row>())
		printf("%s\t%s\t%s\t%s\n", r.name.c_str(), r.group.c_str(), r.unit.c_str(), r.label.c_str());
	return is_list_;
}

std::string own_folder()
{
	char path[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	if (n <= 0)
		return ".";
	path[n] = 0;
	*strrchr(path, '/') = 0;
	return path;
}

words split(const std::string &line, char place)
{
	words parts(1);
	for (const char c : line) {
		if (c == place)
			parts.emplace_back();
		else
			parts.back() += c;
	}
	return parts;
}

words joined(words a, const words &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

bool write_file(const std::string &name, const std::function<void(std::FILE *)> &write)
{
	if (name.empty())
		return true;
	std::FILE *out = fopen(name.c_str(), "w");
	if (!out) {
		perror(name.c_str());
		return false;
	}
	write(out);
	return fclose(out) == 0;
}

} // namespace bench
