// SPDX-License-Identifier: BSD-3-Clause
// arch_x86_64.cpp: registers and instruction kinds of x86_64.
#include "arch.hpp"

#ifdef __x86_64__

namespace ic::arch {

const char *const kName = "x86_64";
const char *const kGlibcTunables = "glibc.cpu.hwcaps=-AVX512VL,-AVX512F,-ERMS";

static constexpr uint8_t kInt3[] = {0xcc};
const std::span<const uint8_t> kBreakpoint(kInt3);
const uint64_t kBreakpointAdvance = 1;
const unsigned kInsnBytes = 0;

uint64_t registers::pc() const
{
	return raw.rip;
}
uint64_t registers::sp() const
{
	return raw.rsp;
}
void registers::set_pc(uint64_t pc)
{
	raw.rip = pc;
	// Not inside a system call: the kernel must not "restart" one.
	raw.orig_rax = ~0ull;
}

uint64_t return_address(const registers &regs, const reader &read)
{
	uint64_t address = 0;
	read(regs.raw.rsp, &address, sizeof(address));
	return address;
}

uint64_t sp_after_return(const registers &at_entry)
{
	return at_entry.raw.rsp + 8;
}

insn_kind classify(std::span<const uint8_t> bytes)
{
	if (bytes.size() >= 4 && bytes[0] == 0xf3 && bytes[1] == 0x0f && bytes[2] == 0x1e && bytes[3] == 0xfa)
		return insn_kind::landing_pad;
	size_t i = 0;
	bool rep = false;
	for (; i < bytes.size(); i++) {
		uint8_t b = bytes[i];
		if (b == 0xf2 || b == 0xf3)
			rep = true;
		else if (b != 0x66 && b != 0x67 && (b & 0xf0) != 0x40)
			break;
	}
	if (i + 1 < bytes.size() && bytes[i] == 0x0f && (bytes[i + 1] == 0x05 || bytes[i + 1] == 0x34))
		return insn_kind::syscall;
	if (i + 1 < bytes.size() && bytes[i] == 0xcd && bytes[i + 1] == 0x80)
		return insn_kind::syscall;
	if (rep && i < bytes.size()) {
		uint8_t op = bytes[i];
		if ((op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf) || (op >= 0x6c && op <= 0x6f))
			return insn_kind::rep_string;
	}
	return insn_kind::plain;
}

bool store_failed(const registers &, const exclusive_block &)
{
	return false;
}

bool find_exclusive_block(uint64_t, const reader &, exclusive_block &)
{
	return false;
}

} // namespace ic::arch

#endif
