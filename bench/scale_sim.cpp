// SPDX-License-Identifier: BSD-3-Clause
//
// scale_sim: the cost of a job of 1,000, 65,536 and 1,000,000 ranks for one of its processes, measured in one process
// with invented peers; and what its collectives send. Prints the tables of docs/SCALING.md.
#include "scale.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace bench::scale {

static double clock_seconds()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The exact value: some kernels count pages in batches of 64, and show those counts everywhere else.
static double resident()
{
	double kib = 0;
	if (std::FILE *input = fopen("/proc/self/smaps_rollup", "r")) {
		char line[256];
		while (fgets(line, sizeof line, input) && sscanf(line, "Rss: %lf kB", &kib) != 1)
			continue;
		fclose(input);
	}
	return kib * 1024;
}

footprint now()
{
	footprint f;
	f.seconds = clock_seconds();
	double pages = 0;
	if (std::FILE *input = fopen("/proc/self/statm", "r")) {
		if (fscanf(input, "%lf", &pages) != 1)
			pages = 0;
		fclose(input);
	}
	f.reserved_bytes = pages * static_cast<double>(sysconf(_SC_PAGESIZE));
	f.resident_bytes = resident();
	f.since = clock_seconds();
	return f;
}

footprint operator-(const footprint &a, const footprint &b)
{
	return {a.resident_bytes - b.resident_bytes, a.reserved_bytes - b.reserved_bytes, a.seconds - b.since, 0};
}

