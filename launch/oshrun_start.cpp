// SPDX-License-Identifier: BSD-3-Clause
// oshrun_start.cpp: creates the board and the pipes of a job and starts one PE: fork, and everything between fork and
// exec.
#include "oshrun_start.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace oshrun {
namespace {

constexpr int kHighFd = 200;
constexpr rlim_t kOwnFiles = 20; // of oshrun itself, including those open only briefly; a few are spare

int to_high(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, kHighFd);
	if (high < 0)
		return fd; // the limit on descriptors is low
	close(fd);
	return high;
}

bool make_pipe(unique_fd &read_end, unique_fd &write_end, int flags)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC | flags) != 0 && (errno != EINVAL || pipe2(ends, O_CLOEXEC) != 0))
		return false;
	read_end = unique_fd(to_high(ends[0]));
	write_end = unique_fd(to_high(ends[1]));
	return true;
}

uint64_t inode(int fd)
{
	struct stat info = {};
	fstat(fd, &info);
	return info.st_ino;
}

// What a new PE starts with; used only in the child.
struct launch {
	const start_plan &plan;
	const app &program;
	int rank;
	const cpu_set_t *cpus;
	pid_t launcher;
};

// The keeper needs some milliseconds for the PMIx server; this process was forked in the meantime.
void add_pmix(const launch &how, strings &env)
{
	keeper_page &page = *how.plan.files.page.get();
	std::atomic_ref<uint32_t> state(page.env_state);
	const struct timespec nap = {0, 100'000'000};
	while (state.load(std::memory_order_acquire) == kEnvPending && getppid() == how.launcher)
		syscall(SYS_futex, &page.env_state, FUTEX_WAIT, kEnvPending, &nap, nullptr, 0);
	if (state.load(std::memory_order_acquire) != kEnvReady)
		return;
	for (const char *pos = page.env_text; pos < page.env_text + page.env_bytes; pos += strlen(pos) + 1)
		set_env(env, pos);
	set_env(env, "PMIX_RANK=" + std::to_string(how.rank));
	// Open MPI 4 accepts PMIx servers only of launchers that it knows; this component of it rejects ours.
	const std::string schizo = "OMPI_MCA_schizo=";
	for (const std::string &entry : env)
		if (entry.compare(0, schizo.size(), schizo) == 0)
			return;
	env.push_back(schizo + "^orte");
}

strings pe_environment(const launch &how)
{
	strings env = how.plan.env;
	for (const std::string &assignment : how.program.set_env)
		set_env(env, assignment);
	char text[128];
	snprintf(text, sizeof text, "%s=%d:%d:%d:%d:%016llx:%016llx", pgas::boot::kBoardEnv,
		 pgas::boot::kBoardEnvVersion, how.launcher, how.plan.files.board.get(), how.rank,
		 static_cast<unsigned long long>(how.plan.files.view.plan.cookie),
		 static_cast<unsigned long long>(how.plan.files.view.plan.job_cookie));
	env.push_back(text);
	env.push_back("OSHRUN_RANK=" + std::to_string(how.rank));
	env.push_back("OSHRUN_SIZE=" + std::to_string(how.plan.opts.count));
	if (how.plan.await_pmix)
		add_pmix(how, env);
	return env;
}

[[noreturn]] void give_up(const launch &how, int why, const char *what)
{
	pgas::boot::mail_record mail = {};
	mail.kind = pgas::boot::kMailExecFailed;
	mail.rank = how.rank;
	mail.status = why;
	const std::string reason = ": " + why_not_executed(what, why);
	const size_t room = sizeof mail.text - 1 - std::min(reason.size(), sizeof mail.text / 2), length = strlen(what);
	snprintf(mail.text, sizeof mail.text, "%s%s%s", length > room ? "..." : "",
		 length > room ? what + (length - room) + 3 : what, reason.c_str()); // the end of a long path
	ssize_t ignored = write(how.plan.files.mail_write.get(), &mail, sizeof mail);
	(void)ignored;
	_exit(why == ENOENT ? kExitNotFound : kExitNotExecutable);
}

