// SPDX-License-Identifier: BSD-3-Clause
// arch.hpp: everything the step engine must know about a processor. One
// source file per processor implements it (arch_x86_64.cpp, arch_aarch64.cpp);
// nothing outside these files asks which machine it runs on.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <sys/types.h>
#include <sys/user.h>
#include <vector>

namespace ic::arch {

extern const char *const kName;
extern const char *const kGlibcTunables; // makes libc choose the same variants under all engines

// The bytes that overwrite an instruction, and how far past them pc is after the trap.
extern const std::span<const uint8_t> kBreakpoint;
extern const uint64_t kBreakpointAdvance;

constexpr size_t kMaxInstruction = 16;

struct registers {
	user_regs_struct raw;
	uint64_t pc() const;
	uint64_t sp() const;
	void set_pc(uint64_t pc);
};

// Reads n bytes of the traced program. Returns false when they are not mapped.
using reader = std::function<bool(uint64_t addr, void *out, size_t n)>;

// Only valid at a function's first instruction.
uint64_t return_address(const registers &regs, const reader &read);
// The stack pointer just after the function of that frame has returned.
uint64_t sp_after_return(const registers &at_entry);

// landing_pad: marks where an indirect branch may arrive (endbr64, bti), and does nothing.
enum class insn_kind : uint8_t { plain, syscall, rep_string, exclusive_load, landing_pad };
insn_kind classify(std::span<const uint8_t> bytes);
// Length of a fixed-width instruction; 0 where lengths vary.
extern const unsigned kInsnBytes;

// A load-exclusive/store-exclusive sequence cannot be single-stepped: each
// trap clears the monitor and the store never succeeds. It runs at full speed
// instead, to a breakpoint on each of its exits; executed[i] lists what ran
// when exit i was reached.
struct exclusive_block {
	std::vector<uint64_t> exits;
	std::vector<std::vector<uint64_t>> executed;
	unsigned status_register = 0; // written by the store, whose exit is the last
};
// Whether the store at the end of the block failed because its reservation was lost.
bool store_failed(const registers &regs, const exclusive_block &block);
bool find_exclusive_block(uint64_t pc, const reader &read, exclusive_block &block);

} // namespace ic::arch
