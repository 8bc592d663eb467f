// SPDX-License-Identifier: BSD-3-Clause
// boot_unique_serve.cpp: the process that made a unique id serves the job, in one thread that sleeps in poll(). It owns
// the listening socket, which it closes as soon as all processes have come, and one connection to each of them.
//
//	gathering --all have joined--> running --all have left: bye to all--> ending --all have read it, or 2 s--> over
//	gathering --one is gone, contradicts, or is late: refused to all--> ending
//	running --one is gone or aborts: ended to all--> ending
//
// Whoever has not proved the secret is a stranger: 64 of them at most, for five seconds at most, and the oldest goes
// first. A member is believed, and every length, rank and order of what it sends is checked all the same.
#include "boot_unique_guest.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pgas::boot {

constexpr size_t kStrangersMost = 64;
constexpr uint64_t kStrangerNs = 5'000'000'000;
constexpr uint64_t kEndNs = 2'000'000'000; // for members that do not read that the job is over
constexpr uint64_t kAcceptRestNs = 100'000'000;
constexpr int kTickMs = 100;
constexpr int kNoRank = -1;

enum class job_state { gathering, running, ending, over };

class unique_server {
public:
	int open(unique_id &id);
	bool is_ours() const { return process_ == getpid(); } // a child of fork() has no such thread
	bool serves(const unique_id &id) const { return is_ours() && memcmp(&id, &id_, sizeof id) == 0; }
	void set_own_rank(int rank) { own_rank_.store(rank, std::memory_order_relaxed); }
	bool is_over() const { return over_.load(std::memory_order_acquire); } // pairs with the release in run_thread()
	void join() { pthread_join(thread_, nullptr); }

private:
	unique_id id_{};
	own_socket listener_;
	pthread_t thread_{};
	const pid_t process_ = getpid();
	std::atomic<int> own_rank_{kNoRank}; // of the member in this process
	std::atomic<bool> over_{false};
	uint64_t timeout_ = 0;

	// the thread's own
	job_state state_ = job_state::gathering;
	std::vector<std::unique_ptr<guest>> guests_; // the oldest first
	std::vector<guest *> members_;               // by rank; null: not there
	std::vector<std::string> pieces_;            // by rank, of the exchange in progress
	uint32_t came_ = 0, left_ = 0, arrived_ = 0;
	uint32_t exchange_ = 0; // the kind of the exchange in progress, while arrived_ > 0
	uint64_t gather_until_ = 0, end_until_ = 0, accept_from_ = 0; // 0: no limit
	int accept_error_ = 0;                                        // of the last accept4()
	bool own_notified_ = false;
	end_body end_{};

	static void *run_thread(void *self);
	int listen_for_all();
	int pause() const;
	void poll_once();
	void accept_guests();
	void make_room();
	void read_guest(guest &g);
	void write_guest(guest &g);
	void drop(guest &g, const char *why);
	void remove_guests();
	void handle(guest &g, const record &r);
	void handle_join(guest &g, const std::string &body);
	void handle_piece(guest &g, const record &r);
	void handle_leave(guest &g);
	void handle_abort(const guest &g, const std::string &body);
	void refuse_join(const guest &g);
	void start_job();
	void finish_exchange();
	void check_times();
	void send_all(uint32_t kind, std::string body, int except);
	__attribute__((format(printf, 3, 4))) void end_job(int status, const char *format, ...);
	void check_end(uint64_t now);
	bool only_own() const;
	std::string missing() const;
};

// --- start -----------------------------------------------------------------------------------------------------------

int unique_server::listen_for_all()
{
	sockaddr_storage address;
	socklen_t length = 0;
	if (const int rc = id_listen_address(address, length))
		return rc;
	listener_ = own_socket(socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	if (!listener_ || bind(listener_.get(), reinterpret_cast<sockaddr *>(&address), length) != 0 ||
	    listen(listener_.get(), SOMAXCONN) != 0 ||
	    getsockname(listener_.get(), reinterpret_cast<sockaddr *>(&address), &length) != 0) {
		const int err = errno;
		print_error("cannot listen for the processes of the job: %s (PGAS_BOOT_INTERFACE names an interface)",
			    strerror(err));
		return -err;
	}
	watch_peer(listener_); // accepted sockets inherit it
	id_seal(id_, address);
	return 0;
}

int unique_server::open(unique_id &id)
{
	if (!id_timeout(timeout_))
		return -EINVAL;
	if (!id_create(id_)) {
		print_error("the kernel refuses random numbers, without which nobody could prove to be of the job");
		return -EIO;
	}
	if (const int rc = listen_for_all())
		return rc;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); // the thread must get none of the application's signals
	const int err = pthread_create(&thread_, nullptr, run_thread, this);
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	if (err)
		print_error("cannot start a thread: %s", strerror(err));
	else
		id = id_;
	return -err;
}

