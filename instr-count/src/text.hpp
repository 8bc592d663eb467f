// SPDX-License-Identifier: BSD-3-Clause
// text.hpp: the few string helpers that all other files need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ic {

std::string format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
std::string_view trim(std::string_view s);
std::vector<std::string> split(std::string_view s, char separator);
std::vector<std::string> split_words(std::string_view s);
std::string base_name(const std::string &path);
std::string join(const std::vector<std::string> &parts, const char *separator);

// name matches a shell pattern, or one of several separated by blanks or commas.
bool glob_any(const std::string &patterns, const std::string &name);

// Reads a decimal or 0x number. Returns false if any characters are left over.
bool parse_u64(std::string_view s, uint64_t &value);

bool read_file(const std::string &path, std::string &content);
void write_file(const std::string &path, const std::string &content);
bool file_exists(const std::string &path);

} // namespace ic