std::optional<footprint> apart(const std::function<footprint()> &body)
{
	fflush(stdout);
	void *addr = mmap(nullptr, sizeof(footprint), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (addr == MAP_FAILED)
		return {};
	const pid_t child = fork();
	if (child == 0) {
		alarm(kLimitSeconds);
		*static_cast<footprint *>(addr) = body();
		_exit(0);
	}
	int status = 1;
	const bool ended = child > 0 && waitpid(child, &status, 0) == child;
	const footprint result = *static_cast<footprint *>(addr);
	munmap(addr, sizeof(footprint));
	return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? std::optional(result) : std::nullopt;
}

namespace {

constexpr char kUsage[] = "usage: scale_sim [options]\n"
			  "Prints what a process of a large job needs, and what collectives of large teams send.\n"
			  "  --ranks N,M,...   numbers of ranks (default 1000,65536,1000000)\n"
			  "  --per-host N      ranks on a host (default 64); teams of one rank per host are shown too\n"
			  "  --memory          memory and time only\n"
			  "  --collectives     collectives only; these lines are the same on every machine\n"
			  "  --link N          only what each of N connected peers on other hosts costs\n"
			  "  --help\n";

struct arguments {
	std::vector<int> ranks{1000, 65536, 1000000};
	int per_host = 64;
	bool memory = true, collectives = true;
	int link = 0; // peers
};

std::string amount(double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t unit = 0;
	for (; bytes >= 1024 && unit < 4; unit++)
		bytes /= 1024;
	char text[32];
	snprintf(text, sizeof text, bytes < 10 && unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
	return text;
}

std::string duration(double s)
{
	char text[32];
	snprintf(text, sizeof text,
		 s < 1e-3 ? "%.0f us"
		 : s < 1  ? "%.1f ms"
			  : "%.1f s",
		 s < 1e-3 ? s * 1e6
		 : s < 1  ? s * 1e3
			  : s);
	return text;
}

std::string thousands(uint64_t v)
{
	std::string text = std::to_string(v);
	for (size_t pos = text.size(); pos > 3; pos -= 3)
		text.insert(pos - 3, ",");
	return text;
}

enum class show { memory, space, time, memory_and_time };
struct table_row {
	const char *what;
	show shown;
	std::function<footprint(int ranks)> measure;
};

// Sizes above a quarter of the available memory are not tried; the rows before show how it grows.
bool is_inside_time(double bytes)
{
	const double left = static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
	return bytes < left / 4;
}

void print_memory(const arguments &a)
{
	const int per_host = a.per_host;
	const table_row rows[] = {
		{"address vector", show::memory_and_time, [](int n) { return address_vector(static_cast<size_t>(n)); }},
		{"front of an endpoint: address space", show::space,
		 [](int n) { return front(static_cast<size_t>(n), false); }},
		{"front, no rank used", show::memory, [](int n) { return front(static_cast<size_t>(n), false); }},
		{"front, all ranks used", show::memory, [](int n) { return front(static_cast<size_t>(n), true); }},
		{"team: arrays, and making it", show::memory_and_time, [=](int n) { return team_of_all(n, per_host); }},
		{"team: block in the heap, address space", show::space,
		 [=](int n) { return team_of_all(n, per_host); }},
		{"a leader's own time in a barrier", show::time, [=](int n) { return barrier_of_all(n, per_host); }},
		{"board of oshrun: address space", show::space, [](int n) { return board(static_cast<size_t>(n)); }},
		{"board, one exchange, and reading it", show::memory_and_time,
		 [](int n) { return board(static_cast<size_t>(n)); }},
	};
	printf("| memory, time |");
	for (const int n : a.ranks)
		printf(" %s ranks |", thousands(static_cast<uint64_t>(n)).c_str());
	printf(" bytes per rank |\n|---|");
	for (size_t i = 0; i <= a.ranks.size(); i++)
		printf("---|");
	printf("\n");
	for (const table_row &r : rows) {
		printf("| %s |", r.what);
		double per_rank = 0;
		for (const int n : a.ranks) {
			const bool cheap = r.shown == show::space || is_inside_time(per_rank * n);
			const auto got = cheap ? apart([&] { return r.measure(n); }) : std::nullopt;
			if (!got) {
				printf(per_rank > 0 ? " about %s |" : " - |", amount(per_rank * n).c_str());
				continue;
			}
			const double bytes = r.shown == show::space ? got->reserved_bytes : got->resident_bytes;
			per_rank = r.shown == show::time ? 0 : bytes / n;
			printf(" %s%s%s |", r.shown == show::time ? "" : amount(bytes).c_str(),
			       r.shown == show::memory_and_time ? ", " : "",
			       r.shown == show::time || r.shown == show::memory_and_time
				       ? duration(got->seconds).c_str()
				       : "");
		}
		printf(r.shown == show::time ? " |\n" : " %.0f |\n", per_rank);
	}
}

void print_collectives(const arguments &a, int per_host)
{
	printf("\n%d rank%s on each host; messages to other hosts, of the busiest member\n\n| collective |", per_host,
	       per_host > 1 ? "s" : "");
	for (const int n : a.ranks)
		printf(" %s: algorithm | rounds | messages | bytes |", thousands(static_cast<uint64_t>(n)).c_str());
	printf("\n|---|");
	for (size_t i = 0; i < 4 * a.ranks.size(); i++)
		printf("---|");
	printf("\n");
	std::vector<coll_table> tables;
	for (const int n : a.ranks)
		tables.push_back(collectives(n, per_host));
	for (size_t i = 0; i < tables[0].count; i++) {
		const coll_line &name = tables[0].line[i];
		printf("| %s%s |", name.collective,
		       name.payload_bytes ? (" " + amount(static_cast<double>(name.payload_bytes))).c_str() : "");
		for (const coll_table &t : tables) {
			const coll_line &l = t.line[i];
			printf(" %s | %s |", l.algorithm, thousands(static_cast<uint64_t>(l.rounds)).c_str());
			if (l.ended)
				printf(" %s | %s |", thousands(l.busiest.messages).c_str(),
				       amount(static_cast<double>(l.busiest.bytes)).c_str());
			else
				printf(" more than %u s | |", kLimitSeconds);
		}
		printf("\n");
	}
}

[[noreturn]] void print_connections(const char *provider, const char *inner, size_t peers)
{
	struct rlimit files = {};
	getrlimit(RLIMIT_NOFILE, &files); // every peer has a domain with descriptors of its own
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	alarm(kLimitSeconds);
	const connection_cost c = connections(provider, peers);
	printf("| %s%s | %s | %s | %.1f | %s |\n", strcmp(provider, "pgas") == 0 ? "pgas over " : "", inner,
	       amount(c.resident_bytes).c_str(), amount(c.heap_bytes).c_str(), c.descriptors,
	       duration(c.seconds).c_str());
	fflush(stdout);
	_exit(0);
}

// The networks that carry the link, as FI_PGAS_NET names them, and the provider that can be measured without the link.
struct network {
	const char *name;
	const char *provider; // null: it is a part of this library
};
constexpr network kNetworks[] = {
	{"socket", nullptr},
	{"tcp", "tcp;^ofi_rxm"},
	{"net", "net"},
	{"tcp;ofi_rxm", "tcp;ofi_rxm"},
};

// Measures what each network costs alone, and with this library over it. An RDMA adapter has no loopback interface.
int print_link(size_t peers)
{
	setenv("FI_PGAS_TEST_HOSTS", "1", 1); // every domain is a host of its own
	printf("| network, %zu peers | memory per peer | of it allocated | descriptors | time per connection |\n"
	       "|---|---|---|---|---|\n",
	       peers);
	int bad = 0;
	for (const network &net : kNetworks) {
		setenv("FI_PGAS_NET", (std::string(net.name) + ":lo").c_str(), 1);
		int status = 0;
		for (const char *const provider : {net.provider, "pgas"}) {
			if (!provider)
				continue;
			fflush(stdout);
			const pid_t child = fork();
			if (child == 0)
				print_connections(provider, net.name, peers);
			waitpid(child, &status, 0);
			if (WIFEXITED(status) && WEXITSTATUS(status) == kNotHere)
				break; // this libfabric has no such provider
			bad |= status;
		}
	}
	return bad != 0;
}

bool parse(int argc, char **argv, arguments &a)
{
	for (int i = 1; i < argc; i++) {
		const std::string word = argv[i];
		if (word == "--memory") {
			a.collectives = false;
		} else if (word == "--collectives") {
			a.memory = false;
		} else if (word == "--link" && i + 1 < argc) {
			a.link = atoi(argv[++i]);
			if (a.link < 1 || a.link > 400)
				return false;
		} else if (word == "--per-host" && i + 1 < argc) {
			a.per_host = atoi(argv[++i]);
		} else if (word == "--ranks" && i + 1 < argc) {
			a.ranks.clear();
			for (const char *pos = argv[++i]; pos; pos = strchr(pos, ',') ? strchr(pos, ',') + 1 : nullptr)
				a.ranks.push_back(atoi(pos));
		} else {
			return false;
		}
	}
	for (const int n : a.ranks)
		if (n < 2 || n > 1 << 20)
			return false;
	return a.per_host > 0;
}

} // namespace
} // namespace bench::scale

int main(int argc, char **argv)
{
	using namespace bench::scale;
	arguments a;
	if (argc > 1 && !strcmp(argv[1], "--help"))
		return fputs(kUsage, stdout) < 0;
	if (!parse(argc, argv, a))
		return fputs(kUsage, stderr), 2;
	if (a.link)
		return print_link(static_cast<size_t>(a.link));
	if (a.memory)
		print_memory(a);
	if (a.collectives) {
		print_collectives(a, a.per_host);
		if (a.per_host > 1)
			print_collectives(a, 1);
	}
	return 0;
}
