// SPDX-License-Identifier: BSD-3-Clause
//
// A kernel that refuses a system call, as a system call filter may (seccomp): a process reports what it cannot do, at
// next to no cost, and does it once it can.
#include "link_refuse.h"
#include "link_scene.hpp"

#include <sys/mman.h>

#include <atomic>
#include <fstream>
#include <iterator>

using namespace attack;

namespace {

// A file in /tmp, removed with the object.
struct scratch_file {
	std::string name;
	scratch_file()
	{
		char text[] = "/tmp/link_refuse.XXXXXX";
		close(mkstemp(text));
		name = text;
	}
	~scratch_file() { unlink(name.c_str()); }
	std::string text() const
	{
		std::ifstream f(name);
		return {std::istreambuf_iterator<char>(f), {}};
	}
};

// The refused calls of victims started with options(), and their standard error.
struct kernel {
	scratch_file page, log;
	link_refuse *refusal;

	explicit kernel(uint32_t what = 0)
	{
		const unique_fd fd(open(page.name.c_str(), O_RDWR | O_CLOEXEC));
		CHECK(ftruncate(fd.get(), sizeof *refusal) == 0);
		refusal = static_cast<link_refuse *>(
			mmap(nullptr, sizeof *refusal, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
		CHECK(refusal != MAP_FAILED);
		refuse(what);
	}
	void refuse(uint32_t what) const { std::atomic_ref<uint32_t>(refusal->refused).store(what); }
	uint32_t count() const { return std::atomic_ref<uint32_t>(refusal->count).load(); }
	victim_options options() const
	{
		victim_options o;
		o.env = {"LD_PRELOAD=" LINK_REFUSED, "LINK_REFUSE=" + page.name, "FI_LOG_LEVEL=warn",
			 "FI_PGAS_NET_THREAD=1"};
		o.log = log.name;
		return o;
	}
};

// Callers wait in the kernel's queue meanwhile: a victim that polled them without a pause would spin forever.
void callers_that_cannot_be_accepted_wait_and_cost_little()
{
	kernel k;
	victim a(k.options()), b;
	b.at();
	k.refuse((a.at(), LINK_REFUSE_ACCEPT));
	std::vector<unique_fd> strangers;
	for (int i = 0; i < 3; i++)
		strangers.push_back(connect_to(a.at().address));
	b.tell("put " + a.at().name + " 7");
	CHECK_SAYS(b.hear(1500), "");
	const uint32_t before = k.count();
	CHECK(before > 0);
	usleep(1'000'000);
	const uint32_t in_a_second = k.count() - before;
	printf("# a second without accept4: %u tries\n", in_a_second);
	CHECK(in_a_second < 100);
	CHECK(k.log.text().find("Operation not permitted") != std::string::npos);
	k.refuse(0);
	CHECK_SAYS(b.hear(), "done");
	CHECK_SAYS(a.ask("word"), "7");
	CHECK_EQ(a.end(), 0);
}

void random_numbers_come_from_the_file_where_the_call_is_refused()
{
	kernel k(LINK_REFUSE_GETRANDOM);
	victim a(k.options()), b;
	b.at();
	CHECK_SAYS(b.ask("put " + a.at().name + " 8"), "done");
	CHECK(k.count() > 0);
	CHECK_EQ(a.end(), 0);
}

constexpr uint32_t kNoRandom = LINK_REFUSE_GETRANDOM | LINK_REFUSE_URANDOM;

void without_random_numbers_no_domain_is_opened()
{
	kernel k(kNoRandom);
	victim a(k.options());
	const std::string said = a.hear();
	CHECK(said.rfind("error fi_domain", 0) == 0);
	CHECK_EQ(a.stop(false), 2);
	CHECK(k.log.text().find("the kernel refuses random numbers") != std::string::npos);
	CHECK(k.count() < 20);
}

// Later no call is left to return the error: a hello with a guessable number must not go out.
void who_loses_random_numbers_says_so_and_ends()
{
	kernel k;
	victim a(k.options()), b;
	b.at();
	k.refuse((a.at(), kNoRandom));
	a.tell("put " + b.at().name + " 9");
	CHECK_SAYS(a.hear(), "");
	CHECK_EQ(a.stop(false), -SIGABRT);
	CHECK(k.log.text().find("the kernel refuses random numbers") != std::string::npos);
	CHECK(k.count() < 20);
	CHECK_SAYS(b.ask("word"), "0");
	CHECK_EQ(b.end(), 0);
}

} // namespace

int main(int argc, char **argv)
{
	const rlimit no_core{0, 0};
	setrlimit(RLIMIT_CORE, &no_core);
	own_network();
	return run_cases(
		{
			{"callers_that_cannot_be_accepted_wait_and_cost_little",
			 callers_that_cannot_be_accepted_wait_and_cost_little},
			{"random_numbers_come_from_the_file_where_the_call_is_refused",
			 random_numbers_come_from_the_file_where_the_call_is_refused},
			{"without_random_numbers_no_domain_is_opened", without_random_numbers_no_domain_is_opened},
			{"who_loses_random_numbers_says_so_and_ends", who_loses_random_numbers_says_so_and_ends},
		},
		argc, argv);
}
