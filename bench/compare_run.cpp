// SPDX-License-Identifier: BSD-3-Clause
//
// Runs ofi_bench as a child process and reads its output. ofi_bench itself bounds every run.
#include "compare.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace bench {

words output_lines(const words &command, const std::string &folder)
{
	int out[2];
	if (pipe2(out, O_CLOEXEC) != 0)
		return {};
	const pid_t child = fork();
	if (child == 0) {
		dup2(out[1], 1);
		if (!folder.empty())
			setenv("FI_PROVIDER_PATH", folder.c_str(), 1);
		std::vector<char *> argv;
		for (const std::string &word : command)
			argv.push_back(const_cast<char *>(word.c_str()));
		argv.push_back(nullptr);
		execv(argv[0], argv.data());
		perror(argv[0]);
		_exit(127);
	}
	close(out[1]);
	std::string text;
	char piece[4096];
	for (ssize_t n; (n = read(out[0], piece, sizeof piece)) > 0;)
		text.append(piece, static_cast<size_t>(n));
	close(out[0]);
	if (child > 0)
		waitpid(child, nullptr, 0);
	words lines = split(text, '\n');
	std::erase(lines, "");
	return lines;
}

std::string describe_places(const words &places)
{
	std::string text;
	for (size_t first = 0, next; first < places.size(); first = next) {
		for (next = first + 1; next < places.size() && places[next] == places[first];)
			next++;
		const words parts = split(places[first], '/');
		text += text.empty() ? (places.size() > 1 ? "PEs " : "PE ") : ", ";
		text += std::to_string(first) + (next > first + 1 ? "-" + std::to_string(next - 1) : "");
		text += " on " + parts[0] + (parts.size() > 1 ? " (" + parts[1] + ")" : "");
	}
	return text;
}

namespace {

bool has(const column &c, const row &r)
{
	return c.groups.empty() || std::ranges::find(c.groups, r.group) != c.groups.end();
}

// Why a run with these PEs is not what the column says, or an empty text.
std::string check_places(const column &c)
{
	if (c.places.empty())
		return "its program does not say where its PEs ran";
	if (c.places.size() != c.expected.size())
		return "it has " + std::to_string(c.places.size()) + " PEs instead of " +
		       std::to_string(c.expected.size());
	return c.places == c.expected ? "" : "its PEs ran elsewhere: " + describe_places(c.places);
}

void take_samples(samples &mine, const words &line)
{
	for (size_t i = 1; i < line.size(); i++) {
		char *end;
		const double v = strtod(line[i].c_str(), &end);
		if (*end == 0 && v > 0) {
			mine.values.push_back(v);
		} else {
			mine.failure = line[i];
			mine.failures++;
		}
	}
	if (mine.failure == kNoWire)
		mine.values.clear();
}

// Runs the column's program once. Lines that are not about these rows are noise, such as a crash report of a library.
// Returns whether a row has samples or a failure.
bool run_once(const words &command, const words &names, column &c)
{
	bool has_samples = false;
	c.places.clear();
	for (const std::string &line : output_lines(command, c.folder)) {
		words parts = split(line, '\t');
		if (parts[0] == "where") {
			c.places.assign(parts.begin() + 1, parts.end());
		} else if (std::ranges::find(names, parts[0]) != names.end()) {
			take_samples(c.by_row[parts[0]], parts);
			has_samples = true;
		}
	}
	return has_samples;
}

// Runs the rows of one group (quick: all rows) once on one column.
void run_group(const settings &s, const std::vector<row> &rows, const std::string &group, column &c)
{
	constexpr int kGiveUp = 2;     // a row that failed this often is not run again
	constexpr int kStartsMost = 3; // of a program that ends without a result: some libraries crash now and then
	words names;
	for (const row &r : rows)
		if ((r.group == group || s.quick) && has(c, r) && c.by_row[r.name].failures < kGiveUp)
			names.push_back(r.name);
	if (names.empty() || !c.refusal.empty())
		return;
	std::string list;
	for (const std::string &name : names)
		list += (list.empty() ? "" : ",") + name;
	words command = c.launcher;
	command.insert(command.end(), {c.program, c.provider, "--rows", list});
	if (s.quick)
		command.emplace_back("--quick");
	command = joined(joined(command, s.extra), c.extra);
	bool has_samples = run_once(command, names, c);
	for (int start = 1; !has_samples && !c.expected.empty() && start < kStartsMost; start++, c.restarts++)
		has_samples = run_once(command, names, c);
	if (has_samples && !c.expected.empty())
		c.refusal = check_places(c);
	if (!c.refusal.empty())
		c.by_row.clear();
}

} // namespace

std::vector<double> column::sorted(const row &r) const
{
	const auto it = by_row.find(r.name);
	std::vector<double> values = it == by_row.end() ? std::vector<double>() : it->second.values;
	std::sort(values.begin(), values.end());
	return values;
}

double column::best(const row &r) const
{
	const std::vector<double> v = sorted(r);
	return v.empty() ? 0 : r.more_is_better() ? v.back() : v.front();
}

double column::median(const row &r) const
{
	const std::vector<double> v = sorted(r);
	return v.empty() ? 0 : v[v.size() / 2];
}

double column::tenth_worst(const row &r) const
{
	const std::vector<double> v = sorted(r);
	return v.empty() ? 0 : v[r.more_is_better() ? v.size() / 10 : v.size() - 1 - v.size() / 10];
}

size_t column::count(const row &r) const
{
	return sorted(r).size();
}

std::string column::failure(const row &r) const
{
	const auto it = by_row.find(r.name);
	return it == by_row.end() ? "" : it->second.failure;
}

double speedup(const row &r, const column &a, const column &b)
{
	const double x = a.best(r), y = b.best(r);
	return x == 0 || y == 0 ? 0 : r.more_is_better() ? x / y : y / x;
}

std::vector<row> list_rows(const words &command)
{
	std::vector<row> rows;
	for (const std::string &line : output_lines(joined(command, {"--list"}))) {
		const words w = split(line, '\t');
		if (w.size() == 5)
			rows.push_back({w[0], w[1], w[2], w[4], w[3] == "delivered"});
	}
	return rows;
}

void run(const settings &s, const std::vector<row> &rows, std::vector<column> &columns)
{
	words groups;
	for (const row &r : rows)
		// quick: all groups in one run
		if (std::find(groups.begin(), groups.end(), r.group) == groups.end() && (groups.empty() || !s.quick))
			groups.push_back(r.group);
	const bool tell = isatty(2);
	for (int round = 0; round < s.rounds; round++) {
		for (const std::string &group : groups) {
			for (size_t k = 0; k < columns.size(); k++) {
				// the first column changes from round to round
				column &c = columns[(k + static_cast<size_t>(round)) % columns.size()];
				if (tell)
					fprintf(stderr, "\rround %d of %d: %s, %s\033[K", round + 1, s.rounds,
						group.c_str(), c.title.c_str());
				run_group(s, rows, group, c);
			}
		}
	}
	if (tell)
		fprintf(stderr, "\r\033[K");
}

} // namespace bench
