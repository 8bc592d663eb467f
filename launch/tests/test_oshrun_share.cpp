// SPDX-License-Identifier: BSD-3-Clause
// test_oshrun_share.cpp: what an agent finds out about CPUs: which hosts of a job share them, and which PEs get none.
#include "oshrun_process.hpp"
#include "oshrun_share.hpp"

#include <pgas/pgas_machine.hpp>

#include <algorithm>
#include <array>

// cmocka comes last: it has a macro with the name of one of our members
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}

using namespace oshrun;

namespace {

// Rows of checks: CPU time, whether the thread is runnable, and whether it counts as left out.
void test_left_out(void **)
{
	struct {
		thread_times times;
		bool left_out;
	} const checks[] = {
		{{10, 1, true}, false}, {{20, 2, true}, false}, {{20, 2, true}, false},  {{20, 2, true}, true},
		{{20, 2, true}, true},  {{21, 2, true}, false}, {{21, 2, true}, false},  {{21, 2, false}, false},
		{{21, 2, true}, false}, {{21, 2, true}, true},  {{21, 52, true}, false}, {{21, 52, true}, true},
		{{0, 0, true}, false},  {{0, 0, true}, false},  {{0, 0, true}, false},   {{0, 0, true}, false},
	};
	thread_watch watch;
	for (const auto &check : checks)
		assert_true(watch.add(check.times) == check.left_out);
	const std::string own = "/proc/self/task/" + std::to_string(getpid());
	assert_true(read_times(own).runnable && !is_stopped(getpid()));
	assert_true(read_times("/nonexistent").ran_ns == 0 && !read_times("/nonexistent").runnable);
	run_watch self;
	for (int i = 0; i < 4; i++)
		assert_false(self.is_left_out(-5));
}

// --- hosts that are one machine --------------------------------------------------------------------------------------

message report(int host, uint32_t kernel, const char *cpus)
{
	packer body;
	body.u32(kernel);
	body.u32(0);
	body.str(cpus);
	return {kind::machine, host, 0, body.text};
}

std::string shares(const machine_table &machines, const std::vector<int> &pes)
{
	std::vector<std::string> lines;
	for (const message &msg : machines.divide(pes)) {
		cpu_share share;
		assert_true(msg.kind == kind::share && read_share(msg, share));
		lines.push_back(std::to_string(msg.host) + ":" + std::to_string(share.first) + "/" +
				std::to_string(share.total) + (share.even ? "" : "?"));
	}
	std::sort(lines.begin(), lines.end());
	std::string text;
	for (const std::string &line : lines)
		text += line + " ";
	return text;
}

void test_machines(void **)
{
	machine_table own, same, apart, mixed, unknown;
	for (int host : {2, 0, 1}) {
		assert_true(own.take(report(host, 7 + static_cast<uint32_t>(host), "0-3"), 0, 3));
		assert_true(same.take(report(host, 7, "0-3"), host, host + 1));
		assert_true(apart.take(report(host, 7, host == 0 ? "0-1" : host == 1 ? "2-3" : "4-7"), 0, 3));
		assert_true(mixed.take(report(host, 7, host == 0 ? "0-3" : host == 1 ? "2-5" : "6-7"), 0, 3));
		assert_true(unknown.take(report(host, host == 0 ? 0 : 7, host == 1 ? "" : "0-3"), 0, 3));
	}
	assert_string_equal(shares(own, {2, 1, 3}).c_str(), "");
	assert_string_equal(shares(same, {2, 1, 3}).c_str(), "0:0/6 1:2/6 2:3/6 ");
	assert_string_equal(shares(apart, {2, 1, 3}).c_str(), "");
	assert_string_equal(shares(mixed, {2, 1, 3}).c_str(), "0:0/3? 1:2/3? ");
	assert_string_equal(shares(unknown, {2, 1, 3}).c_str(), "");
	assert_false(same.take(report(1, 7, "0-3"), 0, 3)); // once more
	assert_false(own.take(report(3, 7, "0-3"), 0, 3));  // not of the sender's hosts
	assert_false(own.take(report(0, 9, "0-"), 0, 3));
	message cut = report(0, 9, "0-3");
	cut.body.pop_back();
	assert_false(own.take(cut, 0, 3));
}

void test_shares_refuse(void **)
{
	const std::array<uint32_t, 3> wrong[] = {{3, 2, 1}, {0, 1 << 21, 1}, {0, 2, 2}, {UINT32_MAX, 2, 1}};
	cpu_share share;
	for (const auto &words : wrong) {
		packer body;
		for (const uint32_t word : words)
			body.u32(word);
		assert_false(read_share({kind::share, 0, 0, body.text}, share));
	}
	assert_false(read_share({kind::share, 0, 0, "short"}, share));
	assert_int_equal(share.total, 0);
}

// Whatever the number of cores here, no core is given away twice by default.
void test_shared_binding(void **)
{
	std::string why;
	const cpu_set_t all = pgas::usable_cores();
	const int cpus = CPU_COUNT(&all);
	for (int each : {1, 2, 3, cpus}) {
		cpu_set_t used;
		CPU_ZERO(&used);
		for (int host = 0; host < 2; host++)
			for (const cpu_set_t &set :
			     plan_binding(bind_to::automatic, each, {host * each, 2 * each, true}, why)) {
				cpu_set_t common;
				CPU_AND(&common, &used, &set);
				assert_int_equal(CPU_COUNT(&common), 0);
				CPU_OR(&used, &used, &set);
			}
	}
	assert_true(plan_binding(bind_to::automatic, cpus, {0, 2 * cpus, true}, why).empty());
	assert_true(cpus == 1 || why == "not bound: more PEs on this machine than CPUs");
	assert_true(plan_binding(bind_to::automatic, 2, {0, 3, false}, why).empty());
	const auto first = plan_binding(bind_to::hwthread, 1, {0, 2, true}, why);
	const auto second = plan_binding(bind_to::hwthread, 1, {1, 2, true}, why);
	assert_true(first.size() == 1 && second.size() == 1);
	assert_int_equal(CPU_EQUAL(&first[0], &second[0]), cpus == 1);
}

} // namespace

int main()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_machines),
		cmocka_unit_test(test_shares_refuse),
		cmocka_unit_test(test_shared_binding),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