[[noreturn]] void become_pe(const launch &how, int input, int out, int err)
{
	close(how.plan.files.life_write.get());
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != how.launcher)
		_exit(1); // the launcher died before the prctl call
	restore_signals();
	strings env = pe_environment(how);
	setrlimit(RLIMIT_NOFILE, &how.plan.file_limit);
	if (input != STDIN_FILENO)
		dup2(input, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	// They stay open through exec, and through the exec of wrappers. The library closes them in programs that the
	// PE itself runs.
	for (int fd : {how.plan.files.board.get(), how.plan.files.life_read.get(), how.plan.files.mail_write.get()})
		fcntl(fd, F_SETFD, 0);
	if (how.cpus)
		sched_setaffinity(0, sizeof *how.cpus, how.cpus);
	if (!how.program.wdir.empty() && chdir(how.program.wdir.c_str()) != 0)
		give_up(how, errno, how.program.wdir.c_str());
	if (!how.plan.opts.aslr) // if the system refuses, addresses differ; nothing here needs them equal
		personality(static_cast<unsigned long>(personality(0xffffffff)) | ADDR_NO_RANDOMIZE);
	strings argv = how.program.argv;
	execve(how.program.path.c_str(), pointers(argv).data(), pointers(env).data());
	if (errno == ENOEXEC && is_script(how.program.path)) { // without #!: start it as every shell does
		argv[0] = how.program.path;
		argv.insert(argv.begin(), "/bin/sh");
		execve("/bin/sh", pointers(argv).data(), pointers(env).data());
		errno = ENOEXEC;
	}
	give_up(how, errno, how.program.path.c_str());
}

} // namespace

std::vector<char *> pointers(strings &list)
{
	std::vector<char *> out;
	for (std::string &text : list)
		out.push_back(text.data());
	out.push_back(nullptr);
	return out;
}

void restore_signals()
{
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			signal(sig, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, nullptr);
}

uint64_t fresh_cookie()
{
	uint64_t cookie = 0;
	if (getrandom(&cookie, sizeof cookie, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof cookie)) {
		double now = now_s();
		memcpy(&cookie, &now, sizeof cookie);
		cookie ^= static_cast<uint64_t>(getpid()) << 40;
	}
	return cookie;
}

uint32_t placement::local_size() const
{
	return static_cast<uint32_t>(std::count(host_of.begin(), host_of.end(), host));
}

placement on_this_machine(int count)
{
	char name[256] = "";
	gethostname(name, sizeof name - 1);
	placement where;
	where.host_of.assign(static_cast<size_t>(count), 0);
	where.names = {name};
	return where;
}

shared_page::~shared_page()
{
	if (page_)
		munmap(page_, bytes_);
}

bool shared_page::make(uint32_t children)
{
	bytes_ = sizeof(keeper_page) + children * sizeof(uint32_t);
	void *base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	page_ = base == MAP_FAILED ? nullptr : static_cast<keeper_page *>(base);
	return page_ != nullptr;
}

// Makes the memory of the board. It is sealed: a PE that truncates it would end every process that reads it, by SIGBUS.
static bool make_board(size_t bytes, job_files &files)
{
	if (int fd = memfd_create("oshrun-board", MFD_CLOEXEC | MFD_ALLOW_SEALING); fd >= 0)
		files.board = unique_fd(to_high(fd));
	const int fd = files.board.get();
	if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return false;
	void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	files.view.base = base == MAP_FAILED ? nullptr : static_cast<char *>(base);
	return files.view.base != nullptr;
}

// O_DIRECT: each write is one packet. A packet takes a page, and a smaller pipe would make writers wait.
static bool make_pipes(job_files &files)
{
	if (!make_pipe(files.life_read, files.life_write, 0) || !make_pipe(files.mail_read, files.mail_write, O_DIRECT))
		return false;
	fcntl(files.mail_read.get(), F_SETFL, O_NONBLOCK);
	fcntl(files.mail_read.get(), F_SETPIPE_SZ, 1 << 20);
	return true;
}

