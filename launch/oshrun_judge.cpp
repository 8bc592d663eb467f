// SPDX-License-Identifier: BSD-3-Clause
// oshrun_judge.cpp: what PEs tell oshrun by mail, and how they ended. The rest of the job's life is in oshrun_job.cpp.
#include "oshrun_job.hpp"

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
constexpr int kMailMost = 4096; // records at a time
constexpr int kEndingMs = 50;   // a process whose memory is gone disappears within that
constexpr double kEndDelay = 1; // time in seconds for PEs whose end has begun

} // namespace

// --- mail ------------------------------------------------------------------------------------------------------------

// A PE that is not our child mails its pid. We watch and signal that process, so it must be one of this job: the number
// may belong to another process, because the PE has a PID namespace of its own, or because it is false.
void job::on_hello(pe &what, const pgas::boot::mail_record &mail)
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
	what.joined = mail.status;
	what.joined_watch = std::move(watch);
	if (gone) {
		what.joined_watch.reset();
		what.lost_at = now_s(); // used if the slot says that it did not finalize
	}
}

// A peer reports that it gives up. Children that were killed are judged first: their end may be the peer's only reason.
void job::judge_killed(const pe &but)
{
	const double until = now_s() + kEndDelay;
	int how;
	for (pe &what : pes_)
		if (&what != &but && what.child > 0 && reap_ending(what.child, until, how)) {
			note_child(what, 0);
			ended_.emplace_back(&what, how);
		}
	for (auto &[what, status] : ended_)
		if (what && what != &but && WIFSIGNALED(status))
			judge(*std::exchange(what, nullptr), status);
}

void job::on_abort(const pe &what, const pgas::boot::mail_record &mail)
{
	if (!failed_) // only the first abort may be the first failure
		judge_killed(what);
	bool from_pmix = mail.kind == pgas::boot::kMailPmixAbort;
	int code = mail.status & 0xff;
	if (from_pmix && code == 0)
		code = 1;
	std::string who = name(mail.rank, what.joined > 0 ? what.joined : what.child);
	if (code == 0 && !mail.text[0])
		fail(0, "%s", "");
	else
		fail(code, "%s: ended the job with status %d%s%s", who.c_str(), code, mail.text[0] ? ": " : "",
		     mail.text);
}

void job::read_mail()
{
	pgas::boot::mail_record mail;
	ssize_t got;
	// Bounded, because PEs may write as fast as we read. An incomplete record is ignored: packets keep records
	// apart.
	for (int i = 0; i < kMailMost && (got = read(files_.mail_read.get(), &mail, sizeof mail)) > 0; i++) {
		pe *what = got == static_cast<ssize_t>(sizeof mail) ? find(mail.rank) : nullptr;
		if (!what)
			continue;
		mail.text[sizeof mail.text - 1] = '\0';
		if (mail.kind == pgas::boot::kMailHello)
			on_hello(*what, mail);
		else if (mail.kind == pgas::boot::kMailExecFailed)
			fail(mail.status == ENOENT ? kExitNotFound : kExitNotExecutable,
			     "%sPE %d: cannot execute %s: %s", at_host().c_str(), mail.rank, mail.text,
			     strerror(mail.status));
		else if (mail.kind == pgas::boot::kMailArrived && owner_)
			owner_->arrived(static_cast<uint32_t>(mail.status));
		else if (mail.kind == pgas::boot::kMailAbort || mail.kind == pgas::boot::kMailPmixAbort)
			on_abort(*what, mail);
	}
}

// --- ends ------------------------------------------------------------------------------------------------------------

// Judges how one PE ended. Its last output has been forwarded, its mail has been read.
void job::judge(pe &what, int status)
{
	const uint32_t rank = static_cast<uint32_t>(what.rank);
	board_slot &slot = files_.view.slot(rank);
	const uint32_t state = slot_state(rank);
	const uint32_t pmix = std::atomic_ref<uint32_t>(slot.pmix).load(std::memory_order_acquire);
	const std::string who = name(what.rank, std::exchange(what.child, 0));
	what.joined_watch.reset();
	what.joined = 0;
	what.lost_at = 0;
	what.has_joined = state != pgas::boot::kSlotNew;
	live_--;
	std::atomic_ref<uint32_t>(slot.state).store(pgas::boot::kSlotGone, std::memory_order_seq_cst);
	if (WIFSIGNALED(status)) {
		int sig = WTERMSIG(status);
		fail(128 + sig, "%s: killed by signal %d (%s%s)", who.c_str(), sig, strsignal(sig),
		     WCOREDUMP(status) ? ", core dumped" : "");
	} else if (WEXITSTATUS(status) != 0)
		fail(WEXITSTATUS(status), "%s: exited with status %d", who.c_str(), WEXITSTATUS(status));
	else if (!files_.view.intact() || state > pgas::boot::kSlotGone || pmix > pgas::boot::kPmixFinalized)
		fail(1, "%s%s", at_host().c_str(), pgas::boot::kOverwritten);
	else if (state == pgas::boot::kSlotLive || pmix == pgas::boot::kPmixConnected)
		fail(1, "%s: exited with status 0, but without finalize", who.c_str());
	else if (state == pgas::boot::kSlotNew && pmix == pgas::boot::kPmixNever) {
		fail_if_joined(who.c_str());
		if (owner_ && !failed_)
			owner_->pe_never_joined(what.rank, who.c_str());
	} else if (owner_)
		owner_->pe_ended(what.rank);
}

// The PE stores state = live and then loads early_exits; we do the reverse. At least one side sees the other's store.
void job::fail_if_joined(const char *who)
{
	std::atomic_ref<uint32_t>(files_.view.head().early_exits).fetch_add(1, std::memory_order_seq_cst);
	if (someone_joined())
		fail(1, "%s: exited with status 0 without joining the job that other PEs have joined", who);
}

// A process that joined below a wrapper ended. If it had finalized, that is fine; if not, the wrapper may be about to
// report it itself.
void job::check_watches(const std::vector<pollfd> &polls)
{
	size_t pos = watch_poll_;
	for (pe &what : pes_)
		if (what.joined_watch.get() >= 0 && pos < polls.size() && polls[pos].fd == what.joined_watch.get() &&
		    polls[pos++].revents) {
			what.joined_watch.reset();
			what.lost_at = now_s();
		}
}

} // namespace oshrun
