// SPDX-License-Identifier: BSD-3-Clause
// arch_aarch64.cpp: registers, instruction kinds and exclusive sequences of aarch64.
#include "arch.hpp"

#ifdef __aarch64__

#include <algorithm>
#include <cstring>

namespace ic::arch {

const char *const kName = "aarch64";
const char *const kGlibcTunables = "glibc.cpu.name=generic";

static constexpr uint8_t kBrk[] = {0x00, 0x00, 0x20, 0xd4}; // brk #0
const std::span<const uint8_t> kBreakpoint(kBrk);
const uint64_t kBreakpointAdvance = 0;
const unsigned kInsnBytes = 4;

// Longest exclusive sequence considered; real ones have three to eight instructions.
static constexpr unsigned kMaxBlock = 24;

uint64_t registers::pc() const
{
	return raw.pc;
}
uint64_t registers::sp() const
{
	return raw.sp;
}
void registers::set_pc(uint64_t pc)
{
	raw.pc = pc;
}

uint64_t return_address(const registers &regs, const reader &)
{
	return regs.raw.regs[30];
}

uint64_t sp_after_return(const registers &at_entry)
{
	return at_entry.raw.sp;
}

// Load/store exclusive class; CASP shares the encoding space, o1 with bit 31 clear.
static bool is_exclusive(uint32_t insn, bool load)
{
	if ((insn & 0x3f800000) != 0x08000000)
		return false;
	bool pair_bit = (insn & (1u << 21)) != 0;
	if (pair_bit && (insn & (1u << 31)) == 0)
		return false;
	return ((insn & (1u << 22)) != 0) == load;
}

insn_kind classify(std::span<const uint8_t> bytes)
{
	uint32_t insn = 0;
	if (bytes.size() < sizeof(insn))
		return insn_kind::plain;
	memcpy(&insn, bytes.data(), sizeof(insn));
	if ((insn & 0xffe0001f) == 0xd4000001)
		return insn_kind::syscall;
	if ((insn & 0xffffff3f) == 0xd503241f)
		return insn_kind::landing_pad;
	return is_exclusive(insn, true) ? insn_kind::exclusive_load : insn_kind::plain;
}

static int64_t sign_extend(uint32_t value, unsigned bits)
{
	return static_cast<int64_t>(uint64_t(value) << (64 - bits)) >> (64 - bits);
}

// Target of b.cond, cbz/cbnz, tbz/tbnz; false for anything else.
static bool conditional_target(uint32_t insn, uint64_t pc, uint64_t &target)
{
	int64_t offset;
	if ((insn & 0xff000000) == 0x54000000 || (insn & 0x7e000000) == 0x34000000)
		offset = sign_extend((insn >> 5) & 0x7ffff, 19);
	else if ((insn & 0x7e000000) == 0x36000000)
		offset = sign_extend((insn >> 5) & 0x3fff, 14);
	else
		return false;
	target = pc + static_cast<uint64_t>(offset * 4);
	return true;
}

// Branches, exceptions and system instructions, except the conditional branches above.
static bool leaves_straight_line(uint32_t insn)
{
	return (insn & 0x7c000000) == 0x14000000 || (insn & 0xfe000000) == 0xd6000000 ||
	       (insn & 0xff000000) == 0xd4000000;
}

bool store_failed(const registers &regs, const exclusive_block &block)
{
	return block.status_register < 31 && (regs.raw.regs[block.status_register] & 0xffffffff) != 0;
}

bool find_exclusive_block(uint64_t pc, const reader &read, exclusive_block &block)
{
	block = {};
	std::vector<uint64_t> line;
	for (unsigned i = 0; i < kMaxBlock; i++) {
		uint64_t insn_addr = pc + 4ull * i;
		uint32_t insn = 0;
		if (!read(insn_addr, &insn, sizeof(insn)) || leaves_straight_line(insn))
			return false;
		line.push_back(insn_addr);
		uint64_t target;
		if (conditional_target(insn, insn_addr, target)) {
			block.exits.push_back(target);
			block.executed.push_back(line);
		} else if (is_exclusive(insn, false)) {
			// Stop right after the store: its status is known, and a retry is stepped and counted like any
			// other code.
			block.status_register = (insn >> 16) & 31;
			block.exits.push_back(insn_addr + 4);
			block.executed.push_back(line);
			// An exit inside the sequence would not tell which instructions ran.
			return std::none_of(block.exits.begin(), block.exits.end(),
					    [&](uint64_t e) { return e >= pc && e <= insn_addr; });
		}
	}
	return false;
}

} // namespace ic::arch

#endif
