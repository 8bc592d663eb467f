// SPDX-License-Identifier: BSD-3-Clause
// oshrun_judge.cpp: see oshrun_judge.hpp.
#include "oshrun_judge.hpp"
#include "oshrun_process.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef SYS_pidfd_open
// the same number on all architectures; headers before Linux 5.3 lack it
#define SYS_pidfd_open 434
#endif

namespace oshrun {
namespace {

using pgas::boot::board_slot;
constexpr int kMailMost = 4096;       // records at a time
constexpr int kEndingMs = 50;         // a process whose memory is gone disappears within that
constexpr double kEndDelay = 1;       // time in seconds for PEs whose end has begun
constexpr double kWrapperDelay = 0.3; // time in seconds for a wrapper whose PE died to report the exit status

} // namespace

// --- mail ------------------------------------------------------------------------------------------------------------

// A PE that is not our child mails its pid. We watch and signal that process, so it must be one of this job: the number
// may belong to another process, because the PE has a PID namespace of its own, or because it is false.
void judge::on_hello(pe &one, const pgas::boot::mail_record &mail)
{
	char own[sizeof mail.text];
	pgas::boot::own_pid_space(own, sizeof own);
	if (mail.status <= 1 || (own[0] && mail.text[0] && strcmp(own, mail.text) != 0))
		return;
	unique_fd watch(static_cast<int>(syscall(SYS_pidfd_open, mail.status, 0)));
	if (!watch && errno != ESRCH)
		return;
	struct pollfd ended = {watch.get(), POLLIN, 0};
	bool gone = !watch || poll(&ended, 1, 0) == 1;
	if (!gone && !carries_cookie(mail.status, files_.view.plan.cookie)) {
		gone = poll(&ended, 1, kEndingMs) == 1; // an ending process has no environment any more
		if (!gone)
			return;
	}
	one.joined = mail.status;
	one.joined_watch = std::move(watch);
	if (gone) {
		one.joined_watch.reset();
		one.lost_at = now_s(); // used if the slot says that it did not finalize
	}
}

// A peer reports that it gives up. Children that were killed are judged first: their end may be the peer's only reason.
void judge::judge_killed(const pe &but)
{
	const double until = now_s() + kEndDelay;
	int how;
	for (pe &one : pes_)
		if (&one != &but && one.child > 0 && reap_ending(one.child, until, how)) {
			pes_.note_reaped(one);
			add_ended(one, how);
		}
	for (auto &[ended, status] : ended_)
		if (ended && ended != &but && WIFSIGNALED(status))
			judge_one(*std::exchange(ended, nullptr), status);
}

void judge::on_abort(const pe &one, const pgas::boot::mail_record &mail)
{
	if (!result_.is_decided()) // only the first abort may be the first failure
		judge_killed(one);
	bool from_pmix = mail.kind == pgas::boot::kMailPmixAbort;
	int code = mail.status & 0xff;
	if (from_pmix && code == 0)
		code = 1;
	std::string who = pes_.name(one, one.joined > 0 ? one.joined : one.child);
	if (code == 0 && !mail.text[0])
		result_.fail(0, "%s", "");
	else
		result_.fail(code, "%s: ended the job with status %d%s%s", who.c_str(), code, mail.text[0] ? ": " : "",
			     mail.text);
}

void judge::read_mail()
{
	pgas::boot::mail_record mail;
	ssize_t got;
	// Bounded, because PEs may write as fast as we read. An incomplete record is ignored: packets keep records
	// apart.
	for (int i = 0; i < kMailMost && (got = read(files_.mail_read.get(), &mail, sizeof mail)) > 0; i++) {
		pe *one = got == static_cast<ssize_t>(sizeof mail) ? pes_.find(mail.rank) : nullptr;
		if (!one)
			continue;
		mail.text[sizeof mail.text - 1] = '\0';
		if (mail.kind == pgas::boot::kMailHello)
			on_hello(*one, mail);
		else if (mail.kind == pgas::boot::kMailExecFailed)
			result_.fail(mail.status == ENOENT ? kExitNotFound : kExitNotExecutable,
				     "%sPE %d: cannot execute %s", where_.at_host().c_str(), mail.rank, mail.text);
		else if (mail.kind == pgas::boot::kMailArrived && owner_)
			owner_->arrived(static_cast<uint32_t>(mail.status));
		else if (mail.kind == pgas::boot::kMailPlace)
			places_.take(*one, static_cast<uint32_t>(mail.status), mail.text);
		else if (mail.kind == pgas::boot::kMailAbort || mail.kind == pgas::boot::kMailPmixAbort)
			on_abort(*one, mail);
	}
}

// --- ends ------------------------------------------------------------------------------------------------------------

void judge::judge_one(pe &one, int status)
{
	const uint32_t rank = static_cast<uint32_t>(one.rank);
	board_slot &slot = files_.view.slot(rank);
	const uint32_t state = pes_.slot_state(one.rank);
	const uint32_t pmix = std::atomic_ref<uint32_t>(slot.pmix).load(std::memory_order_acquire);
	const std::string who = pes_.name(one, pes_.forget_child(one, state != pgas::boot::kSlotNew));
	std::atomic_ref<uint32_t>(slot.state).store(pgas::boot::kSlotGone, std::memory_order_seq_cst);
	if (WIFSIGNALED(status)) {
		int sig = WTERMSIG(status);
		result_.fail(128 + sig, "%s: killed by signal %d (%s%s)", who.c_str(), sig, strsignal(sig),
			     WCOREDUMP(status) ? ", core dumped" : "");
	} else if (WEXITSTATUS(status) != 0)
		result_.fail(WEXITSTATUS(status), "%s: exited with status %d", who.c_str(), WEXITSTATUS(status));
	else if (!files_.view.intact() || state > pgas::boot::kSlotGone || pmix > pgas::boot::kPmixFinalized)
		result_.fail(1, "%s%s", where_.at_host().c_str(), pgas::boot::kOverwritten);
	else if (state == pgas::boot::kSlotLive || pmix == pgas::boot::kPmixConnected)
		result_.fail(1, "%s: exited with status 0, but without finalize", who.c_str());
	else if (state == pgas::boot::kSlotNew && pmix == pgas::boot::kPmixNever) {
		fail_if_joined(who.c_str());
		if (owner_ && !result_.is_decided())
			owner_->pe_never_joined(one.rank, who.c_str());
	} else if (owner_)
		owner_->pe_ended(one.rank);
}

void judge::judge_ended()
{
	for (auto [one, status] : ended_)
		if (one)
			judge_one(*one, status);
	ended_.clear();
}

// The PE stores state = live and then loads early_exits; we do the reverse. At least one side sees the other's store.
void judge::fail_if_joined(const char *who)
{
	std::atomic_ref<uint32_t>(files_.view.head().early_exits).fetch_add(1, std::memory_order_seq_cst);
	if (pes_.someone_joined())
		result_.fail(1, "%s: exited with status 0 without joining the job that other PEs have joined", who);
}

void judge::add_polls(std::vector<pollfd> &polls, double &due)
{
	watch_poll_ = polls.size();
	for (const pe &one : pes_) {
		if (one.joined_watch.get() >= 0)
			polls.push_back({one.joined_watch.get(), POLLIN, 0});
		if (one.lost_at > 0)
			due = sooner(due, one.lost_at + kWrapperDelay);
	}
}

// A process that joined below a wrapper ended. If it had finalized, that is fine; if not, the wrapper may be about to
// report it itself.
void judge::check_watches(const std::vector<pollfd> &polls)
{
	size_t pos = watch_poll_;
	for (pe &one : pes_)
		if (one.joined_watch.get() >= 0 && pos < polls.size() && polls[pos].fd == one.joined_watch.get() &&
		    polls[pos++].revents) {
			one.joined_watch.reset();
			one.lost_at = now_s();
		}
}

void judge::check_lost(double now)
{
	for (pe &one : pes_) {
		if (one.lost_at == 0 || now < one.lost_at + kWrapperDelay)
			continue;
		board_slot &slot = files_.view.slot(static_cast<uint32_t>(one.rank));
		one.lost_at = 0;
		if (pes_.slot_state(one.rank) == pgas::boot::kSlotLive && slot.pid == static_cast<uint32_t>(one.joined))
			result_.fail(1, "%s: ended without finalize, under a program that still runs",
				     pes_.name(one, one.joined).c_str());
	}
}

} // namespace oshrun
