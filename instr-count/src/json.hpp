// SPDX-License-Identifier: BSD-3-Clause
// json.hpp: reads as much JSON as our own result files need. base/ has the writer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ic {

struct json_value {
	enum kind_t { null, boolean, number, string, array, object } kind = null;
	double num = 0;
	std::string str;
	std::vector<json_value> items;
	std::map<std::string, json_value> members;

	// Lookups never fail: a missing value is null, 0 or empty.
	const json_value &operator[](const std::string &key) const;
	uint64_t u64() const { return kind == number && num > 0 ? static_cast<uint64_t>(num) : 0; }

	// Fails with the source's name and the offset of the first wrong byte.
	static json_value parse(const std::string &text, const std::string &source);
};

} // namespace ic