void *unique_server::run_thread(void *self)
{
	auto &server = *static_cast<unique_server *>(self);
	guard([&] {
		while (server.state_ != job_state::over) {
			server.poll_once();
			server.check_times();
			server.remove_guests();
		}
		return 0;
	});
	// whatever the reason: members see the ends of their connections
	server.guests_.clear();
	server.listener_.reset();
	server.over_.store(true, std::memory_order_release); // pairs with the acquire in is_over()
	return nullptr;
}

// --- the loop --------------------------------------------------------------------------------------------------------

int unique_server::pause() const
{
	const bool strangers =
		std::any_of(guests_.begin(), guests_.end(), [](const auto &g) { return g->is_stranger(); });
	return strangers || gather_until_ || accept_from_ || state_ == job_state::ending ? kTickMs : -1;
}

void unique_server::poll_once()
{
	if (accept_from_ && now_ns() >= accept_from_)
		accept_from_ = 0;
	std::vector<pollfd> polls;
	polls.push_back({accept_from_ ? -1 : listener_.get(), POLLIN, 0});
	for (const auto &g : guests_)
		polls.push_back({g->fd(), static_cast<short>(g->has_output() ? POLLIN | POLLOUT : POLLIN), 0});
	if (poll(polls.data(), polls.size(), pause()) < 0)
		return;
	for (size_t i = 0; i + 1 < polls.size(); i++) { // those that are accepted below have not been polled
		guest &g = *guests_[i];
		if (!g.over && polls[i + 1].revents & (POLLIN | POLLHUP | POLLERR))
			read_guest(g);
		if (!g.over && g.has_output())
			write_guest(g);
	}
	if (polls[0].revents && listener_)
		accept_guests();
}

void unique_server::accept_guests()
{
	for (size_t i = 0; i < kStrangersMost; i++) {
		own_socket socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
		if (!socket) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
				accept_error_ = errno;
				accept_from_ = now_ns() + kAcceptRestNs; // strangers may be gone by then
			}
			return;
		}
		accept_error_ = 0;
		make_room();
		guests_.push_back(std::make_unique<guest>(std::move(socket)));
	}
}

// The oldest stranger goes.
void unique_server::make_room()
{
	size_t count = 0;
	guest *oldest = nullptr;
	for (const auto &g : guests_)
		if (g->is_stranger() && !g->over) {
			count++;
			oldest = oldest ? oldest : g.get();
		}
	if (count >= kStrangersMost)
		oldest->over = true;
}

void unique_server::read_guest(guest &g)
{
	if (!g.read())
		return drop(g, nullptr);
	if (state_ == job_state::ending) // nothing that it says matters any more
		return g.forget_input();
	record r;
	const char *why = nullptr;
	while (!g.over) {
		const guest::taken taken = g.take(id_, r, why);
		if (taken == guest::taken::nothing)
			return;
		if (taken == guest::taken::fault)
			return drop(g, why);
		if (taken == guest::taken::record)
			handle(g, r);
		if (state_ == job_state::ending)
			return g.forget_input();
	}
}

void unique_server::write_guest(guest &g)
{
	if (!g.write())
		drop(g, nullptr);
}

// Ends a connection. why: what the peer sent, and must not; null: it is gone.
void unique_server::drop(guest &g, const char *why)
{
	g.over = true;
	if (g.state != guest_state::member || state_ == job_state::ending)
		return;
	if (why)
		end_job(1, "%s sent %s", g.name().c_str(), why);
	else if (state_ == job_state::gathering)
		end_job(1, "%s ended before all processes had come (%u of %zu)", g.name().c_str(), came_,
			members_.size());
	else
		end_job(1, "%s ended without leaving the job", g.name().c_str());
}

void unique_server::remove_guests()
{
	for (const auto &g : guests_)
		if (g->over && g->rank != kNoRank)
			members_[static_cast<size_t>(g->rank)] = nullptr;
	guests_.erase(std::remove_if(guests_.begin(), guests_.end(), [](const auto &g) { return g->over; }),
		      guests_.end());
}

// --- what members say ------------------------------------------------------------------------------------------------

void unique_server::handle(guest &g, const record &r)
{
	if (r.kind == kJoin)
		handle_join(g, r.body);
	else if (r.kind == kAbort)
		handle_abort(g, r.body);
	else if (state_ != job_state::running)
		drop(g, "a record before the job has started");
	else if (r.kind == kLeave)
		handle_leave(g);
	else
		handle_piece(g, r);
}

