// SPDX-License-Identifier: BSD-3-Clause
#include "shmem_tune_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <devices/devices_kind.hpp>
#include <pgas/pgas_base.hpp>

namespace shmem {
namespace {

constexpr const char *kNames[] = {"broadcast", "fcollect", "collect", "alltoall", "alltoalls",
				  "alltoallv", "gather",   "scatter", "reduce",   "scan"};
static_assert(std::size(kNames) == static_cast<size_t>(tuned::count));

// A whole number without sign; false: it is not one, or above most.
bool number_of(const std::string &text, uint64_t most, uint64_t &out)
{
	char *end = nullptr;
	errno = 0;
	out = strtoull(text.c_str(), &end, 10);
	return !text.empty() && strspn(text.c_str(), "0123456789") == text.size() && errno == 0 && out <= most;
}

// Returns what is wrong with a line; "" if nothing is, with the result in row.
std::string read_row(const std::vector<std::string> &words, tune_row &row)
{
	if (words.size() != 4)
		return "a row is KIND COLLECTIVE PES BYTES";
	if (!pgas::devices::find_kind(words[0].c_str()))
		return "there is no kind " + words[0] + " (" + pgas::devices::kind_names() + ")";
	const auto name = std::find(std::begin(kNames), std::end(kNames), words[1]);
	if (name == std::end(kNames))
		return "there is no collective " + words[1] + " to be tuned";
	uint64_t pes, bytes;
	if (!number_of(words[2], 1 << 20, pes) || pes < 1)
		return words[2] + " is no number of PEs";
	if (!number_of(words[3], kMostStaged, bytes))
		return words[3] + " is no number of bytes up to " + std::to_string(kMostStaged);
	row = {words[0], static_cast<tuned>(name - std::begin(kNames)), static_cast<int>(pes), bytes};
	return "";
}

} // namespace

const char *tuned_name(tuned what)
{
	return kNames[static_cast<size_t>(what)];
}

// CUDA has a kernel for all pieces of a collective. Where the driver takes them one by one, four PEs and more have so
// many that two copies for each PE and the host's collective are faster up to this size.
tune_table tune_defaults()
{
	tune_table all;
	for (const char *kind : {"hip", "ze"})
		for (const tuned what : {tuned::fcollect, tuned::collect, tuned::alltoall, tuned::alltoallv})
			all.push_back({kind, what, 4, size_t{32} << 10});
	return all;
}

bool tune_read(const char *path, tune_table &table, std::string &why)
{
	FILE *input = fopen(path, "re");
	if (!input) {
		why = std::string(path) + ": " + strerror(errno);
		return false;
	}
	char *text = nullptr;
	size_t room = 0;
	tune_table rows;
	for (int line = 1; why.empty() && getline(&text, &room, input) >= 0; line++) {
		text[strcspn(text, "#\n")] = '\0';
		std::vector<std::string> all;
		char *rest = nullptr;
		for (char *one = strtok_r(text, " \t\r", &rest); one; one = strtok_r(nullptr, " \t\r", &rest))
			all.emplace_back(one);
		tune_row row;
		if (all.empty())
			continue;
		if (const std::string wrong = read_row(all, row); !wrong.empty())
			why = std::string(path) + ":" + std::to_string(line) + ": " + wrong;
		rows.push_back(row);
	}
	if (ferror(input) && why.empty())
		why = std::string(path) + ": " + strerror(errno);
	free(text);
	fclose(input);
	if (!why.empty())
		return false;
	std::erase_if(table, [&](const tune_row &old) {
		return std::any_of(rows.begin(), rows.end(), [&](const tune_row &now) { return now.kind == old.kind; });
	});
	table.insert(table.end(), rows.begin(), rows.end());
	return true;
}

size_t staged_up_to(const tune_table &table, const char *kind, tuned what, int pes)
{
	size_t bytes = 0;
	int best = 0;
	for (const tune_row &row : table)
		if (row.what == what && row.pes <= pes && row.pes >= best && row.kind == kind) {
			best = row.pes;
			bytes = row.bytes;
		}
	return bytes;
}

uint64_t tune_fingerprint(const tune_table &table)
{
	uint64_t sum = 0;
	for (const tune_row &row : table) {
		const uint64_t numbers[] = {sum, pgas::hash_bytes(row.kind.data(), row.kind.size()),
					    static_cast<uint64_t>(row.what), static_cast<uint64_t>(row.pes), row.bytes};
		sum = pgas::hash_bytes(numbers, sizeof numbers);
	}
	return sum;
}

} // namespace shmem
