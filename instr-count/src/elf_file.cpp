// SPDX-License-Identifier: BSD-3-Clause
// elf_file.cpp: a bounds-checked reader for 64-bit little-endian ELF. It survives a damaged file, but loses symbols.
#include "elf_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <elf.h>
#include <map>

#include "text.hpp"

namespace ic {

namespace {

// One record of the pgas_marks section, as pgas_mark.h writes it.
struct mark_record {
	int32_t relative; // mark address minus the address of this field
	uint32_t kind;
	char name[24];
};
static_assert(sizeof(mark_record) == 32);

template <typename T>
bool read_at(const std::string &bytes, uint64_t offset, T &out)
{
	if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
		return false;
	memcpy(&out, bytes.data() + offset, sizeof(T));
	return true;
}

std::string_view string_at(const std::string &bytes, const Elf64_Shdr &strings, uint64_t index)
{
	if (index >= strings.sh_size || strings.sh_offset > bytes.size() ||
	    strings.sh_size > bytes.size() - strings.sh_offset)
		return {};
	const char *start = bytes.data() + strings.sh_offset + index;
	return {start, strnlen(start, strings.sh_size - index)};
}

uint8_t name_rank(unsigned bind, std::string_view name)
{
	uint8_t rank = bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 2 : 4;
	return static_cast<uint8_t>(rank + (name.starts_with('_') ? 1 : 0));
}

} // namespace

std::string demangle(std::string_view name)
{
	if (!name.starts_with("_Z"))
		return std::string(name);
	int status = 0;
	char *plain = abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status);
	std::string out(status == 0 ? plain : std::string(name).c_str());
	free(plain);
	return out;
}

std::shared_ptr<const elf_file> elf_file::open(const std::string &path)
{
	// Paths run many programs with the same libraries: read each library once.
	static std::map<std::string, std::shared_ptr<const elf_file>> cache;
	auto found = cache.find(path);
	if (found != cache.end())
		return found->second;
	std::string bytes;
	std::shared_ptr<const elf_file> file;
	if (read_file(path, bytes))
		file = parse(std::move(bytes));
	cache[path] = file;
	return file;
}

std::shared_ptr<const elf_file> elf_file::parse(std::string bytes)
{
	auto file = std::make_shared<elf_file>();
	file->bytes_ = std::move(bytes);
	return file->load() ? file : nullptr;
}

