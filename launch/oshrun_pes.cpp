// SPDX-License-Identifier: BSD-3-Clause
// oshrun_pes.cpp: see oshrun_pes.hpp.
#include "oshrun_pes.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <sys/syscall.h>

#ifndef SYS_pidfd_send_signal
// the same number on all architectures; headers before Linux 5.1 lack it
#define SYS_pidfd_send_signal 424
#endif

namespace oshrun {

void pe_table::fill(const std::vector<app> &apps)
{
	int rank = 0;
	for (const app &program : apps)
		for (int i = 0; i < program.count; i++, rank++)
			if (where_.host_of[static_cast<size_t>(rank)] == where_.host) {
				pe &one = pes_.emplace_back();
				one.rank = rank;
				one.program = &program;
			}
}

pe *pe_table::find(int rank)
{
	auto item = std::lower_bound(pes_.begin(), pes_.end(), rank, [](const pe &one, int r) { return one.rank < r; });
	return item != pes_.end() && item->rank == rank ? &*item : nullptr;
}

std::vector<int> pe_table::ranks() const
{
	std::vector<int> list;
	for (const pe &one : pes_)
		list.push_back(one.rank);
	return list;
}

void pe_table::note_started(pe &one, pid_t child)
{
	one.child = child;
	live_++;
	std::atomic_ref<uint32_t>(files_.page.get()->child_pid[&one - pes_.data()])
		.store(static_cast<uint32_t>(child), std::memory_order_relaxed);
}

void pe_table::note_reaped(const pe &one)
{
	std::atomic_ref<uint32_t>(files_.page.get()->child_pid[&one - pes_.data()]).store(0, std::memory_order_relaxed);
}

pid_t pe_table::forget_child(pe &one, bool has_joined)
{
	one.joined_watch.reset();
	one.joined = 0;
	one.lost_at = 0;
	one.has_joined = has_joined;
	live_--;
	return std::exchange(one.child, 0);
}

uint32_t pe_table::slot_state(int rank) const
{
	return std::atomic_ref<uint32_t>(files_.view.slot(static_cast<uint32_t>(rank)).state)
		.load(std::memory_order_seq_cst);
}

bool pe_table::someone_joined() const
{
	return std::any_of(pes_.begin(), pes_.end(),
			   [this](const pe &one) { return slot_state(one.rank) == pgas::boot::kSlotLive; });
}

std::string pe_table::name(const pe &one, pid_t pid) const
{
	char text[320];
	snprintf(text, sizeof text, "PE %d (pid %d on %s)", one.rank, pid, where_.name().c_str());
	return text;
}

std::string pe_table::progress() const
{
	size_t joined = 0, ended = 0;
	for (const pe &one : pes_) {
		const uint32_t state = slot_state(one.rank);
		joined += one.has_joined || state == pgas::boot::kSlotLive || state == pgas::boot::kSlotDone;
		ended += one.child == 0;
	}
	char text[128];
	snprintf(text, sizeof text, "%zu PEs, %zu have joined, %zu have ended", pes_.size(), joined, ended);
	return text;
}

void pe_table::signal_groups(int sig) const
{
	for (const pe &one : pes_)
		if (one.child > 0)
			kill(-one.child, sig);
}

void pe_table::signal_programs(int sig) const
{
	for (const pe &one : pes_)
		if (one.joined_watch)
			syscall(SYS_pidfd_send_signal, one.joined_watch.get(), sig, nullptr, 0);
		else if (one.joined == 0 && one.child > 0)
			kill(-one.child, sig);
}

int pe_table::signal_handlers(int sig) const
{
	int count = 0;
	for (const pe &one : pes_)
		if (one.joined_watch) {
			if (catches(one.joined, sig) &&
			    syscall(SYS_pidfd_send_signal, one.joined_watch.get(), sig, nullptr, 0) == 0)
				count++;
		} else if (one.joined == 0 && one.child > 0) {
			for (const pid_t pid : members_of(one.child))
				count += catches(pid, sig) && kill(pid, sig) == 0;
		}
	return count;
}

// A PE below a wrapper is the process that joined, as long as we watch it: no other process has its pid then.
std::vector<std::pair<int, bool>> pe_table::check_stops()
{
	std::vector<std::pair<int, bool>> news;
	for (pe &one : pes_) {
		const pid_t pid = one.joined_watch.get() >= 0 ? one.joined : one.child;
		const bool stopped = pid > 0 && (is_stopped(pid) || one.watch.is_left_out(pid));
		if (std::exchange(one.is_stopped, stopped) != stopped)
			news.emplace_back(one.rank, stopped);
	}
	return news;
}

} // namespace oshrun