static void write_plan(const placement &where, pgas::boot::board_plan plan, job_files &files)
{
	plan.magic = pgas::boot::kBoardMagic;
	plan.cookie = fresh_cookie();
	plan.job_cookie = where.job_cookie ? where.job_cookie : plan.cookie;
	plan.local_size = where.local_size();
	plan.launcher_pid = static_cast<uint32_t>(getpid());
	plan.life_fd = files.life_read.get();
	plan.life_ino = inode(plan.life_fd);
	plan.mail_fd = files.mail_write.get();
	plan.mail_ino = inode(plan.mail_fd);
	files.view.plan = plan;
	memcpy(files.view.base, &plan, sizeof plan);
	for (uint32_t rank = 0; rank < plan.size; rank++)
		if (where.host_of[rank] != 0) // untouched pages of zeros stay holes
			files.view.slot(rank).host = where.host_of[rank];
}

bool make_files(const placement &where, job_files &files)
{
	pgas::boot::board_plan plan = {};
	plan.size = static_cast<uint32_t>(where.host_of.size());
	plan.board_bytes = pgas::boot::board_layout(plan, plan.size);
	if (!make_board(plan.board_bytes, files)) {
		say("cannot make the board of %u PEs (%zu MiB, sparse): %s", plan.size,
		    static_cast<size_t>(plan.board_bytes) >> 20, strerror(errno));
		return false;
	}
	if (!files.page.make(where.local_size())) {
		say("cannot make the page of the keeper: %s", strerror(errno));
		return false;
	}
	if (!make_pipes(files)) {
		say("cannot make a pipe: %s", strerror(errno));
		return false;
	}
	write_plan(where, plan, files);
	return true;
}

unique_fd dup_high(int fd)
{
	unique_fd high(fcntl(fd, F_DUPFD_CLOEXEC, kHighFd));
	return high ? std::move(high) : unique_fd(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

// oshrun needs two descriptors per PE, and one more for a PE below a wrapper, without which it can do. In addition it
// tries to get numbers that scripts do not use. The PEs get back the limit with which oshrun was started.
bool raise_file_limit(int count, int others, struct rlimit &before)
{
	getrlimit(RLIMIT_NOFILE, &before);
	const rlim_t need = 2 * static_cast<rlim_t>(count) + static_cast<rlim_t>(others) + kOwnFiles;
	const rlim_t wish = need + static_cast<rlim_t>(count) + kHighFd;
	if (before.rlim_cur == RLIM_INFINITY || before.rlim_cur >= wish)
		return true;
	struct rlimit more = before;
	more.rlim_cur = before.rlim_max == RLIM_INFINITY || wish < before.rlim_max ? wish : before.rlim_max;
	setrlimit(RLIMIT_NOFILE, &more);
	if (more.rlim_cur >= need)
		return true;
	say("%d PEs need %llu file descriptors, the limit is %llu: raise it (ulimit -Hn)", count,
	    static_cast<unsigned long long>(need), static_cast<unsigned long long>(before.rlim_max));
	return false;
}

pid_t start_pe(const start_plan &plan, int rank, const app &program, const cpu_set_t *cpus, pe_output &out,
	       pe_input &input)
{
	unique_fd far_in, far_out, far_err;
	bool piped = out.open_stream(rank, false, far_out) && out.open_stream(rank, true, far_err);
	if (piped && rank == plan.opts.stdin_pe)
		piped = input.open(far_in);
	else if (piped) {
		far_in = unique_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
		piped = far_in.get() >= 0;
	}
	if (!piped) {
		say("cannot start PE %d of %d: standard streams: %s", rank, plan.opts.count, strerror(errno));
		return -1;
	}
	launch how = {plan, program, rank, cpus, getpid()};
	const pid_t child = fork();
	if (child == 0)
		become_pe(how, far_in.get() >= 0 ? far_in.get() : STDIN_FILENO, far_out.get(), far_err.get());
	if (child < 0) {
		int why = errno;
		struct rlimit limit = {};
		getrlimit(RLIMIT_NPROC, &limit);
		say("cannot start PE %d of %d: fork: %s (limit on processes: %lld)", rank, plan.opts.count,
		    strerror(why), static_cast<long long>(limit.rlim_cur));
		return -1;
	}
	setpgid(child, child); // both sides do it, whichever is first
	return child;
}

} // namespace oshrun
