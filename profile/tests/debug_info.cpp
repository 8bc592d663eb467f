// SPDX-License-Identifier: BSD-3-Clause
//
// What the tools read from the debug information of a file that may be damaged; run_debug_info.sh calls it.
//
//	debug_info FILE NAME...		where variables are declared, and where their first line would be: NAME PLACE
//	debug_info --damage FILE SEED	the same for copies of FILE with random damage: the readers must survive
#include "tool_declared.hpp"
#include "tool_image.hpp"
#include "tool_lines.hpp"
#include "tool_symbols.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using pgas_tools::image;

constexpr int kRounds = 400;
constexpr int kBytesChanged = 12;

struct symbol {
	std::string name;
	uint64_t address;
	unsigned type;
};

std::vector<symbol> symbols_of(const char *path)
{
	const image file(path);
	const image::bytes table = file.section(".symtab"), names = file.section(".strtab");
	std::vector<symbol> found;
	for (const uint8_t *pos = table.begin; static_cast<size_t>(table.end - pos) >= sizeof(Elf64_Sym);
	     pos += sizeof(Elf64_Sym)) {
		Elf64_Sym s;
		memcpy(&s, pos, sizeof s);
		if (s.st_name < static_cast<size_t>(names.end - names.begin))
			found.push_back({reinterpret_cast<const char *>(names.begin) + s.st_name, s.st_value,
					 static_cast<unsigned>(ELF64_ST_TYPE(s.st_info))});
	}
	return found;
}

// The compiler may add a number to the name of a static variable.
bool is_named(const symbol &s, const char *name)
{
	const size_t bytes = strlen(name);
	return s.name.compare(0, bytes, name) == 0 && (s.name.size() == bytes || s.name[bytes] == '.');
}

int print_places(const char *path, char **names)
{
	const std::vector<symbol> symbols = symbols_of(path);
	for (; *names; names++)
		for (const symbol &s : symbols)
			if (s.type == STT_OBJECT && is_named(s, *names)) {
				uint64_t within = 1;
				const std::string name = pgas_tools::variable_at(path, s.address, within);
				const std::string place = pgas_tools::declaration_at(path, s.address);
				printf("%s %s\n", *names, place.empty() ? "unknown" : place.c_str());
				if (name != s.name || within != 0)
					return 1;
			}
	return 0;
}

struct random_numbers {
	uint64_t state;
	uint64_t below(uint64_t limit)
	{
		state = state * 6364136223846793005u + 1442695040888963407u;
		return (state >> 33) % limit;
	}
};

// A byte of one of the sections that the readers believe, or of the head or the table of sections.
size_t choose_byte(const image &file, const std::string &content, random_numbers &random)
{
	static const char *const names[] = {".debug_info", ".debug_abbrev",   ".debug_line",
					    ".debug_addr", ".debug_line_str", ".symtab"};
	const uint64_t choice = random.below(std::size(names) + 2);
	if (choice < std::size(names)) {
		const image::bytes s = file.section(names[choice]);
		if (s.begin != s.end)
			return static_cast<size_t>(s.begin - file.at<uint8_t>(0)) +
			       random.below(static_cast<uint64_t>(s.end - s.begin));
	}
	const Elf64_Ehdr *head = file.head();
	if (choice == std::size(names) && head)
		return (head->e_shoff + random.below(head->e_shnum * sizeof(Elf64_Shdr))) % content.size();
	return random.below(sizeof(Elf64_Ehdr));
}

void damage(const image &file, std::string &content, random_numbers &random)
{
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
	const size_t count = content.size();
	for (uint64_t i = random.below(kBytesChanged) + 1; i > 0; i--)
		content[choose_byte(file, content, random)] = static_cast<char>(
			random.below(2) ? random.below(256) : values[random.below(std::size(values))]);
	if (random.below(8) == 0)
		content.resize(random.below(count) + 1);
}

int damage_copies(const char *path, uint64_t seed)
{
	std::ifstream source(path, std::ios::binary);
	const std::string good{std::istreambuf_iterator<char>(source), {}};
	const std::vector<symbol> symbols = symbols_of(path);
	const image file(path);
	const std::string copy = std::string(path) + ".damaged";
	random_numbers random{seed};
	size_t found = 0, same = 0;
	for (int round = 0; round < kRounds; round++) {
		std::string content = good;
		damage(file, content, random);
		std::ofstream(copy, std::ios::binary) << content;
		for (const symbol &s : symbols) {
			uint64_t within;
			if (s.type == STT_OBJECT) {
				const std::string place = pgas_tools::declaration_at(copy.c_str(), s.address);
				found += !place.empty();
				same += place == pgas_tools::declaration_at(path, s.address) && !place.empty();
				pgas_tools::variable_at(copy.c_str(), s.address, within);
			} else if (s.type == STT_FUNC) {
				pgas_tools::line_at(copy.c_str(), s.address);
				pgas_tools::function_at(copy.c_str(), 0, s.address, within);
			}
		}
	}
	printf("%d damaged copies, %zu places found, %zu of them as in the whole file\n", kRounds, found, same);
	return same > 0 ? 0 : 1; // or the damage was so great that nothing was read
}

} // namespace

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "--damage") == 0)
		return damage_copies(argv[2], strtoull(argv[3], nullptr, 10));
	return argc > 2 ? print_places(argv[1], argv + 2) : 2;
}
