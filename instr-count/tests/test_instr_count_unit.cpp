// SPDX-License-Identifier: BSD-3-Clause
// test_instr_count_unit.cpp: the parts of instr-count that need no traced
// program: tables, result files, engine output, symbols, options.
#include <cstring>
#include <iterator>

#include "arch.hpp"
#include "callgrind_engine.hpp"
#include "elf_file.hpp"
#include "error.hpp"
#include "json.hpp"
#include "options.hpp"
#include "path_table.hpp"
#include "pin_engine.hpp"
#include "report.hpp"
#include "result_set.hpp"
#include "text.hpp"

// Last: it makes a macro of fail(), which C++ headers use as a name.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}
#undef fail

using namespace ic;

namespace {

// The exit status a call fails with, ok when it does not fail.
template <typename F>
int status_of(F f)
{
	try {
		f();
	} catch (const failure &e) {
		return static_cast<int>(e.code());
	}
	return 0;
}

constexpr int kUsage = static_cast<int>(exit_code::usage);

const char *kTable = "# comment\n"
		     "%layer | SHMEM | libsma.so* | */shmem/*\n"
		     "%layer | provider | libpgas* | */prov/pgas/*\n"
		     "%layer | libc | libc.so* | -\n"
		     "%launch | run | launcher -n %n --\n"
		     "%figure | 6 | Six\n"
		     "one | ours | drv arg | - | f | return | 11 | 12 | 6:row | a path\n"
		     "two | peer | drv | run:2 | mark:m | return | 0 | 0 | - | another\n";

path_table sample()
{
	path_table table;
	table.parse_paths(kTable, "t");
	table.parse_published("6 | row | Someone | 388 | paper\n", "p");
	return table;
}

void test_paths_good_lines_are_read(void **)
{
	path_table table = sample();
	assert_int_equal(table.paths.size(), 2);
	assert_string_equal(table.paths[0].driver.c_str(), "drv arg");
	assert_int_equal(table.paths[0].budget_x86_64.gcc, 11);
	assert_int_equal(table.paths[0].budget_aarch64.clang, 12);
	assert_int_equal(table.paths[1].pes, 2);
	assert_string_equal(table.launchers["run"].c_str(), "launcher -n %n --");
	assert_int_equal(table.published[0].count, 388);
	assert_null(table.find("three"));
	assert_int_equal(table.select({"t*"}).size(), 1);
	assert_int_equal(table.select({}).size(), 2);
	assert_int_equal(status_of([&] { table.select({"three"}); }), kUsage);
	table.parse_paths("four | ours | d | - | f | return | =" + table.paths[0].name + " | =" + table.paths[0].name +
				  " | - | as much as the first\n",
			  "t");
	assert_int_equal(table.paths[2].budget_x86_64.gcc, 11);
	assert_int_equal(table.paths[2].budget_aarch64.gcc, 12);
	table.parse_paths("five | ours | d | - | f | return | 40/52 | 61 | - | longer by clang\n"
			  "six | ours | d | - | f | return | =five | =five | - | as much\n",
			  "t");
	assert_int_equal(table.paths[4].budget_x86_64.gcc, 40);
	assert_int_equal(table.paths[4].budget_x86_64.clang, 52);
	assert_int_equal(table.paths[4].budget_aarch64.clang, 61);
}

void test_paths_bad_lines_are_refused(void **)
{
	const char *bad[] = {
		"one | two\n",
		"a | ours | d | - | f | return | =nobody | 1 | - | text\n",
		"a | ours | d | - | f | return | 1 | =a | - | text\n",
		"a | ours | d | - | f | return | x | 1 | - | text\n",
		"a | ours | d | - | f | return | -1 | 1 | - | text\n",
		"a | ours | d | - | f | return | 20/21 | 1 | - | text\n",
		"a | ours | d | - | f | return | 40/ | 1 | - | text\n",
		"a | ours | d | - | f | return | 40/50/60 | 1 | - | text\n",
		"a | ours | d | nolauncher:2 | f | return | 1 | 1 | - | text\n",
		"a | ours | d | - | f | sideways | 1 | 1 | - | text\n",
		"a | ours | d | - |  | return | 1 | 1 | - | text\n",
		" | ours | d | - | f | return | 1 | 1 | - | text\n",
		"a | ours |  | - | f | return | 1 | 1 | - | text\n",
		"a | ours | d | - | f | return | 1 | 1 | - | text\na | ours | d | - | f | return | 1 | 1 | - | text\n",
		"%nonsense | x\n",
		"%layer | x\n",
	};
	for (const char *text : bad) {
		path_table table;
		assert_int_equal(status_of([&] { table.parse_paths(text, "t"); }), kUsage);
	}
	path_table table;
	assert_int_equal(status_of([&] { table.parse_published("6 | row | who | many | paper\n", "p"); }), kUsage);
	assert_int_equal(status_of([&] { table.parse_published("6 | row\n", "p"); }), kUsage);
}

void test_layers_source_wins_over_image(void **)
{
	path_table table = sample();
	assert_string_equal(table.layer_of("libsma.so.1", "").c_str(), "SHMEM");
	assert_string_equal(table.layer_of("libsma.so.1", "/x/prov/pgas/hot.h").c_str(), "provider");
	assert_string_equal(table.layer_of("libc.so.6", "./malloc.c").c_str(), "libc");
	assert_string_equal(table.layer_of("a.out", "").c_str(), "other");
}

void test_entry_and_boundary_forms(void **)
{
	entry_point e = entry_point::parse("libsma.so*!shmem_int_p");
	assert_string_equal(e.image_pattern.c_str(), "libsma.so*");
	assert_string_equal(e.name.c_str(), "shmem_int_p");
	assert_true(entry_point::parse("mark:put8").is_mark);
	assert_string_equal(entry_point::parse("x!mark:put8").text().c_str(), "x!mark:put8");
	assert_true(boundary::parse("image:libfabric*").kind == boundary::at_image);
	assert_true(boundary::parse("symbol:f").kind == boundary::at_symbol);
	assert_true(boundary::parse("syscall").kind == boundary::at_syscall);
	assert_string_equal(boundary::parse("").text().c_str(), "return");
	assert_int_equal(status_of([] { boundary::parse("image:"); }), kUsage);
	assert_int_equal(status_of([] { entry_point::parse(""); }), kUsage);
}

void test_summary_drops_warmup_takes_lower_median(void **)
{
	count_request request;
	request.entry = entry_point::parse("f");
	request.warmup = 2;
	request.calls = 4;
	std::vector<call_record> records(7);
	uint64_t totals[] = {900, 800, 5, 7, 6, 8, 99};
	for (size_t i = 0; i < 7; i++)
		records[i].total = totals[i];
	measurement m = summarize(request, "step", records);
	assert_int_equal(m.calls.size(), 4);
	assert_int_equal(m.min(), 5);
	assert_int_equal(m.median(), 6);
	assert_int_equal(m.max(), 8);
	assert_true(m.notes.empty());
	m = summarize(request, "step", {records[0]});
	assert_int_equal(m.median(), 900);
	assert_int_equal(m.notes.size(), 1);
}

void test_json_round_trip(void **)
{
	result_set set;
	set.arch = "x86_64";
	set.engine = "step";
	path_result r;
	r.path = "a \"quoted\" \\ path\n";
	r.median = r.min = r.max = 16;
	r.budget = 11;
	r.layers = {{"SHMEM", 12}, {"libc", 4}};
	r.routines = {{"libsma.so", "f", 16}};
	r.notes = {"note"};
	set.results.push_back(r);
	result_set back = result_set::from_json(set.to_json(), "t");
	assert_string_equal(back.arch.c_str(), "x86_64");
	assert_string_equal(back.results[0].path.c_str(), r.path.c_str());
	assert_int_equal(back.results[0].median, 16);
	assert_true(back.results[0].over_budget());
	assert_int_equal(back.results[0].layers[1].second, 4);
	assert_string_equal(back.results[0].routines[0].routine.c_str(), "f");
	assert_string_equal(back.results[0].notes[0].c_str(), "note");
}

void test_json_damaged_text_is_refused(void **)
{
	const char *bad[] = {"",   "{",   "[1,]", "{\"a\" 1}", "\"open", "nul", "[1] 2", "{\"instr_count\": 1",
			     "\\", "\"\\"};
	for (const char *text : bad)
		assert_int_equal(status_of([&] { json_value::parse(text, "t"); }), kUsage);
	std::string deep(100, '[');
	assert_int_equal(status_of([&] { json_value::parse(deep, "t"); }), kUsage);
	assert_int_equal(status_of([&] { result_set::from_json("{\"instr_count\": 99}", "t"); }), kUsage);
}

void test_callgrind_dump_is_summed(void **)
{
	entry_facts facts;
	facts.path = "/nonexistent/prog";
	facts.names = {"f"};
	const char *dump = "positions: instr line\nevents: Ir\n"
			   "ob=/nonexistent/other\nfn=main\ncfn=f\ncalls=1 0x744 29 \n0x794 2 7\n"
			   "calls=0 0x744 29 \n0x798 2 7\n";
	// Nothing but inclusive cost: nothing to count.
	assert_int_equal(callgrind_parse(dump, facts).total, 0);
	// Code in an object that cannot hold it means callgrind is lost.
	std::string lost = std::string(dump) + "fn=g\n0x800 1 3\n";
	assert_int_equal(status_of([&] { callgrind_parse(lost, facts); }), kUsage);
}

void test_pin_output_is_read(void **)
{
	std::vector<call_record> records = pin_parse(
		"# path_count 1\ncall\t5\t1\nat\t/lib/a.so\t0x10\t3\tf\nat\t/lib/b.so\t0x20\t2\tg\ncall\t4\t0\n", "t");
	assert_int_equal(records.size(), 2);
	assert_int_equal(records[0].total, 5);
	assert_int_equal(records[0].syscalls, 1);
	assert_string_equal(records[0].lines[1].where.image.c_str(), "b.so");
	assert_int_equal(records[0].lines[0].count, 3);
	assert_int_equal(status_of([] { pin_parse("at\ta\t0\t1\tf\n", "t"); }), static_cast<int>(exit_code::internal));
	assert_int_equal(status_of([] { pin_parse("call\tx\t1\n", "t"); }), static_cast<int>(exit_code::internal));
}

void test_elf_own_program_is_understood(void **)
{
	auto elf = elf_file::open("/proc/self/exe");
	assert_non_null(elf.get());
	auto found = elf->find("main");
	assert_int_equal(found.size(), 1);
	const elf_symbol *again = elf->at(found[0]->addr + 1);
	assert_non_null(again);
	assert_true(again->addr == found[0]->addr);
	assert_true(elf->find("no_such_name").empty());
	assert_null(elf_file::open("/dev/null").get());
	assert_null(elf_file::parse("\177ELF but not really").get());
}

// Whatever is cut off or overwritten, the reader must survive.
void test_elf_damaged_file_is_survived(void **)
{
	std::string good;
	assert_true(read_file("/proc/self/exe", good));
	for (size_t keep : {size_t{10}, size_t{64}, size_t{100}, good.size() / 2, good.size() - 100})
		elf_file::parse(good.substr(0, keep));
	unsigned seed = 1;
	for (int round = 0; round < 20; round++) {
		std::string bad = good;
		for (int i = 0; i < 40; i++) {
			seed = seed * 1103515245 + 12345;
			bad[(seed >> 8) % (i < 20 ? 64 : bad.size())] = static_cast<char>(seed);
		}
		memcpy(bad.data(), good.data(), 6);
		auto elf = elf_file::parse(bad);
		if (elf != nullptr) {
			elf->at(0x1000);
			elf->find("main");
		}
	}
}

void test_options_forms(void **)
{
	std::vector<option_spec> specs = {{"--n", true}, {"--flag", false}};
	options opts("cmd", {"word", "--n=5", "--flag", "--", "prog", "--n"}, specs);
	assert_int_equal(opts.number("--n", 1), 5);
	assert_true(opts.has("--flag"));
	assert_int_equal(opts.words().size(), 1);
	assert_int_equal(opts.program().size(), 2);
	assert_int_equal(status_of([&] { options("cmd", {"--x"}, specs); }), kUsage);
	assert_int_equal(status_of([&] { options("cmd", {"--n"}, specs); }), kUsage);
	assert_int_equal(status_of([&] { options("cmd", {"--n", "five"}, specs).number("--n", 1); }), kUsage);
	assert_int_equal(status_of([&] { options("cmd", {"--n", "0x10"}, specs).real("--n", 1); }), 0);
	assert_int_equal(status_of([&] { options("cmd", {"--n", "-2"}, specs).real("--n", 1); }), kUsage);
}

void test_report_puts_numbers_side_by_side(void **)
{
	path_table table = sample();
	result_set set;
	path_result r;
	r.path = "one";
	r.who = "ours";
	r.figure = "6:row";
	r.median = 11;
	r.layers = {{"SHMEM", 11}};
	set.results.push_back(r);
	std::vector<figure> figures = build_figures(table, set);
	assert_int_equal(figures.size(), 1);
	assert_int_equal(figures[0].rows[0].bars.size(), 2);
	assert_true(figures[0].rows[0].bars.back().kind == bar_kind::quoted);
	assert_int_equal(figures[0].rows[0].bars[0].count, 11);
	latency_model model;
	model.cpi = 2;
	model.ghz = 4;
	assert_true(model.ns(10) == 5.0);
	assert_true(text_report(table, set, model).find("Someone") != std::string::npos);
	assert_true(html_report(table, set, model).find("<svg") != std::string::npos);
	assert_true(csv_report(table, set).find("Someone") != std::string::npos);
}

path_result counted(const char *path, const char *who, uint64_t count)
{
	path_result r;
	r.path = path;
	r.who = who;
	r.figure = "6:row";
	r.calls = 20;
	r.min = r.median = r.max = count;
	return r;
}

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

size_t times(const std::string &text, const std::string &part)
{
	size_t n = 0;
	for (size_t pos = text.find(part); pos != std::string::npos; pos = text.find(part, pos + 1))
		n++;
	return n;
}

void test_report_names_peers_and_shows_their_best(void **)
{
	path_table table = sample();
	result_set set;
	set.results = {counted("one", "ours", 7), counted("bad_case", "Peer", 541), counted("good_case", "Peer", 206)};
	set.results[1].setting = "Peer 4.1, static data";
	set.results[2].setting = "Peer 4.1, heap";
	std::vector<figure> figures = build_figures(table, set);
	const figure_row &row = figures[0].rows[0];
	assert_int_equal(row.bars.size(), 3); // ours, the peer once, the published one
	assert_string_equal(row.bars[1].who.c_str(), "Peer 4.1, heap");
	assert_int_equal(row.bars[1].count, 206);
	assert_int_equal(row.words.size(), 1);
	assert_true(has(row.words[0], "Peer 4.1, static data: 541"));
	std::swap(set.results[1], set.results[2]);
	assert_int_equal(build_figures(table, set)[0].rows[0].bars[1].count, 206);
}

void test_report_says_where_the_target_is(void **)
{
	path_table table = sample();
	table.parse_paths("far | ours | drv far | - | f | return | 0 | 0 | 6:row | to another host\n", "t");
	result_set set;
	assert_string_equal(build_figures(table, set)[0].target.c_str(), "");
	set.results = {counted("one", "ours", 7)};
	assert_string_equal(build_figures(table, set)[0].target.c_str(), "Counted: target on the same host.");
	for (const std::string &text : {svg_figures(table, set), text_report(table, set, latency_model())})
		assert_true(has(text, "target on the same host"));
	set.results.push_back(counted("far", "ours", 107));
	assert_true(has(build_figures(table, set)[0].target, "*_far and *_verbs: target on another host"));
	set.results.erase(set.results.begin());
	assert_true(has(build_figures(table, set)[0].target, "Counted: target on another host"));
	assert_false(has(build_figures(table, set)[0].target, "same host"));
}

void test_published_words_stand_where_no_number_is(void **)
{
	path_table table = sample();
	table.parse_published("6 | - | All | \"95 % fewer\" | abstract\n6 | row | Some | \"about 300 fewer\" | text\n",
			      "p");
	assert_string_equal(table.published[1].claim.c_str(), "95 % fewer");
	result_set set;
	std::vector<figure> figures = build_figures(table, set);
	assert_int_equal(figures[0].rows.size(), 1);
	assert_int_equal(figures[0].rows[0].bars.size(), 1); // no bar of nothing
	for (const std::string &text : {svg_figures(table, set), text_report(table, set, latency_model()),
					html_report(table, set, latency_model()), csv_report(table, set)}) {
		assert_true(has(text, "95 % fewer"));
		assert_true(has(text, "about 300 fewer"));
	}
	for (const char *bad :
	     {"6 | row | who | \"\" | x\n", "6 | row | who | \"open | x\n", "6 | row | who | 5 % | x\n"})
		assert_int_equal(status_of([&] { table.parse_published(bad, "p"); }), kUsage);
}

// Seven instructions beside hundreds: a second panel shows them, each one and its layer.
void test_svg_enlarges_short_bars(void **)
{
	path_table table = sample();
	result_set set;
	set.results = {counted("one", "ours", 7)};
	set.results[0].layers = {{"SHMEM", 3}, {"provider", 4}};
	std::string picture = svg_figures(table, set);
	assert_true(has(picture, "Ours, enlarged "));
	assert_int_equal(times(picture, "stroke=\"#ffffff\""), 6); // cuts between seven
	set.results = {counted("one", "ours", 300)};
	assert_false(has(svg_figures(table, set), "enlarged"));
}

void test_figure_5_is_over_frequency_and_cpi(void **)
{
	path_table table = sample();
	result_set set;
	set.results = {counted("one", "ours", 7), counted("peer", "Peer", 206)};
	set.results[0].ps = 2400;
	set.cpu = "some processor";
	latency_model model;
	model.cpi = 1;
	model.ghz = 2;
	std::vector<figure> figures = build_figures(table, set);
	std::string picture = svg_latency(figures, set, model);
	assert_int_equal(model_subjects(figures).size(), 3);
	assert_int_equal(times(picture, "<polyline"), 3 * std::size(kModelCpis));
	assert_int_equal(times(picture, "measured: 2.4 ns"), 1);
	assert_int_equal(times(picture, "measured: "), 1); // nobody measured the others
	assert_true(has(picture, "some processor, target on the same host"));
	std::string text = text_report(table, set, model);
	assert_true(has(text, "CPI 1.1       426.8")); // 388 x 1.1 at 1 GHz
	assert_true(has(text, "3.5 ns       2.4 ns   0.69"));
}

void test_results_are_kept_and_added(void **)
{
	result_set set, more;
	set.arch = more.arch = "x86_64";
	set.results = {counted("a1", "ours", 1), counted("a2", "ours", 2), counted("b", "ours", 3)};
	set.results[2].status = path_status::not_built;
	set.results[0].ps = 2400;
	set.results[0].setting = "Peer 4.1";
	set.mhz = 2000;
	more.results = {counted("a1", "ours", 9), counted("b", "ours", 100), counted("c", "ours", 4)};
	set.add(more, "more");
	assert_int_equal(set.results.size(), 4);
	assert_int_equal(set.find("a1")->median, 1); // the first file has a number
	assert_int_equal(set.find("b")->median, 100);
	assert_int_equal(set.find("c")->median, 4);
	result_set back = result_set::from_json(set.to_json(), "t");
	assert_int_equal(back.find("a1")->ps, 2400);
	assert_string_equal(back.find("a1")->setting.c_str(), "Peer 4.1");
	assert_int_equal(back.mhz, 2000);
	set.keep({"a*", "c"}, "t");
	assert_int_equal(set.results.size(), 3);
	assert_int_equal(status_of([&] { set.keep({"b"}, "t"); }), kUsage);
	more.arch = "aarch64";
	assert_int_equal(status_of([&] { set.add(more, "more"); }), kUsage);
}

void test_words_and_patterns(void **)
{
	assert_true(glob_any("libfabric* libpgas*", "libpgas.so.1"));
	assert_true(glob_any("a,b", "b"));
	assert_false(glob_any("", "b"));
	assert_int_equal(split("a | b|c", '|').size(), 3);
	uint64_t v;
	assert_true(parse_u64("0x10", v) && v == 16);
	assert_false(parse_u64("10x", v) || parse_u64("", v) || parse_u64("-1", v) ||
		     parse_u64("99999999999999999999", v));
}

#ifdef __x86_64__
void test_arch_instruction_kinds(void **)
{
	using namespace arch;
	const uint8_t syscall[] = {0x0f, 0x05}, rep[] = {0xf3, 0x48, 0xa5}, pause[] = {0xf3, 0x90}, ret[] = {0xc3};
	assert_true(classify(syscall) == insn_kind::syscall);
	assert_true(classify(rep) == insn_kind::rep_string);
	assert_true(classify(pause) == insn_kind::plain);
	assert_true(classify(ret) == insn_kind::plain);
}
#else
void test_arch_instruction_kinds(void **)
{
	using namespace arch;
	auto kind = [](uint32_t insn) { return classify({reinterpret_cast<uint8_t *>(&insn), 4}); };
	assert_true(kind(0xd4000001) == insn_kind::syscall);        // svc #0
	assert_true(kind(0xc85f7c01) == insn_kind::exclusive_load); // ldxr x1, [x0]
	assert_true(kind(0xc85ffc03) == insn_kind::exclusive_load); // ldaxr x3, [x0]
	assert_true(kind(0xc87f0402) == insn_kind::exclusive_load); // ldxp x2, x1, [x0]
	assert_true(kind(0xc8dffc01) == insn_kind::plain);          // ldar x1, [x0]
	assert_true(kind(0xc8a07c41) == insn_kind::plain);          // cas x0, x1, [x2]
	assert_true(kind(0x48207c82) == insn_kind::plain);          // casp x0, x1, x2, x3, [x4]
	assert_true(kind(0xd65f03c0) == insn_kind::plain);          // ret
}
#endif

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_good_lines_are_read),
		cmocka_unit_test(test_paths_bad_lines_are_refused),
		cmocka_unit_test(test_layers_source_wins_over_image),
		cmocka_unit_test(test_entry_and_boundary_forms),
		cmocka_unit_test(test_summary_drops_warmup_takes_lower_median),
		cmocka_unit_test(test_json_round_trip),
		cmocka_unit_test(test_json_damaged_text_is_refused),
		cmocka_unit_test(test_callgrind_dump_is_summed),
		cmocka_unit_test(test_pin_output_is_read),
		cmocka_unit_test(test_elf_own_program_is_understood),
		cmocka_unit_test(test_elf_damaged_file_is_survived),
		cmocka_unit_test(test_options_forms),
		cmocka_unit_test(test_report_puts_numbers_side_by_side),
		cmocka_unit_test(test_report_names_peers_and_shows_their_best),
		cmocka_unit_test(test_report_says_where_the_target_is),
		cmocka_unit_test(test_published_words_stand_where_no_number_is),
		cmocka_unit_test(test_svg_enlarges_short_bars),
		cmocka_unit_test(test_figure_5_is_over_frequency_and_cpi),
		cmocka_unit_test(test_results_are_kept_and_added),
		cmocka_unit_test(test_words_and_patterns),
		cmocka_unit_test(test_arch_instruction_kinds),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
