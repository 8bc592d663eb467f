// SPDX-License-Identifier: BSD-3-Clause
//
// Ending the job: gasnet_exit, return from main, exit(), another node's exit.
//
// A node that leaves publishes this in its own memory, sends a message to all others (at once if its code is not 0,
// else after a second, because the others usually leave by themselves), and waits for them. Nodes that poll or wait
// inside one of our calls receive the message and leave too; when all are leaving, each ends with its code. A node that
// computes without calling the library, or is dead, does not take part: after GASNET_EXITTIMEOUT seconds the launcher
// ends it.
#include "am/gasnet_message.hpp"
#include "gasnet_job.hpp"
#include "rma/gasnet_rma.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include <gasnet_tools.h>

#include "pgas_boot.h"

namespace gasnet {
namespace {

std::atomic<bool> g_leaving{false};
uint64_t g_timeout_ns; // written by exit_setup()
constexpr uint64_t kGraceNs = 1'000'000'000;
constexpr double kLongest = 1e9; // seconds: 32 years, which still fits in a sum of nanoseconds

// The job ends with the first code that came from a call on this node or from another node's message. A client whose
// SIGQUIT handler calls gasnet_exit, because another node did, does not change it.
std::atomic<uint64_t> g_first{0}; // 0, or kExiting | exit code

int first_code(int code)
{
	uint64_t none = 0;
	g_first.compare_exchange_strong(none, kExiting | static_cast<uint32_t>(code));
	return static_cast<int>(static_cast<uint32_t>(g_first.load()));
}

uint64_t timeout_ns()
{
	double seconds = gasnett_getenv_dbl_withdefault("GASNET_EXITTIMEOUT", 2.0 + 0.05 * gasneti_front.nodes);
	if (!(seconds >= 0.01))
		seconds = 0.01;
	if (seconds > kLongest)
		seconds = kLongest;
	return static_cast<uint64_t>(seconds * 1e9);
}

bool is_leaving(gasnet_node_t node)
{
	if (!provider_window(node)) // the node died
		return true;
	return pgas_load_acquire(&internal_of(node)->exiting) != 0; // pairs with store_release in leave()
}

// Tells a node that does not know yet. Tries once: the caller's loop retries when the ring is full.
bool notify_node(gasnet_node_t node, int code)
{
	struct {
		uint64_t word;
		gasnet_handlerarg_t code;
	} const m = {word_with_rank(gasneti_front.mynode) | GASNETI_WORD(kExitHandler, 1, GASNETI_SHORT), code};
	const int rc = post_message(node, &m, 12, nullptr, 0);
	return rc != -FI_EAGAIN; // an unreachable node is not told again
}

// Nodes without a window add themselves to a count in every node's memory.
uint64_t far_nodes()
{
	uint64_t n = 0;
	for (gasnet_node_t i = 0; i < gasneti_front.nodes; i++)
		n += g_windows[i] == 0 && i != gasneti_front.mynode;
	return n;
}

bool far_left()
{
	// the other nodes' atomics are the releases
	return pgas_load_acquire(&reinterpret_cast<internal_memory *>(g_gasnet.base)->left) >= far_nodes();
}

void leave_far()
{
	auto *own = reinterpret_cast<internal_memory *>(g_gasnet.base);
	for (gasnet_node_t n = 0; n < gasneti_front.nodes; n++)
		if (!g_windows[n] && n != gasneti_front.mynode)
			far_try_add(n, &own->left);
}

// True when all nodes are leaving.
bool gather(int code)
{
	std::vector<bool> notified(gasneti_front.nodes);
	const uint64_t start = pgas_now_ns(), timeout = g_timeout_ns, deadline = start + timeout;
	// Nodes that leave without an error do so by themselves, after whatever they still have to do after the last
	// barrier. A node that fails does not wait.
	const uint64_t tell_at = code ? start : start + (timeout / 2 < kGraceNs ? timeout / 2 : kGraceNs);
	pgas_backoff wait{};
	for (;;) {
		bool all = true;
		const bool tell_now = pgas_now_ns() >= tell_at;
		if (pgas_load_relaxed(&g_gasnet.serves)) // the others may need this node before they can leave
			g_gasnet.net.ops->progress(g_gasnet.net.domain);
		const bool others = !g_gasnet.far || far_left();
		for (gasnet_node_t n = 0; n < gasneti_front.nodes; n++) {
			if (n == gasneti_front.mynode || (g_windows[n] ? is_leaving(n) : others))
				continue;
			all = false;
			if (tell_now && !notified[n])
				notified[n] = notify_node(n, code);
		}
		if (all)
			return true;
		if (pgas_now_ns() >= deadline)
			return false;
		pgas_backoff_pause(&wait);
	}
}

// Waits until the other nodes have been told that we left, as far as they can be reached.
void leave_settle()
{
	const uint64_t deadline = pgas_now_ns() + kGraceNs;
	pgas_backoff wait{};
	while (g_gasnet.net.ops->settled(g_gasnet.rma) != 1 && pgas_now_ns() < deadline)
		pgas_backoff_pause(&wait);
}

[[noreturn]] void leave(int code)
{
	code = first_code(code);
	if (g_leaving.exchange(true)) { // another thread is leaving, or a client's signal handler interrupted it
		if (in_handler())
			_exit(code);
		for (;;)
			pause();
	}
	fflush(nullptr);
	if (!g_gasnet.initialized) {
		if (pgas_boot_size() > 0)
			pgas_boot_abort(code, nullptr);
		_exit(code);
	}
	tool_leaving();
	// pairs with load_acquire in is_leaving()
	pgas_store_release(&reinterpret_cast<internal_memory *>(g_gasnet.base)->exiting,
			   kExiting | static_cast<uint32_t>(code));
	if (g_gasnet.far)
		leave_far();
	const bool all = gather(code);
	tool_all_left(all, code);
	if (!all)
		pgas_boot_abort(code, nullptr);
	if (g_gasnet.far)
		leave_settle();
	g_gasnet.net.ops->peers_stopped(g_gasnet.net.domain, nullptr,
					nullptr); // the domain stays open, and its thread may call this
	pgas_boot_finalize();
	pgas_boot_close();
	_exit(code);
}

// exit() and return from main act as gasnet_exit with that status.
void at_exit(int status, void *)
{
	if (g_gasnet.initialized && !g_leaving.load())
		leave(status);
}

bool client_catches_quit()
{
	struct sigaction now;
	return sigaction(SIGQUIT, nullptr, &now) == 0 && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN;
}

// A signal that ends programs: the client receives SIGQUIT instead if it handles that. Otherwise, or when its handler
// returns, the signal takes its default action, and the launcher ends the job.
void on_terminate(int sig)
{
	if (!g_leaving.load() && client_catches_quit())
		raise(SIGQUIT);
	signal(sig, SIG_DFL);
	raise(sig);
}

// Another node ends the job. The client receives SIGQUIT if it handles that, and may call gasnet_exit itself; when its
// handler returns, we leave.
void exit_as_told(int code)
{
	first_code(code);
	if (!g_leaving.load() && client_catches_quit())
		raise(SIGQUIT);
	leave(code);
}

void stay_if_leaving()
{
	while (g_leaving.load())
		pause();
}

} // namespace

void exit_setup()
{
	g_gasnet.told_to_exit = exit_as_told;
	g_gasnet.stay_if_leaving = stay_if_leaving;
	g_timeout_ns = timeout_ns();
	on_exit(at_exit, nullptr);
	for (const int sig : {SIGINT, SIGTERM, SIGHUP}) {
		struct sigaction now;
		if (sigaction(sig, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
			signal(sig, on_terminate);
	}
}

} // namespace gasnet

extern "C" void gasnet_exit(int exitcode) noexcept
{
	gasnet::leave(exitcode);
}
