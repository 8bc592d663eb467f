// SPDX-License-Identifier: BSD-3-Clause
// path_trace.cpp: Pin tool. Lists the executed instructions of one call, in
// order, with image, routine, source line and disassembly: to explain a count.
//
// 	pin -t path_trace.so -entry shmem_int_p -skip 3 -o out -- ./prog
#include <fstream>
#include <iostream>
#include <map>
#include <vector>

#include "path.hpp"

namespace {

KNOB<std::string> knob_entry(KNOB_MODE_WRITEONCE, "pintool", "entry", "", "function, IMAGE!FUNCTION or mark:NAME");
KNOB<std::string> knob_boundary(KNOB_MODE_WRITEONCE, "pintool", "boundary", "return",
				"return, syscall, image:PATTERN or symbol:NAME");
KNOB<UINT32> knob_skip(KNOB_MODE_WRITEONCE, "pintool", "skip", "3", "calls to let pass first");
KNOB<std::string> knob_output(KNOB_MODE_WRITEONCE, "pintool", "o", "path_trace.out", "output file");

path::finder finder;
path::call current;
PIN_LOCK lock;
UINT32 seen;
bool done;
std::vector<ADDRINT> trace;
std::map<ADDRINT, std::string> code; // disassembly, made when the code is first met

VOID on_instruction(THREADID tid, ADDRINT pc, ADDRINT sp, BOOL is_begin, BOOL is_syscall)
{
	if (done || (!is_begin && !current.on(tid)))
		return;
	PIN_GetLock(&lock, static_cast<INT32>(tid) + 1);
	if (current.on(tid) && current.over(finder, pc, sp, is_syscall != 0)) {
		current.end();
		done = true;
	}
	if (is_begin && !done && !current.active() && seen++ >= knob_skip.Value())
		current.begin(finder, tid, pc, sp);
	if (current.on(tid))
		trace.push_back(pc);
	PIN_ReleaseLock(&lock);
}

VOID instrument(INS ins, VOID *)
{
	ADDRINT pc = INS_Address(ins);
	code[pc] = INS_Disassemble(ins);
	INS_InsertCall(ins, IPOINT_BEFORE, reinterpret_cast<AFUNPTR>(on_instruction), IARG_THREAD_ID, IARG_INST_PTR,
		       IARG_REG_VALUE, REG_STACK_PTR, IARG_BOOL, finder.begins(pc), IARG_BOOL, INS_IsSyscall(ins),
		       IARG_END);
}

VOID on_image(IMG img, VOID *)
{
	finder.image_loaded(img);
}

VOID on_end(INT32, VOID *)
{
	std::ofstream out(knob_output.Value().c_str());
	std::string heading;
	size_t number = 0;
	for (ADDRINT pc : trace) {
		const path::image *where = finder.find(pc);
		std::string now = (where != nullptr ? path::base_name(where->path) : "?") + "!" +
				  RTN_FindNameByAddress(pc);
		if (now != heading)
			out << '\n' << now << '\n';
		heading = now;
		INT32 column = 0, line = 0;
		std::string file;
		PIN_LockClient();
		PIN_GetSourceLocation(pc, &column, &line, &file);
		PIN_UnlockClient();
		out << ++number << "\t0x" << std::hex << pc - (where != nullptr ? where->offset : 0) << std::dec << '\t'
		    << code[pc];
		if (!file.empty())
			out << "\t" << path::base_name(file) << ':' << line;
		out << '\n';
	}
	out << '\n' << trace.size() << " instructions\n";
}

} // namespace

int main(int argc, char **argv)
{
	PIN_InitSymbols();
	if (PIN_Init(argc, argv) || !finder.parse(knob_entry.Value(), knob_boundary.Value())) {
		std::cerr << "path_trace: -entry FUNCTION [-boundary B] [-skip N] [-o FILE]\n"
			  << KNOB_BASE::StringKnobSummary() << '\n';
		return 2;
	}
	PIN_InitLock(&lock);
	IMG_AddInstrumentFunction(on_image, nullptr);
	INS_AddInstrumentFunction(instrument, nullptr);
	PIN_AddFiniFunction(on_end, nullptr);
	PIN_StartProgram();
	return 0;
}
