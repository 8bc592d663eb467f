// SPDX-License-Identifier: BSD-3-Clause
//
// A hello in another's name, before, while and after the victim calls that address, sent by user nobody of the same
// host, who finds the listeners in /proc/net/tcp. Every job must end right.
//
// When the link believed the address in a hello, the victim got that unproven channel when it first called the address
// itself, never said hello, and gave its peer up after the timeout; a hello while it greeted replaced the true answer.
// Two packets ended a job.
#include "link_scene.hpp"

#include <sys/mman.h>

using namespace attack;

namespace {

constexpr uid_t kNobody = 65534;
constexpr size_t kJobsAtOnce = 10;

bool g_alone;

struct tally {
	volatile uint64_t said, refused;
};
tally *shared_tally()
{
	return static_cast<tally *>(
		mmap(nullptr, sizeof(tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

// Says hello to `dest` in the name of `as`, in one write, and keeps the connection.
unique_fd shout(const std::string &dest, const std::string &as, tally &count)
{
	line l;
	l.fd = connect_to(dest);
	const hello h = hello_as(link_role::caller, as, 0, 0);
	const std::string all = bytes_of(hello_record_of(as)) + record_of(packet_of(kPacketHello, 0, 0, bytes_of(h)));
	if (l.fd && l.say(all))
		count.said = count.said + 1;
	else
		count.refused = count.refused + 1;
	return std::move(l.fd);
}

// To all targets in the name of all others, again and again. targets: when this is not our own network.
void poison(const std::vector<std::string> &targets, tally &count, useconds_t rest)
{
	std::vector<unique_fd> open;
	for (;;) {
		const std::vector<std::string> all = g_alone ? listeners() : targets;
		for (const std::string &dest : all)
			for (const std::string &as : all) {
				if (dest == as)
					continue;
				open.push_back(shout(dest, as, count));
				if (open.size() > 800)
					open.erase(open.begin(), open.begin() + 400);
				usleep(rest);
			}
		usleep(1000);
	}
}

// Several jobs at once. In every second one only one process calls, so that the other one's call cannot help it.
void poisoned_jobs(size_t n, bool before)
{
	std::vector<std::unique_ptr<job>> jobs;
	std::vector<std::string> targets;
	for (size_t i = 0; i < n; i++)
		jobs.push_back(std::make_unique<job>());
	for (const auto &j : jobs)
		for (const auto &v : j->all)
			targets.push_back(v->at().address);
	tally &count = *shared_tally();
	std::unique_ptr<attacker> actor;
	const auto begin_attack = [&] {
		actor = std::make_unique<attacker>([&] { poison(targets, count, before ? 200 : 0); }, kNobody);
	};
	const auto await = [&](uint64_t hellos) {
		const uint64_t end = now_ms() + 20'000 * slowness();
		for (const uint64_t begin = count.said; count.said < begin + hellos && now_ms() < end;)
			usleep(1000);
	};
	if (before) {
		begin_attack();
		await(targets.size() * (targets.size() - 1));
	}
	for (size_t i = 0; i < n; i++) {
		if (i % 2)
			jobs[i]->begin(20);
		else
			(*jobs[i])[0].tell("put " + (*jobs[i])[1].at().name + " 4711");
		if (!before && i == n / 2)
			begin_attack();
	}
	for (size_t i = 0; i < n; i++) {
		if (i % 2)
			CHECK_WELL(jobs[i]->result());
		else
			CHECK_SAYS((*jobs[i])[0].hear(), "done");
	}
	await(targets.size()); // and afterwards
	for (const auto &j : jobs) {
		CHECK_SAYS((*j)[1].ask("put " + (*j)[0].at().name + " 4712"), "done");
		CHECK_SAYS((*j)[0].ask("word"), "4712");
		CHECK_WELL(j->end());
	}
	CHECK(count.said > 0);
	printf("# %zu jobs, %llu hellos, %llu connections refused\n", n, static_cast<unsigned long long>(count.said),
	       static_cast<unsigned long long>(count.refused));
}

void poison_before_the_first_call()
{
	for (int left = tries(50); left > 0; left -= kJobsAtOnce)
		poisoned_jobs(kJobsAtOnce, true);
}

void poison_while_both_call()
{
	for (int left = tries(50); left > 0; left -= kJobsAtOnce)
		poisoned_jobs(kJobsAtOnce, false);
}

// The same hello opens a channel when a proof follows it.
void the_same_hello_is_good_with_a_proof()
{
	victim a, b;
	session s;
	b.at();
	CHECK(open_to(s, a.at(), b.at().address));
	CHECK(s.say_frames(put_of(0xabc)) && s.answers());
	CHECK_SAYS(a.ask("word"), "abc");
}

} // namespace

int main(int argc, char **argv)
{
	g_alone = own_network();
	return run_cases(
		{
			{"the_same_hello_is_good_with_a_proof", the_same_hello_is_good_with_a_proof},
			{"poison_before_the_first_call", poison_before_the_first_call},
			{"poison_while_both_call", poison_while_both_call},
		},
		argc, argv);
}
