// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers of PEs or CPUs as people write them. C++, inline, not installed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pgas {

// "0-2,5". The numbers ascend.
inline std::string ranges_of(const std::vector<int> &numbers)
{
	std::string text;
	for (size_t i = 0; i < numbers.size(); i++) {
		const size_t first = i;
		while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1)
			i++;
		text += (text.empty() ? "" : ",") + std::to_string(numbers[first]);
		if (i > first)
			text += "-" + std::to_string(numbers[i]);
	}
	return text;
}

} // namespace pgas
