// SPDX-License-Identifier: BSD-3-Clause
// text.cpp: strings, files, and the only place that builds failures.
#include "text.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fnmatch.h>
#include <unistd.h>

#include "error.hpp"

namespace ic {

static std::string vformat(const char *fmt, va_list ap)
{
	va_list copy;
	va_copy(copy, ap);
	int n = vsnprintf(nullptr, 0, fmt, copy);
	va_end(copy);
	std::string out(n > 0 ? static_cast<size_t>(n) : 0, '\0');
	if (n > 0)
		vsnprintf(out.data(), out.size() + 1, fmt, ap);
	return out;
}

std::string format(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	std::string out = vformat(fmt, ap);
	va_end(ap);
	return out;
}

void fail(exit_code code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	std::string text = vformat(fmt, ap);
	va_end(ap);
	throw failure(code, std::move(text));
}

std::string_view trim(std::string_view s)
{
	const char *blanks = " \t\r\n";
	size_t first = s.find_first_not_of(blanks);
	if (first == std::string_view::npos)
		return {};
	return s.substr(first, s.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> split(std::string_view s, char separator)
{
	std::vector<std::string> out;
	for (;;) {
		size_t pos = s.find(separator);
		out.emplace_back(trim(s.substr(0, pos)));
		if (pos == std::string_view::npos)
			return out;
		s.remove_prefix(pos + 1);
	}
}

std::vector<std::string> split_words(std::string_view s)
{
	std::vector<std::string> out;
	while (!(s = trim(s)).empty()) {
		size_t end = s.find_first_of(" \t,");
		if (end != 0)
			out.emplace_back(s.substr(0, end));
		if (end == std::string_view::npos)
			break;
		s.remove_prefix(end + 1);
	}
	return out;
}

std::string base_name(const std::string &path)
{
	size_t slash = path.rfind('/');
	return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string join(const std::vector<std::string> &parts, const char *separator)
{
	std::string out;
	for (const std::string &part : parts) {
		if (!out.empty())
			out += separator;
		out += part;
	}
	return out;
}

bool glob_any(const std::string &patterns, const std::string &name)
{
	for (const std::string &pattern : split_words(patterns))
		if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0)
			return true;
	return false;
}

bool parse_u64(std::string_view s, uint64_t &value)
{
	std::string text(trim(s));
	if (text.empty() || text[0] == '-' || text[0] == '+')
		return false;
	errno = 0;
	char *end = nullptr;
	unsigned long long v = strtoull(text.c_str(), &end, 0);
	if (errno != 0 || *end != '\0')
		return false;
	value = v;
	return true;
}

bool read_file(const std::string &path, std::string &content)
{
	FILE *f = fopen(path.c_str(), "re");
	if (f == nullptr)
		return false;
	content.clear();
	char block[16384];
	size_t n;
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		content.append(block, n);
	bool good = ferror(f) == 0;
	fclose(f);
	return good;
}

void write_file(const std::string &path, const std::string &content)
{
	FILE *f = path == "-" ? stdout : fopen(path.c_str(), "we");
	if (f == nullptr)
		fail(exit_code::internal, "cannot write %s: %s", path.c_str(), strerror(errno));
	size_t n = fwrite(content.data(), 1, content.size(), f);
	bool good = n == content.size() && fflush(f) == 0;
	if (f != stdout)
		good = fclose(f) == 0 && good;
	if (!good)
		fail(exit_code::internal, "cannot write %s: %s", path.c_str(), strerror(errno));
}

bool file_exists(const std::string &path)
{
	return access(path.c_str(), F_OK) == 0;
}

} // namespace ic
