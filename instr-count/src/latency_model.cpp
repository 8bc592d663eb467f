// SPDX-License-Identifier: BSD-3-Clause
// latency_model.cpp: CPI from hardware counters where the machine has them. The probe runs twice, short and long; the
// difference is the loop alone.
#include "latency_model.hpp"

#include <cstdlib>
#include <cstring>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "subprocess.hpp"
#include "text.hpp"

namespace ic {

namespace {

constexpr unsigned kProbeSeconds = 60;

int open_counter(uint64_t what)
{
	struct perf_event_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_HARDWARE;
	attr.size = sizeof(attr);
	attr.config = what;
	attr.exclude_kernel = attr.exclude_hv = 1;
	attr.inherit = 1;
	attr.disabled = 1;
	return static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

struct counters {
	uint64_t instructions = 0, cycles = 0;
};

// Counters are inherited by the child, so they cover the whole probe.
bool watch(const std::vector<std::string> &probe, unsigned calls, counters &out)
{
	int fds[2] = {open_counter(PERF_COUNT_HW_INSTRUCTIONS), open_counter(PERF_COUNT_HW_CPU_CYCLES)};
	bool good = fds[0] >= 0 && fds[1] >= 0;
	if (good) {
		for (int fd : fds)
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		run_options options;
		options.env = {format("INSTR_COUNT_CALLS=%u", calls), "LD_BIND_NOW=1"};
		options.hush = true;
		options.timeout_s = kProbeSeconds;
		run_result result = run_program(probe, options);
		good = WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0 &&
		       read(fds[0], &out.instructions, sizeof(uint64_t)) == sizeof(uint64_t) &&
		       read(fds[1], &out.cycles, sizeof(uint64_t)) == sizeof(uint64_t);
	}
	for (int fd : fds)
		if (fd >= 0)
			close(fd);
	return good;
}

bool measure_cpi(const std::vector<std::string> &probe, double &cpi)
{
	counters few, many;
	if (probe.empty() || !watch(probe, 100000, few) || !watch(probe, 1100000, many) ||
	    many.instructions <= few.instructions || many.cycles <= few.cycles)
		return false;
	cpi = static_cast<double>(many.cycles - few.cycles) / static_cast<double>(many.instructions - few.instructions);
	return true;
}

} // namespace

bool machine_ghz(double &ghz)
{
	std::string text;
	if (read_file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", text)) {
		ghz = strtod(text.c_str(), nullptr) / 1e6;
		return ghz > 0;
	}
	size_t pos;
	if (read_file("/proc/cpuinfo", text) && (pos = text.find("cpu MHz")) != std::string::npos) {
		ghz = strtod(text.c_str() + text.find(':', pos) + 1, nullptr) / 1e3;
		return ghz > 0;
	}
	return false;
}

std::string machine_cpu()
{
	std::string text;
	read_file("/proc/cpuinfo", text);
	for (const char *key : {"\nmodel name", "\nCPU part"})
		if (size_t pos = text.find(key); pos != std::string::npos) {
			pos = text.find(':', pos) + 1;
			return std::string(trim(text.substr(pos, text.find('\n', pos) - pos)));
		}
	return "";
}

latency_model make_latency_model(double cpi, double ghz, const std::vector<std::string> &probe)
{
	latency_model model;
	if (cpi > 0) {
		model.cpi = cpi;
		model.cpi_source = "given";
	} else if (measure_cpi(probe, model.cpi)) {
		model.cpi_source = "measured by hardware counters on " + base_name(probe[0]);
	} else {
		model.cpi_source = "assumed: no hardware counters here";
	}
	if (ghz > 0) {
		model.ghz = ghz;
		model.ghz_source = "given";
	} else if (machine_ghz(model.ghz)) {
		model.ghz_source = "as the system reports";
	}
	return model;
}

std::string latency_model::text() const
{
	return format("overhead = instructions x CPI / frequency, CPI %.2f (%s), %.2f GHz (%s)", cpi,
		      cpi_source.c_str(), ghz, ghz_source.c_str());
}

} // namespace ic
