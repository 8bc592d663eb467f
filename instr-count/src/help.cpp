// SPDX-License-Identifier: BSD-3-Clause
// help.cpp: the text of --help. instr-count(1) is the long form.
#include "commands.hpp"

namespace ic {

namespace {

struct help_entry {
	const char *command;
	const char *text;
};

constexpr const char *kGeneral =
	"Usage: instr-count COMMAND [OPTION...] [ARGUMENT...]\n"
	"Counts the user instructions of one call, exactly, and shows where they go.\n"
	"\n"
	"  list                   paths of paths.def and whether their drivers are built\n"
	"  run [PATH...]          count paths\n"
	"  report                 the paper's figures next to ours, text, HTML, SVG, CSV or JSON\n"
	"  explain PATH           the executed instructions of one call, with source lines\n"
	"  check [PATH...]        fail when a path exceeds its budget\n"
	"  diff OLD NEW           compare two result files\n"
	"  count --entry FN -- PROGRAM [ARGUMENT...]\n"
	"                         count a function of any program\n"
	"\n"
	"'instr-count COMMAND --help' says more. PATH may be a shell pattern.\n"
	"Exit status: 0 good, 1 over budget or grown, 2 wrong use, 3 no such symbol,\n"
	"4 never called, 5 the program failed, 6 engine missing, 7 other failure,\n"
	"77 the program says that what it needs is not here.\n";

constexpr help_entry kHelp[] = {
	{"list", "Usage: instr-count list [PATH...]\n"
		 "Shows each path with its budget for this machine, entry, boundary and driver.\n"},
	{"run", "Usage: instr-count run [OPTION...] [PATH...]\n"
		"Counts the paths (all without a name) and prints a table.\n"
		"\n"
		"  --engine NAME    step (default), valgrind, callgrind or pin\n"
		"  --calls N        calls to count (20)     --warmup N   calls to drop first (3)\n"
		"  --json FILE      also write the results ('-' for standard output only)\n"
		"  --timeout S      seconds that each program may take (600; 0 for any time)\n"
		"  --time           also measure the time of a call, of paths with a figure\n"
		"  --native-libc    let libc choose its own memcpy; counts then differ by machine\n"},
	{"check", "Usage: instr-count check [OPTION...] [PATH...]\n"
		  "Counts the paths and fails (1) when a median exceeds its budget, or when a\n"
		  "hand-counted function does not match exactly. Paths not built are skipped.\n"
		  "\n"
		  "  --agree          count with valgrind too and demand the same numbers\n"
		  "  --engine NAME, --calls N, --warmup N, --timeout S, --native-libc: as for run\n"},
	{"report", "Usage: instr-count report [OPTION...] [PATH...]\n"
		   "The paper's figures with its numbers, peers and ours, and the latency model.\n"
		   "\n"
		   "  --from FILE      use the results of an earlier 'run --json FILE', of PATH only;\n"
		   "                   once more: what the first file has no number of\n"
		   "  --short          the figures alone, one line per operation\n"
		   "  --json, --csv, --html, --svg   another form than text\n"
		   "  --latency-svg    the latency plot alone\n"
		   "  -o FILE          write there instead of standard output\n"
		   "  --cpi X          cycles per instruction for the latency model\n"
		   "  --ghz X          frequency for the latency model\n"
		   "  --engine NAME, --calls N, --warmup N, --timeout S, --time, --native-libc:\n"
		   "                   as for run\n"},
	{"explain", "Usage: instr-count explain PATH\n"
		    "       instr-count explain --entry FN [--boundary B] -- PROGRAM [ARGUMENT...]\n"
		    "Prints every instruction one median call executed, with routine, source line\n"
		    "and disassembly where objdump and addr2line are installed.\n"
		    "\n"
		    "  --limit N        stop after N instructions (2000)\n"
		    "  --pe N           under a launcher: explain this PE\n"
		    "  --timeout S      seconds that the program may take (600; 0 for any time)\n"
		    "  -o FILE          write there instead of standard output\n"},
	{"diff", "Usage: instr-count diff OLD.json NEW.json\n"
		 "Shows what changed between two 'run --json' files of the same kind of machine;\n"
		 "1 when a path grew.\n"},
	{"count", "Usage: instr-count count --entry FN [OPTION...] -- PROGRAM [ARGUMENT...]\n"
		  "Counts calls of one function of any program, also of libraries it loads later.\n"
		  "\n"
		  "  --entry FN       function, IMAGE!FUNCTION, or mark:NAME (pgas_mark.h)\n"
		  "  --boundary B     return (default), syscall, image:PATTERN, symbol:NAME;\n"
		  "                   the instruction at the boundary is not counted\n"
		  "  --pe N           under a launcher: count on this PE, just run on the others\n"
		  "  --engine NAME    step (default), valgrind, callgrind or pin\n"
		  "  --calls N        calls to count (20)     --warmup N   calls to drop first (3)\n"
		  "  --max-instructions N   give up on a call after N (20000000)\n"
		  "  --timeout S      seconds that the program may take (600; 0 for any time)\n"
		  "  --json FILE      write the result ('-' for standard output only)\n"
		  "  --quiet          print nothing else\n"
		  "  --native-libc    let libc choose its own memcpy\n"},
};

} // namespace

std::string help_text(const std::string &command)
{
	for (const help_entry &entry : kHelp)
		if (command == entry.command)
			return entry.text;
	return kGeneral;
}

} // namespace ic
