// SPDX-License-Identifier: BSD-3-Clause
//
// For attacks on the link: starting, controlling and ending victims (link_victim.cpp), and measuring their resources.
#pragma once

#include "link_attack.hpp"

#include <pgas/pgas_counter.h>

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdlib>
#include <functional>
#include <memory>

#include "check.h"

namespace attack {

inline unsigned long slowness()
{
	const char *slow = getenv("TEST_SLOW");
	return std::max(1ul, slow ? strtoul(slow, nullptr, 10) : 5);
}

// The number of tries; ATTACK_TRIES overrides it.
inline int tries(int otherwise)
{
	const char *text = getenv("ATTACK_TRIES");
	return text ? atoi(text) : otherwise;
}

inline uint64_t now_ms()
{
	return pgas_now_ns() / 1'000'000;
}

struct victim_options {
	std::vector<std::string> env; // NAME=VALUE
	rlim_t descriptors = 0;       // 0: our own limit
	std::string log;              // a file for its standard error; empty: our own
	bool with_secret = true;
};

class victim {
public:
	explicit victim(const victim_options &o = {});
	victim(const victim &) = delete;
	~victim() { stop(); }

	pid_t pid() const { return pid_; }
	// Its place, once it is ready.
	const place &at()
	{
		if (at_.address.empty()) {
			const std::string said = hear();
			CHECK(said.rfind("name ", 0) == 0);
			at_ = place_of(said.substr(5));
			CHECK_EQ(at_.address.size(), 6);
		}
		return at_;
	}
	void tell(const std::string &what) const
	{
		const std::string line = what + "\n";
		if (write(in_.get(), line.data(), line.size()) < 0)
			return; // it is gone: hear() reports that
	}
	// The next line of its output; empty if it is gone, or silent for `ms`.
	std::string hear(int ms = 0);
	std::string ask(const std::string &what)
	{
		at();
		tell(what);
		return hear();
	}
	// Ends it regularly; returns its exit status, or minus the signal that ended it.
	int end()
	{
		at();
		tell("end");
		while (!hear().empty())
			;
		return stop(false);
	}
	int stop(bool by_force = true);
	size_t descriptors() const;
	size_t memory_kib() const;

private:
	pid_t pid_ = -1;
	unique_fd in_, out_;
	std::string waiting_;
	place at_;
};

inline victim::victim(const victim_options &o)
{
	int input[2], out[2];
	CHECK(pipe2(input, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	pid_ = fork();
	CHECK(pid_ >= 0);
	if (pid_ == 0) {
		dup2(input[0], 0);
		dup2(out[1], 1);
		const int log = o.log.empty() ? -1 : open(o.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
		if (log >= 0)
			dup2(log, 2);
		for (const char *one : {"FI_PGAS_TEST_HOSTS=1", "FI_PGAS_NET=socket:lo"})
			putenv(const_cast<char *>(one));
		for (const std::string &one : o.env)
			putenv(const_cast<char *>(one.c_str()));
		const rlimit limit{o.descriptors, o.descriptors};
		if (o.descriptors)
			setrlimit(RLIMIT_NOFILE, &limit);
		char key[40] = "";
		for (size_t i = 0; i < 16 && o.with_secret; i++)
			sprintf(key + 2 * i, "%02x", reinterpret_cast<const unsigned char *>(&kSecret)[i]);
		execl(LINK_VICTIM, LINK_VICTIM, key, nullptr);
		_exit(127);
	}
	in_ = unique_fd(input[1]);
	out_ = unique_fd(out[0]);
	close(input[0]);
	close(out[1]);
}

inline std::string victim::hear(int ms)
{
	const uint64_t end = now_ms() + (ms ? static_cast<uint64_t>(ms) : 60'000 * slowness());
	for (;;) {
		const size_t pos = waiting_.find('\n');
		if (pos != std::string::npos) {
			const std::string said = waiting_.substr(0, pos);
			waiting_.erase(0, pos + 1);
			return said;
		}
		const uint64_t now = now_ms();
		char room[4096];
		if (now >= end || !readable(out_.get(), static_cast<int>(end - now)))
			return "";
		const ssize_t n = read(out_.get(), room, sizeof room);
		if (n <= 0)
			return "";
		waiting_.append(room, static_cast<size_t>(n));
	}
}

inline int victim::stop(bool by_force)
{
	if (pid_ < 0)
		return 0;
	int status = 0;
	if (by_force)
		kill(pid_, SIGKILL);
	waitpid(pid_, &status, 0);
	pid_ = -1;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

inline size_t victim::descriptors() const
{
	DIR *d = opendir(("/proc/" + std::to_string(pid_) + "/fd").c_str());
	size_t n = 0;
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n > 2 ? n - 2 : 0;
}

inline size_t victim::memory_kib() const
{
	FILE *f = fopen(("/proc/" + std::to_string(pid_) + "/status").c_str(), "re");
	char line[256];
	size_t kib = 0;
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmRSS: %zu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

// Several victims that form one job.
struct job {
	std::vector<std::unique_ptr<victim>> all;

	explicit job(size_t n = 2, const victim_options &o = {})
	{
		for (size_t i = 0; i < n; i++)
			all.push_back(std::make_unique<victim>(o));
	}
	victim &operator[](size_t i) { return *all[i]; }
	void begin(int rounds)
	{
		std::string names;
		for (const auto &v : all)
			names += " " + v->at().name;
		for (size_t i = 0; i < all.size(); i++)
			all[i]->tell("job " + std::to_string(i) + " " + std::to_string(rounds) + names);
	}
	// Empty if all are right; otherwise the output of the first that is not.
	std::string result()
	{
		std::string bad;
		for (const auto &v : all)
			if (const std::string said = v->hear(); said != "right" && bad.empty())
				bad = said.empty() ? "gone" : said;
		return bad;
	}
	// Ends all regularly.
	std::string end()
	{
		for (const auto &v : all)
			if (const int rc = v->end())
				return "ended by " + std::to_string(rc);
		return "";
	}
};

#define CHECK_WELL(what_arg)                                                                                           \
	do {                                                                                                           \
		const std::string said_ = (what_arg);                                                                  \
		CHECK_STR(said_.c_str(), "");                                                                          \
	} while (0)
#define CHECK_SAYS(what_arg, text_arg)                                                                                 \
	do {                                                                                                           \
		const std::string said_ = (what_arg);                                                                  \
		CHECK_STR(said_.c_str(), text_arg);                                                                    \
	} while (0)

// An attacker process; it ends with its owner. uid: the user to run as, if we may choose.
class attacker {
public:
	explicit attacker(const std::function<void()> &what, uid_t uid = 0)
	{
		const pid_t parent = getpid();
		fflush(stdout);
		pid_ = fork();
		if (pid_)
			return;
		signal(SIGPIPE, SIG_IGN);
		if (uid && geteuid() == 0 && (setgid(uid) != 0 || setuid(uid) != 0))
			_exit(3);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			what();
		_exit(0);
	}
	attacker(const attacker &) = delete;
	~attacker()
	{
		if (pid_ <= 0)
			return;
		kill(pid_, SIGKILL);
		waitpid(pid_, nullptr, 0);
	}

private:
	pid_t pid_;
};

// --- cases -----------------------------------------------------------------------------------------------------------

struct test_case {
	const char *name;
	void (*run)();
};

// Runs each case in its own process, so that a failing one leaves no victim behind. An argument selects cases by name.
inline int run_cases(const std::vector<test_case> &cases, int argc, char **argv)
{
	setvbuf(stdout, nullptr, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	int bad = 0;
	for (const test_case &c : cases) {
		if (argc > 1 && !strstr(c.name, argv[1]))
			continue;
		const uint64_t begin = now_ms();
		const pid_t pid = fork();
		if (pid == 0) {
			check_doing = c.name;
			c.run();
			fflush(stdout);
			_exit(0);
		}
		int status = 1;
		waitpid(pid, &status, 0);
		printf("%s - %s (%.1f s)\n", status ? "FAILED" : "ok", c.name,
		       static_cast<double>(now_ms() - begin) / 1000);
		bad += status != 0;
	}
	return bad != 0;
}

inline victim_options quick(std::vector<std::string> more = {})
{
	victim_options o;
	o.env = {"FI_PGAS_PEER_TIMEOUT=2", "LINK_VICTIM_SECONDS=60"};
	o.env.insert(o.env.end(), more.begin(), more.end());
	return o;
}

// The address of a dead process: any process may listen there now.
inline place place_of_dead()
{
	victim dead(quick());
	return dead.at();
}

// Serves a victim's packets until it prints something; returns how many data packets there were.
inline int serve(session &s, victim &v, std::string &said)
{
	int data = 0;
	while ((said = v.hear(1)).empty()) {
		const std::string p = s.conn.hear_packet(20);
		const packet_head h = head_in(p);
		if (p.empty() && s.conn.closed(0))
			break;
		if (!p.empty() && (h.flags & kPacketData)) {
			data++;
			s.ran = h.seq;
		}
		if (!p.empty() && (h.flags & (kPacketData | kPacketPing)))
			s.conn.say_packet(s.packet(0, ""));
	}
	return data;
}

} // namespace attack
