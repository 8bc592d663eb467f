// SPDX-License-Identifier: BSD-3-Clause
//
// The JSON writer of all our programs. It collects text, which a program with much to say takes piece by piece. Commas,
// quotes and escapes are written here; the program says where a new line begins. For our own programs: C++, inline, not
// installed.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pgas {

class json_writer {
public:
	enum class form { spaced, compact }; // compact: no blanks after commas and colons, no indentation
	explicit json_writer(form f = form::spaced) : compact_(f == form::compact) {}

	json_writer &begin_object() { return begin('{'); }
	json_writer &end_object() { return end('}'); }
	json_writer &begin_array() { return begin('['); }
	json_writer &end_array() { return end(']'); }
	// The next value is that of this key.
	json_writer &key(std::string_view name)
	{
		separate();
		quote(name);
		text_ += compact_ ? ":" : ": ";
		after_key_ = true;
		return *this;
	}
	json_writer &value(std::string_view text)
	{
		separate();
		quote(text);
		return *this;
	}
	json_writer &value(const char *text) { return text ? value(std::string_view(text)) : null(); }
	json_writer &value(std::integral auto v) { return word(std::to_string(v)); }
	json_writer &value(bool v) { return word(v ? "true" : "false"); }
	json_writer &value(double v) = delete; // fixed() or real()
	json_writer &null() { return word("null"); }
	// JSON has no infinity, and nothing that is not a number: these are null.
	json_writer &fixed(double v, int decimals) { return real("%.*f", decimals, v); }
	json_writer &real(double v) { return real("%.*g", 6, v); }
	template <class T>
	json_writer &member(std::string_view name, const T &v)
	{
		return key(name).value(v);
	}
	// What comes next, a value, a key or an end, begins a new line.
	json_writer &line()
	{
		new_line_ = true;
		return *this;
	}

	// The text since the last call of take().
	std::string take() { return std::exchange(text_, {}); }

private:
	json_writer &begin(char bracket)
	{
		separate();
		text_ += bracket;
		first_.push_back(true);
		return *this;
	}
	json_writer &end(char bracket)
	{
		first_.pop_back();
		if (new_line_)
			break_line();
		text_ += bracket;
		if (first_.empty())
			text_ += '\n';
		return *this;
	}
	json_writer &word(std::string_view text)
	{
		separate();
		text_ += text;
		return *this;
	}
	json_writer &real(const char *format, int digits, double v)
	{
		char text[400]; // the longest double has 309 digits before its point
		std::snprintf(text, sizeof text, format, digits, v);
		return std::isfinite(v) ? word(text) : null();
	}
	void break_line()
	{
		text_ += '\n';
		if (!compact_)
			text_.append(2 * first_.size(), ' ');
		new_line_ = false;
	}
	// The comma, and the new line, before what comes next.
	void separate()
	{
		if (std::exchange(after_key_, false) || first_.empty())
			return;
		const bool first = first_.back();
		first_.back() = false;
		if (!first)
			text_ += ',';
		if (new_line_)
			break_line();
		else if (!first && !compact_)
			text_ += ' ';
	}
	void quote(std::string_view text)
	{
		text_ += '"';
		for (const char c : text) {
			if (static_cast<unsigned char>(c) < 0x20) {
				char code[8];
				std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
				text_ += code;
				continue;
			}
			if (c == '"' || c == '\\')
				text_ += '\\';
			text_ += c;
		}
		text_ += '"';
	}

	std::string text_;
	std::vector<bool> first_; // of each open bracket: nothing is in it yet
	bool compact_, after_key_ = false, new_line_ = false;
};

} // namespace pgas
