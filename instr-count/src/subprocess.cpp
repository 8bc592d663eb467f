// SPDX-License-Identifier: BSD-3-Clause
// subprocess.cpp: fork, exec, wait.
#include "subprocess.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deadline.hpp"
#include "error.hpp"
#include "text.hpp"

namespace ic {

static constexpr int kNotStarted = 127;

void fix_addresses()
{
	const int now = personality(0xffffffff);
	if (now != -1)
		personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE);
}

run_result run_program(const std::vector<std::string> &argv, const run_options &options)
{
	int out[2] = {-1, -1};
	if (options.capture && pipe2(out, O_CLOEXEC) != 0)
		fail(exit_code::internal, "pipe: %s", strerror(errno));
	fflush(nullptr);
	pid_t pid = fork();
	if (pid < 0)
		fail(exit_code::internal, "fork: %s", strerror(errno));
	if (pid == 0) {
		if (options.capture)
			dup2(out[1], STDOUT_FILENO);
		else if (options.aside)
			dup2(STDERR_FILENO, STDOUT_FILENO);
		if (options.hush)
			dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		if (options.hush && !options.capture)
			dup2(STDERR_FILENO, STDOUT_FILENO);
		for (const std::string &pair : options.env) {
			size_t equals = pair.find('=');
			setenv(pair.substr(0, equals).c_str(), pair.c_str() + equals + 1, 1);
		}
		fix_addresses();
		std::vector<char *> args;
		for (const std::string &arg : argv)
			args.push_back(const_cast<char *>(arg.c_str()));
		args.push_back(nullptr);
		execvp(args[0], args.data());
		_exit(kNotStarted);
	}
	run_result result;
	result.pid = pid;
	deadline limit(options.timeout_s);
	if (options.capture) {
		close(out[1]);
		char block[16384];
		ssize_t n;
		while (((n = read(out[0], block, sizeof(block))) > 0 || (n < 0 && errno == EINTR)) && !limit.over())
			if (n > 0)
				result.output.append(block, static_cast<size_t>(n));
		close(out[0]);
	}
	for (;;) {
		pid_t gone = waitpid(pid, &result.status, options.tick ? WNOHANG : 0);
		if (gone == pid || (gone < 0 && errno != EINTR))
			break;
		result.timed_out = limit.over();
		if (result.timed_out || (gone == 0 && !options.tick(pid))) {
			result.status = end_child(pid);
			break;
		}
		if (gone == 0)
			usleep(20000);
	}
	result.started = !(WIFEXITED(result.status) && WEXITSTATUS(result.status) == kNotStarted);
	return result;
}

void require_good_end(const std::string &who, const char *under, const run_result &result)
{
	const char *name = who.c_str();
	if (result.timed_out)
		fail(exit_code::program_failed, "%s did not end within its time under %s (--timeout)", name, under);
	if (WIFSIGNALED(result.status))
		fail(exit_code::program_failed, "%s was ended by %s under %s", name, strsignal(WTERMSIG(result.status)),
		     under);
	if (WEXITSTATUS(result.status) == static_cast<int>(exit_code::not_here))
		fail(exit_code::not_here, "%s says that what it needs is not here (status 77)", base_name(who).c_str());
	if (WEXITSTATUS(result.status) != 0)
		fail(exit_code::program_failed, "%s exited with status %d under %s", name, WEXITSTATUS(result.status),
		     under);
}

std::string find_program(const std::string &name)
{
	if (name.find('/') != std::string::npos)
		return access(name.c_str(), X_OK) == 0 ? name : "";
	const char *path = getenv("PATH");
	for (const std::string &dir : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
		std::string full = (dir.empty() ? "." : dir) + "/" + name;
		if (access(full.c_str(), X_OK) == 0)
			return full;
	}
	return "";
}

scratch_dir::scratch_dir()
{
	const char *base = getenv("TMPDIR");
	path_ = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/instr-count.XXXXXX";
	if (mkdtemp(path_.data()) == nullptr)
		fail(exit_code::internal, "cannot make a directory %s: %s", path_.c_str(), strerror(errno));
}

std::vector<std::string> scratch_dir::files() const
{
	std::vector<std::string> out;
	DIR *dir = opendir(path_.c_str());
	if (dir == nullptr)
		return out;
	while (struct dirent *entry = readdir(dir))
		if (entry->d_name[0] != '.')
			out.push_back(entry->d_name);
	closedir(dir);
	return out;
}

scratch_dir::~scratch_dir()
{
	for (const std::string &name : files())
		unlink((path_ + "/" + name).c_str());
	rmdir(path_.c_str());
}

} // namespace ic
