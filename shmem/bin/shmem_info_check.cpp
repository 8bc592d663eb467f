// SPDX-License-Identifier: BSD-3-Clause
//
// Each item is one function that checks one property of the host. It prints what it found; if that is a problem, also
// the effect on jobs and the remedy.
#include "shmem_info_check.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <pgas/pgas_machine.hpp>

namespace shmem {
namespace {

class checker {
public:
	explicit checker(const check_wish &wish) : wish_(wish) {}
	int run();

private:
	__attribute__((format(printf, 3, 4))) void ok(const char *item, const char *format, ...);
	__attribute__((format(printf, 4, 5))) void hurts(const char *item, const char *remedy, const char *format, ...);
	std::string read(const char *path) const;
	void cores();
	void quota();
	void memory();
	void huge_pages();
	void ptrace_scope();
	void files();
	void processes();
	void address_space();
	void mappings();
	void locked_memory();
	void provider_path();
	void ssh();

	check_wish wish_;
	int hurting_ = 0;
};

void checker::ok(const char *item, const char *format, ...)
{
	printf("ok     %-14s ", item);
	va_list args;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

void checker::hurts(const char *item, const char *remedy, const char *format, ...)
{
	hurting_++;
	printf("hurts  %-14s ", item);
	va_list args;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n       %-14s %s\n", "  remedy:", remedy);
}

// The first line of a file, without its newline; empty if there is none.
std::string checker::read(const char *path) const
{
	char line[256] = "";
	if (FILE *f = fopen((std::string(wish_.root) + path).c_str(), "re")) {
		if (!fgets(line, sizeof line, f))
			line[0] = '\0';
		fclose(f);
	}
	line[strcspn(line, "\n")] = '\0';
	return line;
}

const char *mib(size_t bytes)
{
	static char text[4][32];
	static unsigned pos = 0;
	char *t = text[pos++ % 4];
	snprintf(t, sizeof text[0], "%zu MiB", bytes >> 20);
	return t;
}

// --- cores and memory ------------------------------------------------------------------------------------------------

void checker::cores()
{
	const cpu_set_t set = pgas::usable_cores();
	const int count = CPU_COUNT(&set);
	if (wish_.pes > count)
		hurts("cores", "start fewer PEs on this host (oshrun -H, --ppn), or give them more cores",
		      "%d PEs share %d cores: every wait costs a time slice", wish_.pes, count);
	else
		ok("cores", "%d for %d PEs", count, wish_.pes);
}

// "max 100000", or how many microseconds of 100000
void checker::quota()
{
	const std::string text = read("/sys/fs/cgroup/cpu.max");
	double share, period;
	if (sscanf(text.c_str(), "%lf %lf", &share, &period) != 2 || period <= 0)
		return ok("cpu quota", "none");
	if (share / period + 0.01 < wish_.pes)
		hurts("cpu quota", "raise the CPU limit of the container or slice, or start fewer PEs",
		      "%.1f CPUs for %d PEs that poll: the kernel stops all of them now and then", share / period,
		      wish_.pes);
	else
		ok("cpu quota", "%.1f CPUs", share / period);
}

void checker::memory()
{
	const size_t wanted = wish_.symmetric_size * static_cast<size_t>(wish_.pes);
	const size_t ram = pgas::host_memory().ram;
	if (ram && wanted > ram)
		hurts("memory", "set SHMEM_SYMMETRIC_SIZE to what the program needs",
		      "%d symmetric heaps of %s and %s of memory: a job that touches them all is killed", wish_.pes,
		      mib(wish_.symmetric_size), mib(ram));
	else
		ok("memory", "%d symmetric heaps of %s, %s of memory", wish_.pes, mib(wish_.symmetric_size), mib(ram));
}

void checker::huge_pages()
{
	const std::string setting = read("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
	const bool taken = setting.find("[never]") == std::string::npos && setting.find("[deny]") == std::string::npos;
	if (wish_.huge_pages == 1 && (setting.empty() || !taken))
		return hurts("huge pages", "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled, as root",
			     "SHMEM_HUGE_PAGES=advise has no effect: shmem_enabled is %s",
			     setting.empty() ? "not there" : setting.c_str());
	if (wish_.huge_pages != 2)
		return ok("huge pages", "%s", wish_.huge_pages ? "advised, and in effect" : "not asked for");
	size_t free_pages = 0, page_kib = 0;
	if (FILE *f = fopen((std::string(wish_.root) + "/proc/meminfo").c_str(), "re")) {
		char line[128];
		while (fgets(line, sizeof line, f)) {
			(void)!sscanf(line, "HugePages_Free: %zu", &free_pages);
			(void)!sscanf(line, "Hugepagesize: %zu kB", &page_kib);
		}
		fclose(f);
	}
	const size_t page = std::max<size_t>(page_kib * 1024, 1);
	const size_t wanted = (wish_.symmetric_size + page - 1) / page * static_cast<size_t>(wish_.pes);
	if (free_pages < wanted) {
		char remedy[128];
		snprintf(remedy, sizeof remedy, "sysctl vm.nr_hugepages=%zu or more, as root, soon after boot", wanted);
		return hurts("huge pages", remedy, "SHMEM_HUGE_PAGES=reserved: %zu pages are free, %d PEs may want %zu",
			     free_pages, wish_.pes, wanted);
	}
	ok("huge pages", "%zu reserved ones are free", free_pages);
}

// --- permissions and limits ------------------------------------------------------------------------------------------

void checker::ptrace_scope()
{
	const std::string text = read("/proc/sys/kernel/yama/ptrace_scope");
	const int scope = atoi(text.c_str());
	if (scope >= 2 && geteuid() != 0)
		hurts("ptrace_scope", "sysctl kernel.yama.ptrace_scope=1, as root (3 stays until the next boot)",
		      "it is %d: what is not mapped is copied twice, in pieces", scope);
	else
		ok("ptrace_scope", "%s", text.empty() ? "no Yama here" : text.c_str());
}

void checker::files()
{
	struct rlimit limit {};
	getrlimit(RLIMIT_NOFILE, &limit);
	const rlim_t wanted = 2 * static_cast<rlim_t>(wish_.pes) + 256; // oshrun has two per PE
	if (limit.rlim_max < wanted)
		hurts("open files", "raise nofile in /etc/security/limits.conf, or LimitNOFILE of the service",
		      "ulimit -Hn is %llu, oshrun wants %llu for %d PEs",
		      static_cast<unsigned long long>(limit.rlim_max), static_cast<unsigned long long>(wanted),
		      wish_.pes);
	else if (limit.rlim_cur < static_cast<rlim_t>(wish_.pes) + 64) // a PE has one for each PE that it reaches
		hurts("open files", "ulimit -n $(ulimit -Hn)", "ulimit -n is %llu, a PE wants one for each of %d PEs",
		      static_cast<unsigned long long>(limit.rlim_cur), wish_.pes);
	else
		ok("open files", "ulimit -n is enough");
}

void checker::processes()
{
	struct rlimit limit {};
	getrlimit(RLIMIT_NPROC, &limit);
	const rlim_t wanted = 3 * static_cast<rlim_t>(wish_.pes) + 16; // a PE, its watcher, the link's thread
	if (limit.rlim_cur < wanted)
		hurts("processes", "raise nproc in /etc/security/limits.conf, or TasksMax of the service",
		      "ulimit -u is %llu, %d PEs and their threads are up to %llu",
		      static_cast<unsigned long long>(limit.rlim_cur), wish_.pes,
		      static_cast<unsigned long long>(wanted));
	else
		ok("processes", "ulimit -u is enough");
}

// A PE maps its own heap, preceded by 4 GiB for the library, and that of each PE of its host.
void checker::address_space()
{
	struct rlimit limit {};
	getrlimit(RLIMIT_AS, &limit);
	const double wanted = (static_cast<double>(wish_.symmetric_size) + 4.0 * (1u << 30)) * (wish_.pes + 1);
	if (limit.rlim_cur != RLIM_INFINITY && static_cast<double>(limit.rlim_cur) < wanted)
		hurts("address space", "ulimit -v unlimited",
		      "ulimit -v is %llu KiB; a PE reserves about %.0f GiB of addresses, not of memory",
		      static_cast<unsigned long long>(limit.rlim_cur >> 10), wanted / (1u << 30));
	else
		ok("address space", "ulimit -v is enough");
}

void checker::mappings()
{
	constexpr int per_peer = 9, of_a_program = 256;
	const std::string text = read("/proc/sys/vm/max_map_count");
	const long most = atol(text.c_str()), wanted = of_a_program + long{per_peer} * wish_.pes;
	if (most && most < wanted)
		hurts("mappings", "sysctl vm.max_map_count=262144, as root",
		      "vm.max_map_count is %ld, a PE that reaches %d others here has about %ld", most, wish_.pes - 1,
		      wanted);
	else
		ok("mappings", "vm.max_map_count is enough");
}

void checker::locked_memory()
{
	int adapters = 0;
	if (DIR *dir = opendir((std::string(wish_.root) + "/sys/class/infiniband").c_str())) {
		while (const dirent *entry = readdir(dir))
			adapters += entry->d_name[0] != '.';
		closedir(dir);
	}
	struct rlimit limit {};
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (!adapters)
		return ok("locked memory", "no RDMA adapter needs it");
	if (limit.rlim_cur < wish_.symmetric_size)
		hurts("locked memory", "raise memlock in /etc/security/limits.conf, or LimitMEMLOCK of the service",
		      "ulimit -l is %llu KiB: the RDMA adapter cannot register a heap of %s",
		      static_cast<unsigned long long>(limit.rlim_cur >> 10), mib(wish_.symmetric_size));
	else
		ok("locked memory", "enough for the RDMA adapter");
}

// --- programs --------------------------------------------------------------------------------------------------------

void checker::provider_path()
{
	const char *path = getenv("FI_PROVIDER_PATH");
	if (!path || !*path)
		return ok("provider path", "FI_PROVIDER_PATH is not set");
	std::string missing;
	bool found = false;
	for (const char *pos = path; *pos;) {
		const std::string dir(pos, strcspn(pos, ":"));
		pos += dir.size() + (pos[dir.size()] == ':');
		if (access(dir.c_str(), X_OK) != 0)
			missing = dir;
		found = found || access((dir + "/libpgas-fi.so").c_str(), R_OK) == 0;
	}
	if (!missing.empty())
		hurts("provider path", "correct FI_PROVIDER_PATH, or unset it",
		      "FI_PROVIDER_PATH: no such folder: %s; libfabric finds no provider there", missing.c_str());
	else if (!found)
		hurts("provider path", "add the folder of libpgas-fi.so to FI_PROVIDER_PATH, or unset it",
		      "libpgas-fi.so is not in FI_PROVIDER_PATH, and libfabric searches no other folder");
	else
		ok("provider path", "%s", path);
}

void checker::ssh()
{
	const char *path = getenv("PATH");
	for (const char *pos = path ? path : ""; *pos;) {
		const std::string dir(pos, strcspn(pos, ":"));
		pos += dir.size() + (pos[dir.size()] == ':');
		if (access((dir + "/ssh").c_str(), X_OK) == 0)
			return ok("ssh", "%s/ssh", dir.c_str());
	}
	hurts("ssh", "install openssh-client, or name another command by oshrun --launch-agent",
	      "it is not in PATH: oshrun cannot start PEs on other hosts");
}

int checker::run()
{
	if (!wish_.pes) {
		const cpu_set_t set = pgas::usable_cores();
		wish_.pes = std::max(CPU_COUNT(&set), 1);
	}
	cores();
	quota();
	memory();
	huge_pages();
	ptrace_scope();
	files();
	processes();
	address_space();
	mappings();
	locked_memory();
	provider_path();
	ssh();
	return hurting_;
}

} // namespace

int check_host(const check_wish &wish)
{
	return checker(wish).run();
}

} // namespace shmem