bool elf_file::load()
{
	Elf64_Ehdr head;
	if (!read_at(bytes_, 0, head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	entry_ = head.e_entry;

	for (unsigned i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr ph;
		if (!read_at(bytes_, head.e_phoff + uint64_t(i) * head.e_phentsize, ph))
			break;
		if (ph.p_type == PT_LOAD)
			segments_.push_back(
				{ph.p_offset, ph.p_vaddr, ph.p_filesz, ph.p_memsz, (ph.p_flags & PF_X) != 0});
		else if (ph.p_type == PT_DYNAMIC)
			dynamic_addr_ = ph.p_vaddr;
	}

	auto section = [&](size_t i, Elf64_Shdr &sh) {
		return i < head.e_shnum && read_at(bytes_, head.e_shoff + i * head.e_shentsize, sh);
	};
	Elf64_Shdr names{}, sh;
	if (!section(head.e_shstrndx, names))
		return true;
	for (size_t i = 0; section(i, sh); i++)
		if ((sh.sh_flags & SHF_EXECINSTR) != 0)
			code_sections_.push_back({sh.sh_addr, sh.sh_addr + sh.sh_size,
						  std::string(string_at(bytes_, names, sh.sh_name))});
	for (size_t i = 0; section(i, sh); i++) {
		std::string_view name = string_at(bytes_, names, sh.sh_name);
		if (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM)
			load_symbols(head.e_shoff + i * head.e_shentsize,
				     head.e_shoff + uint64_t(sh.sh_link) * head.e_shentsize, sh.sh_type == SHT_DYNSYM);
		if (name == "pgas_marks" && sh.sh_type != SHT_NOBITS && sh.sh_offset <= bytes_.size())
			load_marks(sh.sh_addr, std::string_view(bytes_).substr(sh.sh_offset, sh.sh_size));
	}
	std::stable_sort(symbols_.begin(), symbols_.end(), [](const auto &a, const auto &b) {
		return a.addr != b.addr ? a.addr < b.addr : a.rank < b.rank;
	});
	return true;
}

void elf_file::load_symbols(size_t table, size_t strings, bool dynamic)
{
	Elf64_Shdr tab, str;
	if (!read_at(bytes_, table, tab) || !read_at(bytes_, strings, str))
		return;
	if (!dynamic)
		has_symtab_ = true;
	for (uint64_t pos = 0; pos + sizeof(Elf64_Sym) <= tab.sh_size; pos += sizeof(Elf64_Sym)) {
		Elf64_Sym sym;
		if (!read_at(bytes_, tab.sh_offset + pos, sym))
			return;
		unsigned type = ELF64_ST_TYPE(sym.st_info);
		if (sym.st_shndx == SHN_UNDEF || sym.st_value == 0 ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
			continue;
		std::string_view name = string_at(bytes_, str, sym.st_name);
		name = name.substr(0, name.find('@'));
		// $x and $d are mapping symbols of the Arm assembler, not functions.
		if (name.empty() || name[0] == '$' || section_at(sym.st_value).empty())
			continue;
		symbols_.push_back({sym.st_value, sym.st_size, name, type == STT_GNU_IFUNC,
				    name_rank(ELF64_ST_BIND(sym.st_info), name)});
	}
}

void elf_file::load_marks(uint64_t addr, std::string_view bytes)
{
	for (size_t pos = 0; pos + sizeof(mark_record) <= bytes.size(); pos += sizeof(mark_record)) {
		mark_record record;
		memcpy(&record, bytes.data() + pos, sizeof(record));
		uint64_t place = addr + pos + static_cast<uint64_t>(int64_t(record.relative));
		if (record.kind <= 1)
			marks_.push_back({place, mark_kind(record.kind),
					  std::string(record.name, strnlen(record.name, sizeof(record.name)))});
	}
}

std::vector<const elf_symbol *> elf_file::find(const std::string &name) const
{
	std::vector<const elf_symbol *> out;
	bool plain = name.find("::") != std::string::npos || name.find('(') != std::string::npos;
	for (const elf_symbol &symbol : symbols_) {
		bool same = symbol.name == name;
		if (!same && plain && symbol.name.starts_with("_Z")) {
			std::string readable = demangle(symbol.name);
			same = readable == name || readable.substr(0, readable.find('(')) == name;
		}
		if (same && (out.empty() || out.back()->addr != symbol.addr))
			out.push_back(&symbol);
	}
	return out;
}

const elf_symbol *elf_file::at(uint64_t addr) const
{
	auto after = std::upper_bound(symbols_.begin(), symbols_.end(), addr,
				      [](uint64_t a, const elf_symbol &s) { return a < s.addr; });
	// Labels without a size may be inside a sized function, so search a little further back for one that really
	// contains the address.
	const elf_symbol *nearest = nullptr, *holder = nullptr;
	unsigned looked = 0;
	for (auto it = after; it != symbols_.begin() && looked < 32; looked++) {
		--it;
		if (nearest == nullptr || it->addr == nearest->addr)
			nearest = &*it;
		if (it->size != 0 && addr < it->addr + it->size && (holder == nullptr || it->addr == holder->addr))
			holder = &*it;
		else if (holder != nullptr)
			break;
	}
	if (holder != nullptr)
		return holder;
	// Hand-written code extends to the next symbol, but not across a section.
	if (nearest != nullptr && nearest->size == 0 && section_at(addr) == section_at(nearest->addr))
		return nearest;
	return nullptr;
}

std::vector<std::string> elf_file::names_at(uint64_t addr) const
{
	std::vector<std::string> out;
	for (const elf_symbol &symbol : symbols_)
		if (symbol.addr == addr && std::find(out.begin(), out.end(), symbol.name) == out.end())
			out.emplace_back(symbol.name);
	return out;
}

std::string_view elf_file::bytes_at(uint64_t addr, size_t n) const
{
	for (const elf_segment &segment : segments_) {
		if (addr < segment.addr || addr - segment.addr >= segment.file_size)
			continue;
		uint64_t left = segment.file_size - (addr - segment.addr);
		uint64_t offset = segment.file_offset + (addr - segment.addr);
		if (offset < bytes_.size())
			return std::string_view(bytes_).substr(offset, std::min<uint64_t>(n, left));
	}
	return {};
}

std::string elf_file::section_at(uint64_t addr) const
{
	for (const elf_range &section : code_sections_)
		if (addr >= section.begin && addr < section.end)
			return section.name;
	return {};
}

} // namespace ic
