// SPDX-License-Identifier: BSD-3-Clause
//
// time_devices [KIND]: how long copies and atomics of a kind take on this machine, the median and the best of many, in
// microseconds. Not a test: it prints a table. Host memory is pageable.
#include <devices/devices_kind.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace pgas::devices;

namespace {

kind *g_kind;
region g_one, g_two;

void require(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "time_devices: %s: %d (%s)\n", what, rc, g_kind->last_error());
	exit(1);
}

template <class Body>
void row(const char *what, size_t bytes, Body body)
{
	std::vector<double> times;
	const int rounds = bytes > 1 << 20 ? 40 : 400;
	for (int i = 0; i < rounds + 20; i++) {
		const auto begin = std::chrono::steady_clock::now();
		body();
		const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
		if (i >= 20)
			times.push_back(took.count());
	}
	std::sort(times.begin(), times.end());
	printf("%-34s %9zu %10.2f %10.2f\n", what, bytes, times[times.size() / 2], times[0]);
}

void copies(const std::vector<piece> &pieces)
{
	require(g_kind->copy(pieces.data(), pieces.size()), "copy");
	require(g_kind->finish(), "finish");
}

} // namespace

int main(int argc, char **argv)
{
	g_kind = find_kind(argc > 1 ? argv[1] : "emulated");
	char why[200] = "";
	if (!g_kind || g_kind->open(0, why, sizeof why) != 0) {
		fprintf(stderr, "time_devices: %s\n", g_kind ? why : kind_names());
		return 1;
	}
	constexpr size_t kMost = size_t{32} << 20;
	require(g_kind->allocate(kMost, 0, g_one), "allocate");
	require(g_kind->allocate(kMost, 0, g_two), "allocate");
	std::vector<char> host(kMost, 'h');
	auto *one = reinterpret_cast<char *>(g_one.addr), *two = reinterpret_cast<char *>(g_two.addr);
	printf("%-34s %9s %10s %10s\n", g_kind->name(), "bytes", "median us", "best us");
	row("finish alone", 0, [] { require(g_kind->finish(), "finish"); });
	for (const size_t bytes :
	     {size_t{8}, size_t{1024}, size_t{16384}, size_t{65536}, size_t{65537}, size_t{1} << 20, kMost}) {
		row("host to device", bytes, [&] { copies({{one, host.data(), bytes}}); });
		row("device to host", bytes, [&] { copies({{host.data(), one, bytes}}); });
		row("device to device", bytes, [&] { copies({{two, one, bytes}}); });
	}
	for (const size_t bytes : {size_t{8}, size_t{4096}, size_t{65536}}) {
		std::vector<piece> there, back, across;
		for (size_t i = 0; i < 16; i++) {
			there.push_back({one + i * bytes, host.data() + i * bytes, bytes});
			back.push_back({host.data() + i * bytes, one + i * bytes, bytes});
			across.push_back({two + i * bytes, one + i * bytes, bytes});
		}
		row("16 pieces, host to device", bytes, [&] { copies(there); });
		row("16 pieces, device to host", bytes, [&] { copies(back); });
		row("16 pieces, device to device", bytes, [&] { copies(across); });
		row("16 copies, device to device", bytes, [&] {
			for (const piece &p : across)
				require(g_kind->copy(&p, 1), "copy");
			require(g_kind->finish(), "finish");
		});
	}
	uint64_t old = 0;
	if (g_kind->amo(amo_op::add, one, 8, 1, 0, &old) == 0)
		row("atomic add", 8, [&] { require(g_kind->amo(amo_op::add, one, 8, 1, 0, &old), "amo"); });
	row("fill", 4096, [&] { require(g_kind->fill(one, 0, 4096), "fill"); });
	row("owns: host memory", 0, [&] { (void)g_kind->owns(host.data()); });
	row("owns: device memory", 0, [&] { (void)g_kind->owns(one); });
	g_kind->release(g_one);
	g_kind->release(g_two);
	g_kind->close();
	return 0;
}
