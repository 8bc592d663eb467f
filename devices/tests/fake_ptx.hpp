// SPDX-License-Identifier: BSD-3-Clause
//
// The fake CUDA driver's replacement for a device: it reads the text of a kernel and executes it, thread after thread,
// so that the tests run the kernels themselves and not a model of them. It knows the instructions that our kernels use,
// and refuses the rest as a driver refuses a text that it cannot compile: unknown instructions, undeclared registers,
// missing labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fake {

struct operand {
	enum class sort { reg, number, special, address_reg, address_parameter, label, parameter } what;
	uint64_t value; // number of the register, offset of the parameter, target of the label, bits
};

// clang-format off
enum class opcode {
	load, load_parameter, store, mov, add, sub, mul, min, max, bit_and, bit_or, bit_xor, mul_wide,
	set_eq, set_ge, set_lt, select, convert, jump, ret,
	atomic_exch, atomic_cas, atomic_add, atomic_and, atomic_or, atomic_xor, none,
};
// clang-format on

struct instruction {
	int guard = -1; // register that must be true
	opcode what = opcode::none;
	char type = 'u'; // u, s, b, f
	size_t bytes = 0;
	std::vector<operand> operands;
	std::string text; // for messages
};

struct kernel {
	std::vector<size_t> parameter_bytes;
	std::vector<size_t> parameter_at;
	size_t all_bytes = 0; // of parameters
	size_t registers = 0;
	std::vector<instruction> code;
};

// Reads all kernels of a text, by name. Returns false with the bad line in `why`.
bool read_ptx(const std::string &text, std::map<std::string, kernel> &out, std::string &why);

// Runs one thread. Returns false if it accessed memory that is not the device's, with the place in `why`.
struct thread_place {
	uint32_t thread, threads, block, blocks, block_y;
};
bool run_thread(const kernel &k, const char *parameters, const thread_place &thread, std::string &why);

} // namespace fake
