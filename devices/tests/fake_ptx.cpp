// SPDX-License-Identifier: BSD-3-Clause
#include "fake_ptx.hpp"

#include "fake_driver.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fake {
namespace {

// --- reading ---------------------------------------------------------------------------------------------------------

constexpr const char *kSpecial[] = {"%tid.x", "%ntid.x", "%ctaid.x", "%nctaid.x", "%ctaid.y"};
// The start of an instruction, without rounding and scope, and its end before the type.
constexpr struct {
	const char *begin, *end;
	opcode what;
} kKnown[] = {
	{"ld.param", "", opcode::load_parameter},
	{"ld.global", "", opcode::load},
	{"ld.volatile.global", "", opcode::load},
	{"st.global", "", opcode::store},
	{"st.volatile.global", "", opcode::store},
	{"mov", "", opcode::mov},
	{"add", "", opcode::add},
	{"sub", "", opcode::sub},
	{"mul.wide", "", opcode::mul_wide},
	{"mul.lo", "", opcode::mul},
	{"mul.rn", "", opcode::mul},
	{"min", "", opcode::min},
	{"max", "", opcode::max},
	{"and", "", opcode::bit_and},
	{"or", "", opcode::bit_or},
	{"xor", "", opcode::bit_xor},
	{"setp.eq", "", opcode::set_eq},
	{"setp.ge", "", opcode::set_ge},
	{"setp.lt", "", opcode::set_lt},
	{"selp", "", opcode::select},
	{"cvta.to.global", "", opcode::convert},
	{"cvt", "", opcode::convert},
	{"bra", "", opcode::jump},
	{"ret", "", opcode::ret},
	{"atom.sys.global", "exch", opcode::atomic_exch},
	{"atom.sys.global", "cas", opcode::atomic_cas},
	{"atom.sys.global", "add", opcode::atomic_add},
	{"atom.sys.global", "and", opcode::atomic_and},
	{"atom.sys.global", "or", opcode::atomic_or},
	{"atom.sys.global", "xor", opcode::atomic_xor},
};

size_t bytes_of(const std::string &type) // "u32", "b8"; 0: not a type
{
	if (type.empty() || !strchr("usbf", type[0]))
		return 0;
	const int bits = atoi(type.c_str() + 1);
	return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? static_cast<size_t>(bits) / 8 : 0;
}

std::vector<std::string> split(const std::string &text, const char *pos)
{
	std::vector<std::string> parts;
	for (size_t start = 0; start < text.size();) {
		const size_t begin = text.find_first_not_of(pos, start);
		if (begin == std::string::npos)
			break;
		const size_t end = std::min(text.find_first_of(pos, begin), text.size());
		parts.push_back(text.substr(begin, end - begin));
		start = end;
	}
	return parts;
}

class reader {
public:
	bool entry(const std::string &head, const std::string &body, std::string &why);
	kernel made;

private:
	bool parameters(const std::string &head);
	bool statement(std::string text);
	bool operand_of(const std::string &word, bool address, operand &out);
	std::map<std::string, size_t> registers_, parameters_;
	std::map<std::string, size_t> labels_;
	std::vector<std::pair<size_t, std::string>> jumps_; // instruction, label
};

// "(.param .u64 count_p, .param .align 8 .b8 places_p[1024])"
bool reader::parameters(const std::string &head)
{
	for (const std::string &one : split(head, ",()")) {
		const std::vector<std::string> words = split(one, " \t\n");
		if (words.size() < 3 || words[0] != ".param")
			return words.empty();
		const bool array = words[1] == ".align";
		size_t bytes = bytes_of(words[array ? 3 : 1].substr(1));
		std::string name = words.back();
		if (const size_t bracket = name.find('['); bracket != std::string::npos) {
			bytes *= static_cast<size_t>(atol(name.c_str() + bracket + 1));
			name.resize(bracket);
		}
		if (!bytes)
			return false;
		const size_t align = std::min<size_t>(bytes, 8);
		made.all_bytes = (made.all_bytes + align - 1) / align * align;
		parameters_[name] = made.all_bytes;
		made.parameter_at.push_back(made.all_bytes);
		made.parameter_bytes.push_back(bytes);
		made.all_bytes += bytes;
	}
	return true;
}

bool reader::operand_of(const std::string &word, bool address, operand &out)
{
	using sort = operand::sort;
	if (const auto r = registers_.find(word); r != registers_.end()) {
		out = {address ? sort::address_reg : sort::reg, r->second};
		return true;
	}
	if (const auto p = parameters_.find(word); p != parameters_.end()) {
		out = {address ? sort::address_parameter : sort::parameter, p->second};
		return true;
	}
	for (size_t i = 0; i < std::size(kSpecial); i++)
		if (word == kSpecial[i]) {
			out = {sort::special, i};
			return !address;
		}
	const bool bits = word.compare(0, 2, "0f") == 0 || word.compare(0, 2, "0d") == 0;
	char *end = nullptr;
	out = {sort::number, strtoull(word.c_str() + (bits ? 2 : 0), &end, bits ? 16 : 10)};
	return !address && *end == '\0';
}

bool reader::statement(std::string text)
{
	const size_t begin = text.find_first_not_of(" \t\n");
	if (begin == std::string::npos)
		return true;
	text = text.substr(begin);
	if (const size_t colon = text.find(':'); colon != std::string::npos) {
		if (!labels_.emplace(text.substr(0, colon), made.code.size()).second)
			return false;
		return statement(text.substr(colon + 1));
	}
	if (text.compare(0, 5, ".reg ") == 0) {
		const std::vector<std::string> names = split(text, " \t\n,");
		for (size_t i = 2; i < names.size(); i++)
			if (!registers_.emplace(names[i], made.registers++).second)
				return false;
		return names.size() > 2;
	}
	instruction one;
	one.text = text;
	std::vector<std::string> words = split(text, " \t\n,{}");
	if (words[0][0] == '@') {
		const auto r = registers_.find(words[0].substr(1));
		if (r == registers_.end() || words.size() < 2)
			return false;
		one.guard = static_cast<int>(r->second);
		words.erase(words.begin());
	}
	const std::vector<std::string> parts = split(words[0], ".");
	for (const auto &known : kKnown)
		if (words[0].compare(0, strlen(known.begin), known.begin) == 0 &&
		    (!*known.end || (parts.size() > 2 && parts[parts.size() - 2] == known.end))) {
			one.what = known.what;
			break;
		}
	one.type = parts.back()[0];
	one.bytes = parts.back() == "pred" ? 8 : bytes_of(parts.back());
	if (one.what == opcode::none || (!one.bytes && one.what != opcode::jump && one.what != opcode::ret))
		return false;
	if (one.what == opcode::jump) {
		if (words.size() != 2)
			return false;
		jumps_.emplace_back(made.code.size(), words[1]);
	} else {
		for (size_t i = 1; i < words.size(); i++) {
			const bool address = words[i][0] == '[';
			operand o{};
			if (!operand_of(address ? split(words[i], "[]").at(0) : words[i], address, o))
				return false;
			one.operands.push_back(o);
		}
	}
	made.code.push_back(one);
	return true;
}

bool reader::entry(const std::string &head, const std::string &body, std::string &why)
{
	why = head;
	if (!parameters(head))
		return false;
	for (const std::string &one : split(body, ";")) {
		why = one;
		if (!statement(one))
			return false;
	}
	for (const auto &[index, label] : jumps_) {
		why = "bra " + label;
		const auto dest = labels_.find(label);
		if (dest == labels_.end())
			return false;
		made.code[index].operands.push_back({operand::sort::label, dest->second});
	}
	return !made.code.empty() && made.code.back().what == opcode::ret;
}

// --- running ---------------------------------------------------------------------------------------------------------

uint64_t cut(uint64_t bits, const instruction &insn)
{
	if (insn.bytes >= 8)
		return bits;
	const auto shift = static_cast<unsigned>(64 - 8 * insn.bytes);
	return insn.type == 's' ? static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift)
				: bits << shift >> shift;
}

