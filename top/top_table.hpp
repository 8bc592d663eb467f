// SPDX-License-Identifier: BSD-3-Clause
// top_table.hpp: a view as a table of text, and as JSON.
#pragma once

#include "top_options.hpp"
#include "top_view.hpp"

namespace oshtop {

// The columns by which a user may sort: their words, in the order of the table; -1: there is none.
int column_number(const std::string &word);
std::string column_words();
int next_column(int sort); // by which a user may sort

struct page {
	size_t width = 0;  // of a line; 0: any
	size_t height = 0; // lines; 0: any
	size_t first = 0;  // row of the table that comes first; bounded here
	bool colored = false;
};
std::vector<std::string> make_table(const view &v, const options &opts, page &where);
std::string make_json(const view &v, const options &opts);
// The rows that the user wants, in the order that the user wants.
std::vector<const row *> choose_rows(const view &v, const options &opts);

} // namespace oshtop
