// SPDX-License-Identifier: BSD-3-Clause
//
// Strangers that take all they can get: endless hellos, connections that say hello and no more, half a hello, nonsense,
// a scan of the port; before and during the first calls. Every job must end right, and the victim's descriptors,
// memory, log and system calls may grow only within a bound.
//
// 256 unproven hellos over one connection once closed a process to its peers, a thousand connections took all of its
// descriptors, every bad hello was a line in the log, and every silent connection added a system call to every poll.
#include "link_scene.hpp"

#include <fstream>

using namespace attack;

namespace {

constexpr size_t kLimit = 256; // of a victim's descriptors

// A new address every time, as a host with many ports could use.
std::string any_address()
{
	static uint16_t port = 1024;
	return pack(loopback(++port < 1024 ? port = 1024 : port));
}

std::string call_of(const std::string &as)
{
	return record_of(packet_of(kPacketHello, 0, 0, bytes_of(hello_as(link_role::caller, as, 0, 0))));
}

// What one connection sends, by its kind.
constexpr unsigned kKinds = 9;
std::string saying(unsigned kind)
{
	const std::string as = any_address();
	const std::string h = bytes_of(hello_record_of(as));
	switch (kind) {
	case 0:
		return h + call_of(as);
	case 1:
		return h;
	case 2:
		return h.substr(0, 5);
	case 3:
		return h.substr(0, 40);
	case 4:
		return "";
	case 5: {
		std::string noise(300, 0);
		for (char &c : noise)
			c = static_cast<char>(random_word());
		return noise;
	}
	case 6:
		return "GET / HTTP/1.0\r\n\r\n";
	case 7: // an invalid proof, of a channel that may exist
		return h + call_of(as) + record_of(packet_of(kPacketProof, 1, 1, std::string(sizeof(proof), 1)));
	default: // another version
		return h + record_of(packet_of(kPacketHello, 0, 0, bytes_of(hello_as(link_role::caller, as, 0, 0)), 0,
					       0, 1));
	}
}

// Connects, sends, and keeps some connections open. kinds: those to send, in turn.
void flood(const std::vector<std::string> &dest, const std::vector<unsigned> &kinds, size_t hold, uint64_t most)
{
	std::vector<unique_fd> open;
	for (uint64_t i = 0; i < most; i++) {
		line l;
		l.fd = connect_to(dest[i % dest.size()]);
		if (!l.fd) {
			usleep(1000);
			continue;
		}
		l.say(saying(kinds[i / dest.size() % kinds.size()]));
		if (i % 7 == 3) { // closed at once, with a reset
			const linger none{1, 0};
			setsockopt(l.fd.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
			continue;
		}
		open.push_back(std::move(l.fd));
		if (open.size() > hold)
			open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(hold / 2));
	}
	while (hold)
		pause();
}

std::vector<unsigned> all_kinds()
{
	std::vector<unsigned> k;
	for (unsigned i = 0; i < kKinds; i++)
		k.push_back(i);
	return k;
}

struct log_file {
	std::string name;
	log_file()
	{
		char text[] = "/tmp/link_flood.XXXXXX";
		close(mkstemp(text));
		name = text;
	}
	~log_file() { unlink(name.c_str()); }
	size_t lines() const
	{
		std::ifstream f(name);
		std::string line;
		size_t n = 0;
		while (std::getline(f, line))
			n++;
		return n;
	}
};

victim_options small(const log_file &log)
{
	victim_options o;
	o.env = {"FI_LOG_LEVEL=warn"};
	o.descriptors = kLimit;
	o.log = log.name;
	return o;
}

// --- hellos ----------------------------------------------------------------------------------------------------------

void three_hundred_hellos_on_one_connection()
{
	victim a, b;
	listener own;
	line l;
	CHECK(line_call(l, a.at().address, own.address));
	std::string all;
	for (int i = 0; i < 300; i++)
		all += call_of(own.address);
	l.say(all);
	b.at();
	CHECK_SAYS(b.ask("put " + a.at().name + " 5"), "done");
	CHECK_SAYS(a.ask("word"), "5");
	CHECK_EQ(a.end(), 0);
}

void hellos_of_a_thousand_connections()
{
	log_file log;
	victim a(small(log)), b;
	std::vector<line> lines(1000);
	for (line &l : lines) {
		const std::string as = any_address();
		l.fd = connect_to(a.at().address);
		CHECK(l.fd);
		l.say(bytes_of(hello_record_of(as)) + call_of(as));
	}
	CHECK(a.descriptors() < kLimit);
	b.at();
	const uint64_t begin = now_ms();
	CHECK_SAYS(b.ask("put " + a.at().name + " 5"), "done");
	CHECK(now_ms() - begin < 2000 * slowness());
	CHECK_EQ(a.end(), 0);
	CHECK(log.lines() < 40);
}

// Both call while strangers say hello as fast as they can.
void floods_of_hellos_during_the_first_calls()
{
	constexpr int kAtOnce = 5;
	for (int left = tries(100); left > 0; left -= kAtOnce) {
		std::vector<std::unique_ptr<job>> jobs;
		std::vector<std::string> dest;
		for (int i = 0; i < kAtOnce; i++)
			jobs.push_back(std::make_unique<job>());
		for (const auto &j : jobs)
			for (const auto &v : j->all)
				dest.push_back(v->at().address);
		const attacker actor([&] { flood(dest, {0}, 600, ~0ull); });
		usleep(20000);
		for (const auto &j : jobs)
			j->begin(20);
		for (const auto &j : jobs) {
			CHECK_WELL(j->result());
			CHECK_WELL(j->end());
		}
	}
}

void floods_of_everything_during_the_first_calls()
{
	for (int i = 0; i < tries(4); i++) {
		job j(3);
		std::vector<std::string> dest;
		for (const auto &v : j.all)
			dest.push_back(v->at().address);
		const attacker one([&] { flood(dest, all_kinds(), 600, ~0ull); });
		const attacker two([&] { flood(dest, {4, 2, 1}, 600, ~0ull); });
		usleep(30000);
		j.begin(20);
		CHECK_WELL(j.result());
		CHECK_WELL(j.end());
	}
}

// --- costs -----------------------------------------------------------------------------------------------------------

void strangers_leave_descriptors(rlim_t limit, bool say_hello)
{
	log_file log;
	victim_options o = small(log);
	o.descriptors = limit;
	victim a(o), b;
	const size_t before = (a.at(), a.descriptors());
	std::vector<unique_fd> open;
	size_t most = 0;
	for (int i = 0; i < 1000; i++) {
		line l;
		l.fd = connect_to(a.at().address);
		CHECK(l.fd);
		if (say_hello)
			l.say(saying(1));
		open.push_back(std::move(l.fd));
		if (i % 50 == 0)
			most = std::max(most, a.descriptors());
	}
	usleep(100000);
	most = std::max(most, a.descriptors());
	printf("# descriptors: %zu before, %zu at most, the limit is %zu\n", before, most, size_t{limit});
	CHECK(most <= before + limit / 4 + 1); // plus one that is just being accepted
	b.at();
	CHECK_SAYS(b.ask("put " + a.at().name + " 5"), "done");
	CHECK(log.lines() < 40);
	open.clear();
	for (int i = 0; i < 300 && a.descriptors() > before + 3; i++)
		usleep(20000);
	CHECK(a.descriptors() <= before + 3); // plus b's
	CHECK_EQ(a.end(), 0);
}

void a_thousand_connections_leave_descriptors()
{
	for (const rlim_t limit : {64, 128, 256})
		for (const bool say_hello : {true, false})
			strangers_leave_descriptors(limit, say_hello);
}

void a_long_flood_leaves_memory_and_log_as_they_are()
{
	log_file log;
	victim a(small(log)), b;
	b.at();
	CHECK_SAYS(b.ask("put " + a.at().name + " 1"), "done");
	const size_t descriptors = a.descriptors();
	size_t memory[4] = {};
	for (size_t round = 0; round < 4; round++) {
		flood({a.at().address}, all_kinds(), 0, 1500);
		CHECK(a.descriptors() < kLimit);
		CHECK_SAYS(b.ask("put " + a.at().name + " 1"), "done");
		memory[round] = a.memory_kib();
	}
	printf("# memory: %zu, %zu, %zu, %zu KiB; %zu lines in the log\n", memory[0], memory[1], memory[2], memory[3],
	       log.lines());
	CHECK(memory[3] < memory[1] + 1024);
	CHECK(log.lines() < 80);
	for (int i = 0; i < 500 && a.descriptors() > descriptors; i++)
		usleep(20000);
	CHECK(a.descriptors() <= descriptors);
	CHECK_SAYS(a.ask("check"), "sound");
	CHECK_EQ(a.end(), 0);
}

// thread: the provider's own thread polls, and the program's polls enter the kernel only after an event.
void look_with_silent_strangers(bool thread)
{
	victim_options o;
	o.env = {"LD_PRELOAD=" LINK_COUNT, thread ? "FI_PGAS_NET_THREAD=1" : "FI_PGAS_NET_THREAD=0"};
	victim a(o), b;
	b.at();
	CHECK_SAYS(b.ask("put " + a.at().name + " 1"), "done");
	const auto calls = [&a] {
		const std::string said = a.ask("poll 20000");
		CHECK(!said.empty() && said[0] != 'e');
		return strtoul(said.c_str(), nullptr, 10);
	};
	calls();
	const unsigned long alone = calls();
	CHECK(thread || alone >= 20000); // they are counted
	std::vector<unique_fd> open;
	for (unsigned kind : {4u, 2u, 1u, 0u}) {
		line l;
		l.fd = connect_to(a.at().address);
		l.say(saying(kind));
		usleep(50000);
		open.push_back(std::move(l.fd));
		const unsigned long with = calls();
		printf("# system calls of 20000 looks: %lu alone, %lu with a stranger of kind %u\n", alone, with, kind);
		CHECK(with < alone + alone / 10 + 200);
	}
	CHECK_EQ(a.end(), 0);
}

void silent_strangers_cost_no_system_calls()
{
	look_with_silent_strangers(true);
	look_with_silent_strangers(false);
}

} // namespace

int main(int argc, char **argv)
{
	own_network();
	return run_cases(
		{
			{"three_hundred_hellos_on_one_connection", three_hundred_hellos_on_one_connection},
			{"hellos_of_a_thousand_connections", hellos_of_a_thousand_connections},
			{"floods_of_hellos_during_the_first_calls", floods_of_hellos_during_the_first_calls},
			{"floods_of_everything_during_the_first_calls", floods_of_everything_during_the_first_calls},
			{"a_thousand_connections_leave_descriptors", a_thousand_connections_leave_descriptors},
			{"a_long_flood_leaves_memory_and_log_as_they_are",
			 a_long_flood_leaves_memory_and_log_as_they_are},
			{"silent_strangers_cost_no_system_calls", silent_strangers_cost_no_system_calls},
		},
		argc, argv);
}