template <class T>
T as(uint64_t bits)
{
	T value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

template <class T>
uint64_t bits_of(T value)
{
	uint64_t bits = 0;
	memcpy(&bits, &value, sizeof value);
	return bits;
}

template <class T>
uint64_t arithmetic(opcode what, T a, T b)
{
	switch (what) {
	case opcode::add:
		return bits_of<T>(static_cast<T>(a + b));
	case opcode::sub:
		return bits_of<T>(static_cast<T>(a - b));
	case opcode::mul:
		return bits_of<T>(static_cast<T>(a * b));
	default:
		return bits_of<T>(what == opcode::min ? std::min(a, b) : std::max(a, b));
	}
}

uint64_t calculate(opcode what, const instruction &insn, uint64_t a, uint64_t b)
{
	if (what == opcode::bit_and)
		return a & b;
	if (what == opcode::bit_or)
		return a | b;
	if (what == opcode::bit_xor)
		return a ^ b;
	if (insn.type == 'f')
		return insn.bytes == 4 ? arithmetic(what, as<float>(a), as<float>(b))
				       : arithmetic(what, as<double>(a), as<double>(b));
	if (insn.type == 's' && (what == opcode::min || what == opcode::max))
		return arithmetic(what, static_cast<int64_t>(cut(a, insn)), static_cast<int64_t>(cut(b, insn)));
	return cut(arithmetic(what, cut(a, insn), cut(b, insn)), insn);
}

bool is_less(const instruction &insn, uint64_t a, uint64_t b)
{
	if (insn.type == 'f')
		return insn.bytes == 4 ? as<float>(a) < as<float>(b) : as<double>(a) < as<double>(b);
	return insn.type == 's' ? static_cast<int64_t>(cut(a, insn)) < static_cast<int64_t>(cut(b, insn))
				: cut(a, insn) < cut(b, insn);
}

class machine {
public:
	machine(const kernel &k, const char *parameters, const thread_place &thread)
		: k_(k), parameters_(parameters), at_(thread), registers_(k.registers, 0xdeadbeefdeadbeef)
	{
	}
	bool run(std::string &why);

private:
	bool step(const instruction &insn);
	bool move(const instruction &insn);
	bool atomic(const instruction &insn);
	uint64_t value(const operand &o) const;
	uint64_t &target(const instruction &insn) { return registers_[insn.operands[0].value]; }

	const kernel &k_;
	const char *parameters_;
	thread_place at_;
	std::vector<uint64_t> registers_;
	size_t next_ = 0;
};

uint64_t machine::value(const operand &o) const
{
	using sort = operand::sort;
	const uint32_t special[] = {at_.thread, at_.threads, at_.block, at_.blocks, at_.block_y};
	switch (o.what) {
	case sort::reg:
	case sort::address_reg:
		return registers_[o.value];
	case sort::special:
		return special[o.value];
	default:
		return o.value;
	}
}

// Loads and stores, of one value or a vector of them.
bool machine::move(const instruction &insn)
{
	const bool load = insn.what != opcode::store, parameter = insn.what == opcode::load_parameter;
	const size_t lanes = insn.operands.size() - 1;
	const uint64_t pos = value(insn.operands[load ? lanes : 0]);
	if (pos % (insn.bytes * lanes) || (parameter && pos + insn.bytes > k_.all_bytes))
		return false;
	for (size_t i = 0; i < lanes; i++) {
		const char *src = parameter ? parameters_ + pos : reach_device(pos + i * insn.bytes, insn.bytes);
		if (!src)
			return false;
		uint64_t bits = load ? 0 : value(insn.operands[1 + i]);
		if (load) {
			memcpy(&bits, src, insn.bytes);
			registers_[insn.operands[i].value] = cut(bits, insn);
		} else {
			memcpy(const_cast<char *>(src), &bits, insn.bytes);
		}
	}
	return true;
}

bool machine::atomic(const instruction &insn)
{
	const uint64_t pos = value(insn.operands[1]);
	char *there = pos % insn.bytes ? nullptr : reach_device(pos, insn.bytes);
	if (!there)
		return false;
	const uint64_t b = value(insn.operands[2]), c = insn.operands.size() > 3 ? value(insn.operands[3]) : 0;
	const auto changed = [&](uint64_t was) {
		switch (insn.what) {
		case opcode::atomic_exch:
			return b;
		case opcode::atomic_cas:
			return was == cut(b, insn) ? c : was;
		case opcode::atomic_add:
			return was + b;
		case opcode::atomic_and:
			return was & b;
		case opcode::atomic_or:
			return was | b;
		default:
			return was ^ b;
		}
	};
	const auto apply = [&](auto *word) {
		auto was = __atomic_load_n(word, __ATOMIC_SEQ_CST);
		auto now = was;
		do
			now = static_cast<decltype(now)>(changed(was));
		while (!__atomic_compare_exchange_n(word, &was, now, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
		target(insn) = was;
	};
	if (insn.bytes == 8)
		apply(reinterpret_cast<uint64_t *>(there));
	else
		apply(reinterpret_cast<uint32_t *>(there));
	return true;
}

bool machine::step(const instruction &insn)
{
	const auto a = [&](size_t i) { return value(insn.operands[i]); };
	switch (insn.what) {
	case opcode::load:
	case opcode::load_parameter:
	case opcode::store:
		return move(insn);
	case opcode::jump:
		next_ = a(0);
		return true;
	case opcode::mov:
		target(insn) = a(1);
		return true;
	case opcode::convert:
		target(insn) = cut(a(1), insn);
		return true;
	case opcode::set_eq:
		target(insn) = cut(a(1), insn) == cut(a(2), insn);
		return true;
	case opcode::set_ge:
		target(insn) = !is_less(insn, a(1), a(2));
		return true;
	case opcode::set_lt:
		target(insn) = is_less(insn, a(1), a(2));
		return true;
	case opcode::select:
		target(insn) = a(3) ? a(1) : a(2);
		return true;
	case opcode::mul_wide:
		target(insn) = cut(a(1), insn) * cut(a(2), insn);
		return true;
	default:
		if (insn.what >= opcode::atomic_exch)
			return atomic(insn);
		target(insn) = calculate(insn.what, insn, a(1), a(2));
		return true;
	}
}

bool machine::run(std::string &why)
{
	while (next_ < k_.code.size()) {
		const instruction &insn = k_.code[next_++];
		if (insn.guard >= 0 && !registers_[static_cast<size_t>(insn.guard)])
			continue;
		if (insn.what == opcode::ret)
			return true;
		if (!step(insn)) {
			why = insn.text;
			return false;
		}
	}
	return true;
}

} // namespace

bool read_ptx(const std::string &text, std::map<std::string, kernel> &out, std::string &why)
{
	static const std::string kEntry = ".visible .entry ";
	for (size_t pos = text.find(kEntry); pos != std::string::npos; pos = text.find(kEntry, pos)) {
		pos += kEntry.size();
		const size_t open = text.find('(', pos), body = text.find('{', pos), end = text.find("\n}", pos);
		why = text.substr(pos, 60);
		if (open == std::string::npos || body == std::string::npos || end == std::string::npos)
			return false;
		reader r;
		if (!r.entry(text.substr(open, body - open), text.substr(body + 1, end - body - 1), why))
			return false;
		out[text.substr(pos, open - pos)] = r.made;
	}
	return !out.empty();
}

bool run_thread(const kernel &k, const char *parameters, const thread_place &thread, std::string &why)
{
	return machine(k, parameters, thread).run(why);
}

} // namespace fake
