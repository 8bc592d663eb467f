// SPDX-License-Identifier: BSD-3-Clause
// json.cpp: a small recursive-descent reader.
#include "json.hpp"

#include <cstdlib>
#include <cstring>

#include "error.hpp"

namespace ic {

namespace {

class reader {
public:
	reader(const std::string &text, const std::string &source) : text_(text), source_(source) {}

	json_value document()
	{
		json_value value = parse_value(0);
		blanks();
		if (at_ != text_.size())
			wrong();
		return value;
	}

private:
	static constexpr int kMaxDepth = 32;

	[[noreturn]] void wrong() const
	{
		fail(exit_code::usage, "%s is not valid JSON (at byte %zu)", source_.c_str(), at_);
	}
	void blanks()
	{
		while (at_ < text_.size() && strchr(" \t\r\n", text_[at_]) != nullptr)
			at_++;
	}
	bool take(char c)
	{
		blanks();
		if (at_ >= text_.size() || text_[at_] != c)
			return false;
		at_++;
		return true;
	}
	void need(char c)
	{
		if (!take(c))
			wrong();
	}
	bool word(const char *text)
	{
		if (text_.compare(at_, strlen(text), text) != 0)
			return false;
		at_ += strlen(text);
		return true;
	}

	std::string parse_string()
	{
		std::string out;
		need('"');
		for (;; at_++) {
			if (at_ >= text_.size())
				wrong();
			char c = text_[at_];
			if (c == '"')
				break;
			if (c == '\\') {
				if (++at_ >= text_.size())
					wrong();
				c = text_[at_];
				if (c == 'u') {
					// Our own writer uses this form only for control characters.
					c = static_cast<char>(strtoul(text_.substr(at_ + 1, 4).c_str(), nullptr, 16));
					at_ += 4;
				} else if (c == 'n') {
					c = '\n';
				} else if (c == 't') {
					c = '\t';
				}
			}
			out += c;
		}
		at_++;
		return out;
	}

	json_value parse_value(int depth)
	{
		json_value value;
		if (depth > kMaxDepth)
			wrong();
		blanks();
		if (at_ >= text_.size())
			wrong();
		if (text_[at_] == '"') {
			value.kind = json_value::string;
			value.str = parse_string();
		} else if (take('{')) {
			value.kind = json_value::object;
			while (!take('}')) {
				if (!value.members.empty())
					need(',');
				blanks();
				std::string key = parse_string();
				need(':');
				value.members[key] = parse_value(depth + 1);
			}
		} else if (take('[')) {
			value.kind = json_value::array;
			while (!take(']')) {
				if (!value.items.empty())
					need(',');
				value.items.push_back(parse_value(depth + 1));
			}
		} else if (word("true") || word("false")) {
			value.kind = json_value::boolean;
			value.num = text_[at_ - 2] == 'u';
		} else if (!word("null")) {
			char *end = nullptr;
			value.kind = json_value::number;
			value.num = strtod(text_.c_str() + at_, &end);
			if (end == text_.c_str() + at_)
				wrong();
			at_ = static_cast<size_t>(end - text_.c_str());
		}
		return value;
	}

	const std::string &text_;
	const std::string &source_;
	size_t at_ = 0;
};

} // namespace

const json_value &json_value::operator[](const std::string &key) const
{
	static const json_value nothing;
	auto found = members.find(key);
	return found == members.end() ? nothing : found->second;
}

json_value json_value::parse(const std::string &text, const std::string &source)
{
	return reader(text, source).document();
}

} // namespace ic
