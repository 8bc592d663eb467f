// SPDX-License-Identifier: BSD-3-Clause
// deadline.cpp: one interval timer per process, which runs while any deadline exists.
#include "deadline.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <map>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text.hpp"

namespace ic {

namespace {

constexpr long kWakeUs = 200000;
constexpr int kAskedTicks = 100; // of 50 ms: how long a child may take to end after it was asked to

unsigned timers_wanted;

void set_timer(long interval_us)
{
	struct itimerval timer = {};
	timer.it_interval.tv_usec = timer.it_value.tv_usec = interval_us;
	setitimer(ITIMER_REAL, &timer, nullptr);
}

// Parent of a process; 0 if the process is gone. The name in parentheses may contain any character.
pid_t parent_of(const char *pid)
{
	std::string stat;
	if (!read_file(std::string("/proc/") + pid + "/stat", stat))
		return 0;
	size_t pos = stat.rfind(')');
	int parent = 0;
	char state;
	return pos != std::string::npos && sscanf(stat.c_str() + pos + 1, " %c %d", &state, &parent) == 2 ? parent : 0;
}

std::multimap<pid_t, pid_t> all_children()
{
	std::multimap<pid_t, pid_t> children;
	if (DIR *dir = opendir("/proc")) {
		while (struct dirent *entry = readdir(dir))
			if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
				children.emplace(parent_of(entry->d_name), atoi(entry->d_name));
		closedir(dir);
	}
	return children;
}

std::vector<pid_t> children_of_us()
{
	const std::multimap<pid_t, pid_t> children = all_children();
	std::vector<pid_t> found;
	auto [begin, end] = children.equal_range(getpid());
	for (auto it = begin; it != end; ++it)
		found.push_back(it->second);
	return found;
}

} // namespace

deadline::deadline(unsigned seconds)
	: seconds_(seconds), end_(std::chrono::steady_clock::now() + std::chrono::seconds(seconds))
{
	if (seconds_ == 0 || timers_wanted++ != 0)
		return;
	// No SA_RESTART: the signal exists only to make waiting calls return.
	struct sigaction action = {};
	action.sa_handler = [](int) {};
	sigaction(SIGALRM, &action, nullptr);
	set_timer(kWakeUs);
}

deadline::~deadline()
{
	if (seconds_ != 0 && --timers_wanted == 0)
		set_timer(0);
}

std::vector<pid_t> descendants(pid_t pid)
{
	const std::multimap<pid_t, pid_t> children = all_children();
	std::vector<pid_t> found = {pid};
	for (size_t i = 0; i < found.size(); i++) {
		auto [begin, end] = children.equal_range(found[i]);
		for (auto it = begin; it != end; ++it)
			found.push_back(it->second);
	}
	found.erase(found.begin());
	return found;
}

orphanage::orphanage() : ours_(children_of_us())
{
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void orphanage::end_them()
{
	for (int tick = 0; tick < kAskedTicks; tick++) {
		bool any = false;
		for (pid_t one : children_of_us()) {
			if (std::find(ours_.begin(), ours_.end(), one) != ours_.end())
				continue;
			any = true;
			for (pid_t below : descendants(one))
				kill(below, SIGKILL);
			kill(one, SIGKILL);
			waitpid(one, nullptr, WNOHANG | __WALL);
		}
		if (!any)
			return;
		usleep(50000);
	}
}

int end_child(pid_t pid)
{
	orphanage late;
	// Before anything is ended, while all of them are still below it.
	std::vector<pid_t> below = descendants(pid);
	int status = 0;
	pid_t gone = 0;
	kill(pid, SIGTERM);
	for (int tick = 0; tick < kAskedTicks && gone == 0; tick++) {
		usleep(50000);
		gone = waitpid(pid, &status, WNOHANG);
	}
	for (pid_t one : below)
		kill(one, SIGKILL);
	if (gone == 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	late.end_them();
	return status;
}

} // namespace ic
