// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the medians of the first table that an earlier run of hosts_compare printed, so that its picture can be drawn
// again. The widths of the columns are those of hosts_table.cpp.
#include "hosts_compare.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace bench::hosts {
namespace {

constexpr size_t kUnit = 9;        // from the end of a label to the first value of the layers below
constexpr size_t kNumber = 10;     // a value there
constexpr size_t kReferences = 39; // from the end of a label to the first library
constexpr size_t kCell = 59;       // a library: two blanks, best, median, tenth, ...
constexpr size_t kMedianPos = 13, kMedian = 11;

std::string trimmed(const std::string &line, size_t pos, size_t len = std::string::npos)
{
	if (pos >= line.size())
		return "";
	const std::string part = line.substr(pos, len);
	const size_t begin = part.find_first_not_of(' ');
	return begin == std::string::npos ? "" : part.substr(begin, part.find_last_not_of(' ') - begin + 1);
}

class earlier_table {
public:
	earlier_table(std::istream &source, results &all) : source_(source), all_(all) {}

	bool read()
	{
		std::string line;
		if (!std::getline(source_, line) || !line.starts_with("between the hosts") ||
		    line.find("  unit") == std::string::npos)
			return false;
		label_ = line.find("  unit");
		all_.columns.assign(results::kFirstLibrary, {});
		while (std::getline(source_, line) && !line.empty())
			if (!add_layer(line))
				return false;
		if (!std::getline(source_, line) || line.size() <= label_ + kReferences)
			return false;
		for (size_t pos = label_ + kReferences; pos < line.size(); pos += kCell)
			all_.columns.emplace_back().title = trimmed(line, pos, kCell);
		std::getline(source_, line); // the names of the values
		while (std::getline(source_, line) && !line.empty())
			if (!add_libraries(line))
				return false;
		return all_.columns.size() > results::kFirstLibrary && all_.best_of(results::kRaw, "tcp_spin") > 0;
	}

private:
	const row *row_of(const std::string &line) const
	{
		const auto it = std::ranges::find(all_.rows, trimmed(line, 0, label_), &row::label);
		if (it == all_.rows.end())
			fprintf(stderr, "hosts_compare: there is no row \"%s\" any more\n",
				trimmed(line, 0, label_).c_str());
		return it == all_.rows.end() ? nullptr : &*it;
	}

	static void add(column &owner, const row &r, const std::string &text)
	{
		char *end;
		const double value = strtod(text.c_str(), &end);
		if (!text.empty() && !*end && value > 0)
			owner.by_row[r.name].values = {value};
	}

	bool add_layer(const std::string &line)
	{
		const row *r = row_of(line);
		const std::string title = trimmed(line, label_ + kUnit + 2 * kNumber);
		if (!r)
			return false;
		column &owner = all_.columns[r->group == "inner" ? results::kInner : results::kRaw];
		owner.title = title;
		add(owner, *r, trimmed(line, label_ + kUnit + kNumber, kNumber));
		return true;
	}

	bool add_libraries(const std::string &line)
	{
		const row *r = row_of(line);
		for (size_t k = results::kFirstLibrary; r && k < all_.columns.size(); k++)
			add(all_.columns[k], *r,
			    trimmed(line, label_ + kReferences + (k - results::kFirstLibrary) * kCell + kMedianPos,
				    kMedian));
		return r != nullptr;
	}

	std::istream &source_;
	results &all_;
	size_t label_ = 0;
};

} // namespace

bool read_earlier(const std::string &name, results &all)
{
	std::ifstream source(name);
	return source && earlier_table(source, all).read();
}

} // namespace bench::hosts