void unique_server::handle_join(guest &g, const std::string &body)
{
	if (body.size() != sizeof g.who)
		return drop(g, "a rank that makes no sense");
	memcpy(&g.who, body.data(), sizeof g.who);
	g.who.name[sizeof g.who.name - 1] = '\0';
	const auto rank = static_cast<size_t>(g.who.rank), size = static_cast<size_t>(g.who.size);
	if (g.who.size < 1 || size > kRanksMost || g.who.rank < 0 || rank >= size)
		return drop(g, "a rank that makes no sense");
	g.state = guest_state::member; // whatever becomes of it, it hears
	if (members_.empty()) {
		members_.resize(size);
		gather_until_ = timeout_ ? now_ns() + timeout_ * 1'000'000'000 : 0;
	}
	if (size != members_.size() || members_[rank])
		return refuse_join(g);
	g.rank = g.who.rank;
	members_[rank] = &g;
	if (++came_ == members_.size())
		start_job();
}

void unique_server::refuse_join(const guest &g)
{
	const size_t size = members_.size();
	const guest &first = **std::find_if(members_.begin(), members_.end(), [](const guest *m) { return m; });
	if (static_cast<size_t>(g.who.size) != size)
		end_job(1, "the size of the job differs: %d for %s, and %zu for %s", g.who.size, g.name().c_str(), size,
			first.name().c_str());
	else
		end_job(1, "two processes have one rank: %s and %s",
			members_[static_cast<size_t>(g.who.rank)]->name().c_str(), g.name().c_str());
}

void unique_server::start_job()
{
	const started_head head{static_cast<uint32_t>(members_.size()), own_rank_.load(std::memory_order_relaxed)};
	std::string body(reinterpret_cast<const char *>(&head), sizeof head);
	for (const guest *m : members_)
		body.append(reinterpret_cast<const char *>(&m->who.host), sizeof m->who.host);
	listener_.reset(); // nobody else is expected
	for (const auto &g : guests_)
		g->over = g->over || g->is_stranger();
	gather_until_ = accept_from_ = 0;
	pieces_.resize(members_.size());
	state_ = job_state::running;
	send_all(kStarted, std::move(body), kNoRank);
}

void unique_server::handle_piece(guest &g, const record &r)
{
	if (g.contributed)
		return drop(g, "two pieces for one exchange");
	if (left_ > 0)
		return end_job(1, "%s waits for processes that have left the job", g.name().c_str());
	if (arrived_ > 0 && r.kind != exchange_)
		return end_job(1, "%s takes part in another exchange than the others", g.name().c_str());
	exchange_ = r.kind;
	g.contributed = true;
	pieces_[static_cast<size_t>(g.rank)] = r.body;
	if (++arrived_ == members_.size())
		finish_exchange();
}

// The result of a barrier is empty.
void unique_server::finish_exchange()
{
	std::string all;
	for (std::string &piece : pieces_) {
		const uint64_t bytes = piece.size();
		if (exchange_ != kBarrier) {
			all.append(reinterpret_cast<const char *>(&bytes), sizeof bytes);
			all.append(piece);
		}
		piece = {};
	}
	arrived_ = 0;
	for (guest *m : members_)
		m->contributed = false;
	send_all(kGathered, std::move(all), kNoRank);
}

void unique_server::handle_leave(guest &g)
{
	if (arrived_ > 0)
		return end_job(1, "%s left the job while others wait for it", g.name().c_str());
	g.state = guest_state::left;
	if (++left_ < members_.size())
		return;
	state_ = job_state::ending;
	end_until_ = now_ns() + kEndNs;
	own_notified_ = true; // it is one of all
	send_all(kBye, "", kNoRank);
}

void unique_server::handle_abort(const guest &g, const std::string &body)
{
	end_body words{};
	memcpy(&words, body.data(), std::min(body.size(), sizeof words));
	words.why[sizeof words.why - 1] = '\0';
	const int status = words.status & 0xff;
	if (words.why[0])
		end_job(status, "%s ended the job, status %d: %s", g.name().c_str(), status, words.why);
	else if (status)
		end_job(status, "%s ended the job, status %d", g.name().c_str(), status);
	else
		end_job(0, "%s", ""); // a success
}

// --- the end ---------------------------------------------------------------------------------------------------------

