// SPDX-License-Identifier: BSD-3-Clause
// path_count.cpp: Pin tool. Counts the instructions of each call from entry to
// boundary, per address, and writes text that src/pin_engine.cpp reads:
//
// 	call <TAB> total <TAB> system calls
// 	at <TAB> image <TAB> address in the file <TAB> count <TAB> routine
//
// 	pin -t path_count.so -entry shmem_int_p -o out -- ./prog
#include <fstream>
#include <iostream>
#include <map>
#include <vector>

#include "path.hpp"

namespace {

KNOB<std::string> knob_entry(KNOB_MODE_WRITEONCE, "pintool", "entry", "", "function, IMAGE!FUNCTION or mark:NAME");
KNOB<std::string> knob_boundary(KNOB_MODE_WRITEONCE, "pintool", "boundary", "return",
				"return, syscall, image:PATTERN or symbol:NAME");
KNOB<UINT32> knob_calls(KNOB_MODE_WRITEONCE, "pintool", "calls", "23", "calls to record, warm-up included");
KNOB<std::string> knob_output(KNOB_MODE_WRITEONCE, "pintool", "o", "path_count.out", "output file");

struct record {
	UINT64 total = 0, syscalls = 0;
	std::map<ADDRINT, UINT64> counts;
};

path::finder finder;
path::call current;
PIN_LOCK lock;
std::vector<record> records;
bool forked = false, is_child = false;

VOID on_instruction(THREADID tid, ADDRINT pc, ADDRINT sp, BOOL is_begin, BOOL is_syscall)
{
	// Read without the lock: only this thread can make it true for itself.
	if (!is_begin && !current.on(tid))
		return;
	PIN_GetLock(&lock, static_cast<INT32>(tid) + 1);
	if (current.on(tid) && current.over(finder, pc, sp, is_syscall != 0))
		current.end();
	if (is_begin && !current.active() && records.size() < knob_calls.Value()) {
		records.push_back(record());
		current.begin(finder, tid, pc, sp);
		// An empty pair of marks ends where it begins.
		if (current.over(finder, pc, sp, is_syscall != 0))
			current.end();
	}
	if (current.on(tid)) {
		record &now = records.back();
		now.total++;
		now.syscalls += is_syscall != 0;
		now.counts[pc]++;
	}
	PIN_ReleaseLock(&lock);
}

VOID instrument(INS ins, VOID *)
{
	ADDRINT pc = INS_Address(ins);
	INS_InsertCall(ins, IPOINT_BEFORE, reinterpret_cast<AFUNPTR>(on_instruction), IARG_THREAD_ID, IARG_INST_PTR,
		       IARG_REG_VALUE, REG_STACK_PTR, IARG_BOOL, finder.begins(pc), IARG_BOOL, INS_IsSyscall(ins),
		       IARG_END);
}

VOID on_image(IMG img, VOID *)
{
	finder.image_loaded(img);
}

// What the program forks is not counted; that there was something is said.
VOID in_parent(THREADID, const CONTEXT *, VOID *)
{
	forked = true;
}

VOID in_child(THREADID, const CONTEXT *, VOID *)
{
	is_child = true;
	PIN_Detach();
}

VOID on_end(INT32, VOID *)
{
	if (is_child)
		return; // the file is the parent's
	std::ofstream out(knob_output.Value().c_str());
	out << "# path_count 1\n";
	if (forked)
		out << "# forked\n";
	if (!finder.found())
		out << "# no-symbol\n";
	for (const record &one : records) {
		out << "call\t" << one.total << '\t' << one.syscalls << '\n';
		for (const auto &line : one.counts) {
			const path::image *where = finder.find(line.first);
			std::string routine = RTN_FindNameByAddress(line.first);
			out << "at\t" << (where != nullptr ? where->path : "?") << "\t0x" << std::hex
			    << line.first - (where != nullptr ? where->offset : 0) << std::dec << '\t' << line.second
			    << '\t' << (routine.empty() ? "?" : routine) << '\n';
		}
	}
}

} // namespace

int main(int argc, char **argv)
{
	PIN_InitSymbols();
	if (PIN_Init(argc, argv) || !finder.parse(knob_entry.Value(), knob_boundary.Value())) {
		std::cerr << "path_count: -entry FUNCTION [-boundary B] [-calls N] [-o FILE]\n"
			  << KNOB_BASE::StringKnobSummary() << '\n';
		return 2;
	}
	PIN_InitLock(&lock);
	IMG_AddInstrumentFunction(on_image, nullptr);
	INS_AddInstrumentFunction(instrument, nullptr);
	PIN_AddForkFunction(FPOINT_AFTER_IN_PARENT, in_parent, nullptr);
	PIN_AddForkFunction(FPOINT_AFTER_IN_CHILD, in_child, nullptr);
	PIN_AddFiniFunction(on_end, nullptr);
	PIN_StartProgram();
	return 0;
}
