// SPDX-License-Identifier: BSD-3-Clause
// test_oshrun_hosts.cpp: the parts of jobs on several hosts that need no process: lists of hosts, placement, messages,
// the job's text, a board's side of the exchange. Input from other hosts is also truncated and changed.
#include "oshrun_agent.hpp"
#include "oshrun_hostlist.hpp"
#include "oshrun_hosts.hpp"
#include "oshrun_pmix_link.hpp"

#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/socket.h>
#include <thread>

// cmocka comes last: it has a macro with the name of one of our members
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}

using namespace oshrun;

namespace {

// "a:2 b:0", or "? and why"
std::string show(const std::string &wrong, const host_set &hosts)
{
	if (!wrong.empty())
		return "? " + wrong;
	std::string text;
	for (const host &one : hosts.list)
		text += (text.empty() ? "" : " ") + one.name + ":" + std::to_string(one.slots);
	return text;
}

std::string listed(const char *text)
{
	host_set hosts;
	return show(add_host_list(text, hosts), hosts);
}

std::string lined(std::initializer_list<const char *> lines)
{
	host_set hosts;
	std::string wrong;
	for (const char *line : lines)
		if (wrong.empty())
			wrong = add_host_line(line, hosts);
	return show(wrong, hosts);
}

std::string slurm(const char *names, const char *slots)
{
	host_set hosts;
	return show(add_slurm_hosts(names, slots, hosts), hosts);
}

void test_list(void **)
{
	assert_string_equal(listed("a").c_str(), "a:0");
	assert_string_equal(listed("a,b:2, me@c.d:3").c_str(), "a:0 b:2 me@c.d:3");
	assert_string_equal(listed("a,a,b,a:3").c_str(), "a:5 b:0");
	assert_string_equal(listed("[fe80::1]:2,[::1]").c_str(), "fe80::1:2 ::1:0");
	for (const char *wrong : {"", ",", "a,", "a:", "a:0", "a:-1", "a:+1", "a:1x", "a:99999999999", "-x", "a b",
				  "a;b", "$(x)", "[a", "[a]x", "'a'"})
		assert_true(listed(wrong)[0] == '?');
}

void test_lines(void **)
{
	assert_string_equal(lined({"a", "b:2", "c slots=3"}).c_str(), "a:0 b:2 c:3");
	assert_string_equal(lined({"# x", "", "  \t ", " a\tslots=2 max_slots=4 # y\n", "a slots=1\r\n"}).c_str(),
			    "a:3");
	for (const char *wrong : {"a b", "a slots", "a slots=", "a slots=0", "a cores=2", "a,b", "-a"})
		assert_true(lined({wrong})[0] == '?');
}

std::string repeated(const char *text, int times)
{
	std::string all;
	for (int i = 0; i < times; i++)
		all += text;
	return all;
}

// Texts that would take too long, or too much stack.
void test_slurm_bounds(void **)
{
	assert_string_equal(slurm(("n" + repeated("[1]", 16)).c_str(), "").c_str(),
			    ("n" + repeated("1", 16) + ":1").c_str());
	assert_non_null(strstr(slurm(("n" + repeated("[1]", 17)).c_str(), "").c_str(), "more than 16 brackets"));
	assert_non_null(strstr(slurm(("n" + repeated("[1]", 40000)).c_str(), "").c_str(), "more than 16 brackets"));
	for (const char *many : {"n[1-100000][1-100000]", "n[1-1048577]", "a[1-600000],b[1-600000]", "a[1-1048576],b",
				 "a[1-1048575],b[1-2][1]", "n[1-1024,2000-3023][1-1024]"})
		assert_non_null(strstr(slurm(many, "").c_str(), "too many hosts"));
	assert_true(slurm("a[1-2][1-2],b[1-1024][1-1023],c[1-1020]", "")[0] != '?'); // exactly the maximum
	assert_true(slurm(repeated("[1-1000000]", 16).c_str(), "")[0] == '?');
	assert_non_null(strstr(slurm("n[[1]]", "").c_str(), "brackets in brackets"));
	assert_non_null(strstr(slurm(repeated("[", 100000).c_str(), "").c_str(), "brackets"));
	assert_true(slurm(repeated("[1]", 40000).c_str(), "").size() < 400); // a line for the user
}

// A list of a large machine. Comparing each name with all others takes minutes.
void test_many_hosts(void **)
{
	constexpr int count = 100000;
	host_set hosts;
	const double begin = now_s();
	for (int i = 0; i < 2 * count; i++)
		assert_string_equal(add_host_line("host" + std::to_string(i % count) + " slots=2", hosts).c_str(), "");
	assert_int_equal(hosts.list.size(), count);
	assert_int_equal(hosts.list[count - 1].slots, 4);
	assert_true(now_s() - begin < 20);
}

void test_slurm(void **)
{
	assert_string_equal(slurm("n1", "").c_str(), "n1:1");
	assert_string_equal(slurm("n[01-03,7],login", "2(x3),1,4").c_str(), "n01:2 n02:2 n03:2 n7:1 login:4");
	assert_string_equal(slurm("r[0-1]n[8-10]-ib", "").c_str(),
			    "r0n8-ib:1 r0n9-ib:1 r0n10-ib:1 r1n8-ib:1 r1n9-ib:1 r1n10-ib:1");
	for (const char *wrong : {"n[", "n[1", "n[1-]", "n[a-b]", "n[]", ",", "n]", "n[0-9999999999]", "n[0-99999999]"})
		assert_true(slurm(wrong, "")[0] == '?');
	for (const char *wrong : {"2", "2(x3)", "2(x0),1", "2(x2", "x", "1,,1"})
		assert_true(slurm("a,b", wrong)[0] == '?');
}

std::string placed(map_by map, int count, bool more = false)
{
	options opts;
	opts.hosts = {{"a", 2, false}, {"b", 1, false}, {"c", 3, false}};
	opts.map = map;
	opts.count = count;
	opts.oversubscribe = more;
	std::string text;
	for (uint32_t h : place_ranks(opts))
		text += opts.hosts[h].name;
	return text;
}

void test_placement(void **)
{
	assert_string_equal(placed(map_by::slot, 6).c_str(), "aabccc");
	assert_string_equal(placed(map_by::slot, 3).c_str(), "aab");
	assert_string_equal(placed(map_by::node, 6).c_str(), "abcacc");
	assert_string_equal(placed(map_by::node, 2).c_str(), "ab");
	assert_string_equal(placed(map_by::slot, 8, true).c_str(), "aabcccaa");
	assert_string_equal(placed(map_by::node, 8, true).c_str(), "abcaccab");
}

void test_tree(void **)
{
	for (int hosts = 0; hosts < 40; hosts++)
		for (int groups = 1; groups < 20; groups++) {
			const std::vector<int> begins = split_hosts(5, 5 + hosts, groups);
			assert_int_equal(begins.size(), std::min(hosts, groups));
			for (size_t i = 0; i < begins.size(); i++) {
				const int end = i + 1 < begins.size() ? begins[i + 1] : 5 + hosts;
				assert_true(begins[i] >= 5 && begins[i] < end);
				assert_true(end - begins[i] <= hosts / std::min(hosts, groups) + 1);
			}
			assert_true(hosts == 0 || begins[0] == 5);
		}
}

// --- messages --------------------------------------------------------------------------------------------------------

struct line {
	message_stream near;
	int far_in = -1; // we write to it, near reads from it
	unique_fd far_out;
	line()
	{
		int ends[2];
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		unique_fd input(ends[0]);
		far_in = ends[1];
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		far_out = unique_fd(ends[0]);
		near.open(std::move(input), unique_fd(ends[1]));
		near.set_ping(0);
	}
	~line() { hang_up(); }
	void hang_up()
	{
		if (far_in >= 0)
			close(std::exchange(far_in, -1));
	}
	void give(const std::string &bytes)
	{
		assert_int_equal(write(far_in, bytes.data(), bytes.size()), bytes.size());
		turn();
	}
	void turn()
	{
		std::vector<pollfd> polls;
		double due = 0;
		near.add_polls(polls, due);
		poll_until(polls, now_s() + 0.001);
		near.handle(polls);
	}
	std::string sent()
	{
		char part[65536];
		assert_true(near.flush(5));
		fcntl(far_out.get(), F_SETFL, O_NONBLOCK);
		ssize_t got = read(far_out.get(), part, sizeof part);
		return {part, got > 0 ? static_cast<size_t>(got) : 0};
	}
};

void test_messages_in_pieces(void **)
{
	const message first = {kind::say, 3, -7, "a line\nand \0 more"},
		      second = {kind::out, 1, 2, std::string(9000, 'x')};
	const std::string text = bytes_of(first) + bytes_of(second);
	for (size_t step : {size_t{1}, size_t{7}, size_t{1000}, text.size()}) {
		line here;
		std::vector<message> got;
		message one;
		for (size_t pos = 0; pos < text.size(); pos += step) {
			here.give(text.substr(pos, step));
			while (here.near.next(one))
				got.push_back(one);
		}
		assert_int_equal(got.size(), 2);
		assert_true(got[0].kind == kind::say && got[0].host == 3 && got[0].arg == -7 &&
			    got[0].body == first.body);
		assert_true(got[1].kind == kind::out && got[1].body == second.body);
		assert_false(here.near.ended());
		here.hang_up();
		here.turn();
		assert_false(here.near.next(one));
		assert_true(here.near.ended() && here.near.broken().empty());
	}
}

void test_messages_that_are_wrong(void **)
{
	const std::string good = bytes_of({kind::say, 0, 0, "hello"});
	struct {
		size_t pos;
		char byte;
	} const wrongs[] = {{0, 0}, {0, 99}, {3, 1}, {13, 127}, {15, '\xff'}, {good.size() - 1, 'x'}, {12, 4}};
	for (const auto &wrong : wrongs) {
		std::string text = good;
		text[wrong.pos] = wrong.byte;
		line here;
		message one;
		here.give(text + good);
		assert_false(here.near.next(one));
		assert_false(here.near.broken().empty());
		assert_false(here.near.next(one)); // and nothing after it
	}
}

void test_hello(void **)
{
	std::string ours = hello_line();
	ours.pop_back();
	assert_string_equal(check_hello(ours).c_str(), "");
	assert_true(check_hello("oshrun-agent 1 0.0.0 x").find("version 0.0.0") != std::string::npos);
	assert_false(check_hello("oshrun-agent ").empty());
	assert_true(check_hello(ours + "x").find("of one kind") != std::string::npos);
	line here;
	std::string text;
	here.give("Welcome\n\n" + ours + "\n" + bytes_of({kind::ready}));
	for (const char *expected : {"Welcome", "", ours.c_str()}) {
		assert_true(here.near.take_line(text));
		assert_string_equal(text.c_str(), expected);
	}
	message one;
	assert_true(here.near.next(one) && one.kind == kind::ready);
}

// --- the job's text --------------------------------------------------------------------------------------------------

job_text a_job()
{
	job_text job;
	job.opts.hosts = {{"a", 2, false}, {"b", 1, false}};
	job.opts.apps.resize(2);
	job.opts.apps[0].count = 2;
	job.opts.apps[0].argv = {"./a", "", "x y"};
	job.opts.apps[0].set_env = {"A=b"};
	job.opts.apps[1].count = 1;
	job.opts.apps[1].argv = {"./b"};
	job.opts.apps[1].wdir = "/tmp";
	job.opts.count = 3;
	job.opts.launch_agent = "ssh";
	job.opts.grace_s = 1.5;
	job.opts.host_timeout_s = 30;
	job.opts.map = map_by::node;
	job.env = {"FI_X=1", "SHMEM_Y="};
	job.wdir = "/somewhere";
	return job;
}

void test_job_text(void **)
{
	const std::string text = pack_job(a_job());
	job_text job;
	assert_true(unpack_job(text, job));
	assert_true(pack_job(job) == text);
	assert_true(job.opts.count == 3 && job.opts.apps[0].argv[2] == "x y" && job.opts.hosts[1].name == "b" &&
		    job.opts.map == map_by::node && job.opts.grace_s == 1.5 && job.env.size() == 2);
	for (size_t cut = 0; cut < text.size(); cut++) {
		job_text part;
		assert_false(unpack_job(text.substr(0, cut), part));
	}
	job_text longer;
	assert_false(unpack_job(text + "x", longer));
	std::mt19937 random(1);
	for (int i = 0; i < 20000; i++) { // it may be accepted or not, but the call must return
		std::string changed = text;
		for (int n = 0; n < 3; n++)
			changed[random() % changed.size()] = static_cast<char>(random());
		job_text any;
		unpack_job(changed, any);
		assert_true(any.opts.hosts.size() <= text.size() && any.opts.apps.size() <= text.size());
	}
}

// --- exchange --------------------------------------------------------------------------------------------------------

struct board {
	placement where;
	job_files files;
	exchange side;
	explicit board(uint32_t host) : where{{0, 1, 0, 1}, host, {"a", "b"}}
	{
		assert_true(make_files(where, files));
		side.open(files.view, where);
	}
	void put(uint32_t rank, const char *cell, const char *kv)
	{
		pgas::boot::board_slot &slot = files.view.slot(rank);
		memcpy(files.view.cell(side.generation() & 1, rank), cell, strlen(cell));
		slot.cell_bytes = static_cast<uint32_t>(strlen(cell));
		memcpy(files.view.arena(rank) + slot.kv_used, kv, strlen(kv));
		slot.kv_used += strlen(kv);
	}
};

void test_exchange(void **)
{
	board a(0), b(1);
	assert_int_equal(a.files.view.plan.local_size, 2);
	for (uint32_t generation = 0; generation < 3; generation++) {
		a.put(0, "zero", "k0");
		a.put(2, "two", "");
		b.put(1, "", "k1");
		b.put(3, "three", "k3");
		for (const message &data : a.side.collect(generation))
			assert_string_equal(b.side.apply(data).c_str(), "");
		for (const message &data : b.side.collect(generation))
			assert_string_equal(a.side.apply(data).c_str(), "");
		assert_false(a.side.release(generation + 1));
		assert_true(a.side.release(generation) && b.side.release(generation));
		assert_memory_equal(b.files.view.cell(generation & 1, 2), "two", 3);
		assert_memory_equal(a.files.view.cell(generation & 1, 3), "three", 5);
		assert_int_equal(a.files.view.slot(1).kv_used, 2 * (generation + 1));
		assert_memory_equal(a.files.view.arena(3) + 2 * generation, "k3", 2);
		assert_int_equal(a.files.view.head().generation, generation + 1);
	}
}

void test_exchange_refuses(void **)
{
	board a(0), b(1);
	a.put(0, "zero", "k0");
	const message good = a.side.collect(0).at(0);
	message wrong = good;
	wrong.arg = 1;
	assert_false(b.side.apply(wrong).empty());
	for (size_t cut = 1; cut < good.body.size(); cut++) {
		wrong = good;
		wrong.body.resize(cut);
		assert_false(b.side.apply(wrong).empty());
	}
	const uint32_t heads[][4] = {{1, 0, 0, 0}, {4, 0, 0, 0}, {0, 16385, 0, 0}, {0, 0, 0, 1 << 21}, {0, 0, 1, 0}};
	for (const auto &head : heads) { // our own rank, not a rank, a long cell, long keys, keys out of order
		wrong.body.assign(reinterpret_cast<const char *>(head), sizeof head);
		wrong.body.resize(1 << 22);
		assert_false(b.side.apply(wrong).empty());
	}
	assert_int_equal(b.files.view.slot(0).kv_used, 0);
	assert_string_equal(b.side.apply(good).c_str(), "");
	assert_false(b.side.apply(good).empty()); // the same keys again
}

// --- stopped PEs -----------------------------------------------------------------------------------------------------

// Host 1 of three: ranks 1 and 4.
struct stops {
	placement where{{0, 1, 2, 0, 1, 2}, 1, {"a", "b", "c"}};
	job_files files;
	stop_marks marks;
	stops()
	{
		assert_true(make_files(where, files));
		marks.open(where.host_of);
		marks.show(files.view);
	}
	std::string shown() // what PEs see
	{
		std::string text;
		for (uint32_t rank = 0; rank < where.host_of.size(); rank++)
			text += std::to_string(files.view.slot(rank).stopped);
		return text;
	}
};

void test_stops(void **)
{
	stops here;
	assert_true(here.marks.take({kind::stopped, 1, 2}, 1, 2, false)); // from above
	assert_true(here.marks.take({kind::stopped, 1, 5}, 2, 3, true));  // from below
	assert_true(here.marks.take({kind::stopped, 1, 0}, 0, 2, true));
	assert_string_equal(here.shown().c_str(), "101001");
	assert_true(here.marks.take({kind::stopped, 0, 2}, 2, 3, true));
	assert_true(here.marks.take({kind::stopped, 0, 3}, 0, 1, true)); // it was not stopped
	assert_string_equal(here.shown().c_str(), "100001");
	here.files.view.slot(3).stopped = 1; // a wild pointer: not reported to any host
	const std::vector<message> news = here.marks.forget(0, 2);
	assert_int_equal(news.size(), 1);
	assert_true(news[0].kind == kind::stopped && news[0].host == 0 && news[0].arg == 0 && news[0].body.empty());
	assert_true(here.marks.forget(0, 2).empty());
	assert_string_equal(here.shown().c_str(), "000101");
	stop_marks head; // has no board
	head.open(here.where.host_of);
	assert_true(head.take({kind::stopped, 1, 5}, 2, 3, true));
	assert_int_equal(head.forget(0, 3).size(), 1);
}

void test_stops_refuse(void **)
{
	stops here;
	assert_true(here.marks.take({kind::stopped, 1, 0}, 0, 1, true));
	for (const int rank : {-1, 6, 1 << 20, INT32_MAX, INT32_MIN})
		for (const bool within : {false, true})
			assert_false(here.marks.take({kind::stopped, 1, rank}, 0, within ? 3 : 0, within));
	for (const int state : {-1, 2, 15, INT32_MAX, INT32_MIN})
		assert_false(here.marks.take({kind::stopped, state, 0}, 0, 1, true));
	assert_false(here.marks.take({kind::stopped, 0, 0}, 1, 3, true)); // of a PE that is not the sender's
	assert_false(here.marks.take({kind::stopped, 0, 0}, 0, 1, false));
	assert_string_equal(here.shown().c_str(), "100000");
	line wire;
	message one;
	wire.give(bytes_of({kind::stopped, 1, 2}) + bytes_of({kind::stopped, 1, 2, "more"}));
	assert_true(wire.near.next(one) && one.kind == kind::stopped && one.host == 1 && one.arg == 2);
	assert_false(wire.near.next(one));
	assert_false(wire.near.broken().empty());
}

// --- PMIx servers ----------------------------------------------------------------------------------------------------

// A server on host 0; the test acts as its agent.
struct server {
	pmix_link link;
	message_stream agent;
	server()
	{
		int ends[2];
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
		assert_true(link.open(ends[0], 0));
		close(ends[0]);
		agent.open(unique_fd(ends[1]), unique_fd(dup(ends[1])));
		agent.set_ping(0);
	}
	message heard() // received by the agent
	{
		message msg;
		for (int i = 0; i < 1000 && !agent.next(msg); i++) {
			std::vector<pollfd> polls;
			double due = 0;
			agent.add_polls(polls, due);
			poll_until(polls, now_s() + 0.01);
			agent.handle(polls);
		}
		return msg;
	}
	void tell(const message &msg)
	{
		agent.send(msg);
		assert_true(agent.flush(5));
		assert_true(link.handle([this](const message &question) { link.answer(question, true, "known", 5); }));
	}
};

void test_pmix_fence(void **)
{
	server here;
	std::string first, second;
	const std::string much(kPmixBytes + 5, 'm');
	std::thread client([&] { // more than a socket buffers
		here.link.fence(much, [&](bool, const std::string &all) { first = all; });
		here.link.fence("next", [&](bool, const std::string &all) { second = all; });
	});
	message msg = here.heard();
	assert_true(msg.kind == kind::pmix_data && msg.arg == 0 && msg.body.size() == kPmixBytes);
	assert_true(here.heard().body == "mmmmm");
	msg = here.heard();
	assert_true(msg.kind == kind::pmix_fence && msg.arg == 0);
	client.join();
	here.tell({kind::pmix_data, 2, 0, "c"});
	here.tell({kind::pmix_data, 1, 0, "b1"});
	here.tell({kind::pmix_data, 2, 0, "c"});
	here.tell({kind::pmix_data, 1, 0, "b2"});
	here.tell({kind::pmix_data, 1, 7, "of another fence"});
	here.tell({kind::pmix_release, -1, 1}); // nor that
	assert_true(first.empty());
	here.tell({kind::pmix_release, -1, 0});
	assert_true(first == "b1b2cc" + much && second.empty());
	assert_true(here.heard().body == "next");
	assert_true(here.heard().arg == 1);
	here.tell({kind::pmix_release, -1, 1});
	assert_string_equal(second.c_str(), "next");
}

void test_pmix_questions(void **)
{
	server here;
	std::string answer;
	bool known = true;
	for (const char *text : {"a", "b"})
		here.link.ask(5, 2, [&, text](bool yes, const std::string &data) {
			answer += text + data;
			known = yes;
		});
	const message first = here.heard(), second = here.heard();
	assert_true(first.kind == kind::pmix_ask && first.host == 2 && first.arg == 5 && first.body.size() == 8);
	here.tell({kind::pmix_answer, 0, 1, second.body.substr(4) + "2"});
	here.tell({kind::pmix_answer, 0, 1, second.body.substr(4) + "again"});
	here.tell({kind::pmix_answer, 0, 1, "x"});
	here.tell({kind::pmix_answer, 0, 0, first.body.substr(4)});
	assert_string_equal(answer.c_str(), "b2a");
	assert_false(known);
	packer who;
	who.u32(3);
	who.u32(77);
	here.tell({kind::pmix_ask, 0, 1, who.text});
	const message reply = here.heard();
	assert_true(reply.kind == kind::pmix_answer && reply.host == 3 && reply.arg == 1);
	assert_true(reply.body == who.text.substr(4) + "known");
}

} // namespace

int main()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_slurm),
		cmocka_unit_test(test_slurm_bounds),
		cmocka_unit_test(test_many_hosts),
		cmocka_unit_test(test_placement),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_messages_in_pieces),
		cmocka_unit_test(test_messages_that_are_wrong),
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_job_text),
		cmocka_unit_test(test_exchange),
		cmocka_unit_test(test_exchange_refuses),
		cmocka_unit_test(test_stops),
		cmocka_unit_test(test_stops_refuse),
		cmocka_unit_test(test_pmix_fence),
		cmocka_unit_test(test_pmix_questions),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