// To all members except this rank. The body is hashed once. That of our own process is written last: it may end this
// process at once.
void unique_server::send_all(uint32_t kind, std::string body, int except)
{
	const shared_text text = std::make_shared<const std::string>(std::move(body));
	const int own = own_rank_.load(std::memory_order_relaxed);
	secret hash{};
	bool hashed = false;
	for (const auto &g : guests_) {
		if (g->is_stranger() || g->over || (except != kNoRank && g->rank == except))
			continue;
		if (!hashed)
			hash = g->hash(*text);
		hashed = true;
		g->send(kind, text, hash);
	}
	for (const bool mine : {false, true})
		for (const auto &g : guests_)
			if (!g->over && g->has_output() && (g->rank == own && own != kNoRank) == mine)
				write_guest(*g);
}

// Notifies all members, our own process last: its end is the end of this thread.
void unique_server::end_job(int status, const char *format, ...)
{
	if (state_ == job_state::ending)
		return;
	va_list args;
	va_start(args, format);
	end_.status = status;
	vsnprintf(end_.why, sizeof end_.why, format, args);
	va_end(args);
	const bool running = state_ == job_state::running;
	const int own = running ? own_rank_.load(std::memory_order_relaxed) : kNoRank;
	state_ = job_state::ending;
	end_until_ = now_ns() + kEndNs;
	own_notified_ = own == kNoRank;
	gather_until_ = accept_from_ = 0;
	listener_.reset();
	for (const auto &g : guests_)
		g->over = g->over || g->is_stranger();
	send_all(running ? kEnded : kRefused, std::string(reinterpret_cast<const char *>(&end_), sizeof end_), own);
}

// Has every other member read that the job is over, and closed its connection?
bool unique_server::only_own() const
{
	const int own = own_rank_.load(std::memory_order_relaxed);
	return std::all_of(guests_.begin(), guests_.end(),
			   [&](const auto &g) { return g->over || (!own_notified_ && g->rank == own); });
}

void unique_server::check_end(uint64_t now)
{
	if (!only_own() && now < end_until_)
		return;
	if (own_notified_) {
		state_ = job_state::over;
		return;
	}
	const int own = own_rank_.load(std::memory_order_relaxed);
	own_notified_ = true;
	end_until_ = now + kEndNs;
	for (const auto &g : guests_)
		g->over = g->over || g->rank != own;
	send_all(kEnded, std::string(reinterpret_cast<const char *>(&end_), sizeof end_), kNoRank);
}

std::string unique_server::missing() const
{
	constexpr size_t kNamed = 8;
	std::string ranks;
	size_t count = 0;
	for (size_t rank = 0; rank < members_.size() && count <= kNamed; rank++)
		if (!members_[rank] && ++count <= kNamed)
			ranks += (count > 1 ? ", " : "") + std::to_string(rank);
	return ranks + (count > kNamed ? ", ..." : "");
}

void unique_server::check_times()
{
	const uint64_t now = now_ns();
	for (const auto &g : guests_)
		if (g->is_stranger() && now - g->since() > kStrangerNs)
			g->over = true;
	if (gather_until_ && now > gather_until_)
		end_job(1, "%u of %zu processes came within %llu s, PE %s did not (PGAS_BOOT_TIMEOUT)%s%s", came_,
			members_.size(), static_cast<unsigned long long>(timeout_), missing().c_str(),
			accept_error_ ? "; the server's accept: " : "", accept_error_ ? strerror(accept_error_) : "");
	if (state_ == job_state::ending)
		check_end(now);
}

// --- servers of this process -----------------------------------------------------------------------------------------

namespace {

// A process may make several ids. One thread at a time calls these functions.
forever<std::vector<unique_server *>> g_servers;

} // namespace

void forget_served()
{
	std::vector<unique_server *> busy;
	for (unique_server *s : g_servers.it) {
		if (!s->is_ours() || !s->is_over()) {
			busy.push_back(s);
			continue;
		}
		s->join();
		delete s;
	}
	g_servers.it = std::move(busy);
}

int serve_unique(unique_id &id)
{
	forget_served();
	auto server = std::make_unique<unique_server>();
	g_servers.it.reserve(g_servers.it.size() + 1);
	const int rc = server->open(id);
	if (rc == 0)
		g_servers.it.push_back(server.release());
	return rc;
}

void serve_own(const unique_id &id, int rank)
{
	for (unique_server *s : g_servers.it)
		if (s->serves(id))
			s->set_own_rank(rank);
}

void end_serving(const unique_id &id)
{
	for (unique_server *&s : g_servers.it)
		if (s->serves(id)) {
			s->join();
			delete std::exchange(s, g_servers.it.back());
			g_servers.it.pop_back();
			return;
		}
}

} // namespace pgas::boot
