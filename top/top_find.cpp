// SPDX-License-Identifier: BSD-3-Clause
// top_find.cpp: finds the job that the user means, by the number of one of its processes, or by its being the only one.
#include "top_board.hpp"
#include "top_say.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <map>

namespace oshtop {
namespace {

constexpr int kGenerationsMost = 64;

bool looks_like_oshrun(pid_t pid)
{
	return program_file_of(pid).find("oshrun") != std::string::npos;
}

bool is_ancestor(pid_t ancestor, pid_t pid)
{
	process_facts facts;
	for (int i = 0; i < kGenerationsMost && pid > 1 && read_process(pid, facts); i++) {
		pid = facts.parent;
		if (pid == ancestor)
			return true;
	}
	return false;
}

// The oshrun to which the user gives commands: the topmost one of those above this one.
pid_t topmost(pid_t pid)
{
	process_facts facts;
	pid_t top = pid;
	for (int i = 0; i < kGenerationsMost && pid > 1 && read_process(pid, facts); i++) {
		pid = facts.parent;
		if (looks_like_oshrun(pid))
			top = pid;
	}
	return top;
}

// All boards of the processes that `wanted` accepts, by the job that they belong to.
template <class Wanted>
std::map<uint64_t, job> find_boards(Wanted &&wanted)
{
	std::map<uint64_t, job> jobs;
	for (const pid_t pid : all_processes()) {
		board one;
		if (!wanted(pid) || one.open(pid) != 0)
			continue;
		job &its_job = jobs[one.plan().job_cookie];
		if (its_job.boards.empty())
			its_job.pid = topmost(pid);
		its_job.boards.push_back(std::move(one));
	}
	return jobs;
}

// Boards of oshruns that this one started here: it is the head of a job on several hosts.
bool find_agents(pid_t head, job &found)
{
	auto jobs = find_boards([&](pid_t pid) { return looks_like_oshrun(pid) && is_ancestor(head, pid); });
	if (jobs.empty())
		return false;
	found = std::move(jobs.begin()->second);
	found.pid = head;
	return true;
}

// The other boards of the same job on this machine.
void add_relatives(job &found)
{
	const uint64_t cookie = found.boards[0].plan().job_cookie;
	const pid_t known = found.boards[0].pid();
	const std::optional<uid_t> owner = owner_of(known);
	auto jobs = find_boards(
		[&](pid_t pid) { return pid != known && owner_of(pid) == owner && looks_like_oshrun(pid); });
	const auto same = jobs.find(cookie);
	if (same == jobs.end())
		return;
	for (board &one : same->second.boards)
		found.boards.push_back(std::move(one));
}

// A process of a job, most likely a PE: its environment names the oshrun.
bool find_of_member(pid_t pid, job &found)
{
	const std::optional<std::string> text = variable_of(pid, pgas::boot::kBoardEnv);
	uint64_t cookie = 0;
	if (!text || sscanf(text->c_str(), "%*d:%*d:%*d:%*u:%" SCNx64, &cookie) != 1)
		return false;
	const std::optional<uid_t> owner = owner_of(pid);
	auto jobs = find_boards([&](pid_t other) { return owner_of(other) == owner && looks_like_oshrun(other); });
	for (auto &[number, one] : jobs)
		if (std::any_of(one.boards.begin(), one.boards.end(),
				[&](const board &b) { return b.plan().cookie == cookie; })) {
			found = std::move(one);
			return true;
		}
	return false;
}

bool refuse_foreign(pid_t pid)
{
	const std::optional<uid_t> owner = owner_of(pid);
	if (!owner)
		say("there is no process %d; oshtop without a number finds your jobs", pid);
	else if (*owner != geteuid())
		say("process %d belongs to %s: only %s and root can look into it", pid, user_name(*owner).c_str(),
		    user_name(*owner).c_str());
	else
		say("the kernel does not let you look into process %d (%s), though it is yours: it runs with "
		    "privileges of its own, or in another user namespace; try as root",
		    pid, command_of(pid).c_str());
	return false;
}

} // namespace

bool find_job(pid_t pid, job &found)
{
	board one;
	const int err = one.open(pid);
	if (err == 0) {
		found.pid = pid;
		found.boards.push_back(std::move(one));
		add_relatives(found);
		return true;
	}
	if (err == -ESRCH || err == -EACCES || err == -EPERM)
		return refuse_foreign(pid);
	if ((looks_like_oshrun(pid) && find_agents(pid, found)) || find_of_member(pid, found))
		return true;
	if (err == -EPROTO && looks_like_oshrun(pid))
		say("process %d is an oshrun of another version, or its board was overwritten: use the oshtop that was "
		    "installed with it",
		    pid);
	else if (looks_like_oshrun(pid))
		say("process %d is an oshrun without PEs on this machine: its job has not begun, or its PEs are on "
		    "other hosts; run oshtop there",
		    pid);
	else
		say("process %d is no oshrun: it runs %s; oshtop without a number finds your jobs", pid,
		    command_of(pid).c_str());
	return false;
}

bool find_only_job(job &found)
{
	const uid_t me = geteuid();
	auto jobs = find_boards([&](pid_t pid) { return owner_of(pid) == me && looks_like_oshrun(pid); });
	if (jobs.size() == 1) {
		found = std::move(jobs.begin()->second);
		return true;
	}
	if (jobs.empty()) {
		say("no job of %s runs on this machine", user_name(me).c_str());
		return false;
	}
	say("%zu jobs of %s run on this machine; say which one, as in oshtop %d:", jobs.size(), user_name(me).c_str(),
	    jobs.begin()->second.pid);
	for (const auto &[cookie, one] : jobs)
		say("  %d: %u PEs, %s", one.pid, one.boards[0].plan().size, command_of(one.pid).c_str());
	return false;
}

} // namespace oshtop
