// SPDX-License-Identifier: BSD-3-Clause
//
// The target of attacks on the link: a client of the provider, one process of a job. It executes the lines of its
// standard input, and answers each with one line:
//
//	link_victim SECRET              32 hexadecimal digits, or none; prints "name ADDRESS" when it is ready
//	put ADDRESS VALUE               one word to the peer: "done", or the error
//	job RANK ROUNDS ADDRESS...      words, sums and long transfers between all, each of them checked: "right", ...
//	ask ADDRESS                     start_get of 8 bytes and of 64, and drain: how many brought just the letter a
//	bother ADDRESS                  begins one of each operation to a peer, and waits for none of them
//	word, last                      the first and the last word of key 1, in hexadecimal digits
//	check                           "sound", if no protected memory was changed
//	poll N                          polls N times: how many system calls that took (link_count.c)
//	end                             closes everything: "ended"
//
// There are four kinds of errors: "error" (reported by a call or a completion), "wrong" (bytes differ), "absent" (data
// from a peer did not arrive) and "hang" (an operation does not end).
//
// Memory: all peers may access keys 0 and 1, key 2 is read-only; the pages between them may not be accessed.
#include <pgas/pgas_open.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

// In link_count.c, if that is preloaded.
extern "C" __attribute__((weak)) unsigned long link_count_calls();

namespace {

constexpr size_t kPage = 65536, kLong = 40000; // bytes; the second goes by bulk
constexpr size_t kLongAt = 16384;              // in the memory of key 1; words and sums are before it
constexpr char kQuiet = 0x5a;
constexpr size_t kReceives = 16, kReceiveBytes = 4096;

double now()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double limit(const char *name, double otherwise)
{
	const char *text = getenv(name);
	return text ? atof(text) : otherwise;
}

// Empty: no error.
using trouble = std::string;

std::string error_text(const char *call, long rc)
{
	return std::string("error ") + call + ": " + pgas_strerror(static_cast<int>(rc < 0 ? -rc : rc));
}

void cannot_open(const char *call, int error)
{
	printf("error %s: %s\n", call, pgas_strerror(error));
}

class victim {
public:
	explicit victim(const std::string &secret) { open(secret); }
	void serve();

private:
	void open(const std::string &secret);
	void open_memory();
	void post_receives();
	void progress();
	bool answer(const std::string &line);
	fi_addr_t peer(const std::string &name);
	template <class Post>
	trouble run(const char *what, Post &&post);
	trouble exchange(fi_addr_t dest, size_t sender, uint64_t round);
	trouble exchange_long(fi_addr_t dest, size_t sender);
	trouble job(std::istringstream &words);
	trouble await(size_t me, size_t all, uint64_t rounds);
	void bother(fi_addr_t dest);
	int ask(fi_addr_t dest);
	trouble check() const;
	std::string poll_many(unsigned long n);

	pgas_opened net_{};
	pgas_opened_ep own_{};
	fid_cq *cq_ = nullptr;
	char *memory_ = nullptr; // guard, key 0, guard, key 1, guard, key 2, guard
	std::vector<fid_mr *> regions_;
	std::map<std::string, fi_addr_t> peers_;
	uint64_t done_ = 0, failed_ = 0, posted_ = 0;
	int last_error_ = 0;
	double patience_ = limit("LINK_VICTIM_SECONDS", 60);
	char receives_[kReceives][kReceiveBytes];
	struct { // the places of results, and guards, of which check() knows
		char before[64], word[8], between[64], bytes[64], after[64];
	} results_;

	char *key(size_t k) const { return memory_ + (2 * k + 1) * kPage; }
};

void victim::open_memory()
{
	memory_ = static_cast<char *>(
		mmap(nullptr, 7 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	memset(memory_, kQuiet, 7 * kPage);
	memset(&results_, kQuiet, sizeof results_);
	memset(key(0), 0, kPage);
	memset(key(1), 0, kPage);
	for (size_t k = 0; k < 3; k++) {
		fid_mr *mr = nullptr;
		const uint64_t rights = k == 2 ? FI_REMOTE_READ : FI_REMOTE_READ | FI_REMOTE_WRITE;
		const int rc = fi_mr_reg(net_.domain, key(k), kPage, rights, 0, k, 0, &mr, nullptr);
		if (rc)
			cannot_open("fi_mr_reg", -rc);
		regions_.push_back(mr);
	}
}

void victim::post_receives()
{
	for (auto &r : receives_)
		fi_recv(own_.ep, r, kReceiveBytes, nullptr, FI_ADDR_UNSPEC, r);
	fi_trecv(own_.ep, receives_[0], kReceiveBytes, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr);
}

void victim::open(const std::string &secret)
{
	constexpr uint64_t kCaps = FI_RMA | FI_ATOMIC | FI_MSG | FI_TAGGED | FI_LOCAL_COMM | FI_REMOTE_COMM;
	unsigned char key_bytes[16];
	const size_t key_len = secret.size() == 32 ? sizeof key_bytes : 0;
	for (size_t i = 0; i < key_len; i++)
		key_bytes[i] = static_cast<unsigned char>(strtoul(secret.substr(2 * i, 2).c_str(), nullptr, 16));
	if (pgas_open(&net_, kCaps, FI_THREAD_DOMAIN, key_bytes, key_len, cannot_open))
		_exit(2);
	fi_cq_attr attr{};
	attr.format = FI_CQ_FORMAT_TAGGED;
	attr.size = 1024;
	if (const int rc = fi_cq_open(net_.domain, &attr, &cq_, nullptr))
		cannot_open("fi_cq_open", -rc);
	const pgas_ep_wish wish{0, 1024, &cq_->fid, FI_TRANSMIT | FI_RECV};
	if (pgas_open_ep(&net_, &wish, &own_, cannot_open))
		_exit(2);
	open_memory();
	post_receives();
	char name[128];
	size_t len = sizeof name;
	fi_getname(&own_.ep->fid, name, &len);
	printf("name %s\n", name);
}

// Reads completions. Receives are not counted.
void victim::progress()
{
	fi_cq_tagged_entry e[16];
	const ssize_t n = fi_cq_read(cq_, e, 16);
	for (ssize_t i = 0; i < n; i++) {
		if (!(e[i].flags & FI_RECV))
			done_++;
		else if (e[i].op_context)
			fi_recv(own_.ep, e[i].op_context, kReceiveBytes, nullptr, FI_ADDR_UNSPEC, e[i].op_context);
	}
	if (n != -FI_EAVAIL)
		return;
	fi_cq_err_entry bad{};
	if (fi_cq_readerr(cq_, &bad, 0) != 1)
		return;
	if (bad.flags & FI_RECV)
		return;
	failed_++;
	last_error_ = bad.err;
}

fi_addr_t victim::peer(const std::string &name)
{
	const auto it = peers_.find(name);
	if (it != peers_.end())
		return it->second;
	char padded[128] = {};
	memcpy(padded, name.data(), std::min(name.size(), sizeof padded - 1));
	fi_addr_t a = FI_ADDR_NOTAVAIL;
	fi_av_insert(own_.av, padded, 1, &a, 0, nullptr);
	return peers_[name] = a;
}

// Starts an operation and waits for its end.
template <class Post>
trouble victim::run(const char *what, Post &&post)
{
	const double end = now() + patience_;
	ssize_t rc;
	while ((rc = post()) == -FI_EAGAIN && now() < end)
		progress();
	if (rc)
		return rc == -FI_EAGAIN ? std::string("hang ") + what + " cannot begin" : error_text(what, rc);
	posted_++;
	while (done_ + failed_ < posted_ && now() < end)
		progress();
	if (done_ + failed_ < posted_)
		return std::string("hang ") + what;
	if (std::exchange(failed_, 0)) {
		done_ = posted_;
		return error_text(what, last_error_);
	}
	return "";
}

uint64_t word_of(size_t sender, uint64_t round)
{
	return (static_cast<uint64_t>(sender) << 32 | round) * 0x9e3779b97f4a7c15;
}

// A word there and back, and one added to the peer's sum, checked by its previous value.
trouble victim::exchange(fi_addr_t dest, size_t sender, uint64_t round)
{
	uint64_t value = word_of(sender, round), back = 0, one = 1, before = 0;
	const uint64_t pos = sender * 8, sum = 8192 + sender * 8;
	trouble t = run("put", [&] { return fi_write(own_.ep, &value, 8, nullptr, dest, pos, 1, nullptr); });
	if (t.empty())
		t = run("get", [&] { return fi_read(own_.ep, &back, 8, nullptr, dest, pos, 1, nullptr); });
	if (t.empty() && back != value)
		return "wrong word";
	if (t.empty())
		t = run("fetch", [&] {
			return fi_fetch_atomic(own_.ep, &one, 1, nullptr, &before, nullptr, dest, sum, 0, FI_UINT64,
					       FI_SUM, nullptr);
		});
	return t.empty() && before != round - 1 ? "wrong sum" : t;
}

trouble victim::exchange_long(fi_addr_t dest, size_t sender)
{
	std::string there(kLong, 0), back(kLong, 0);
	for (size_t i = 0; i < kLong; i++)
		there[i] = static_cast<char>(i * 7 + sender);
	trouble t = run("long put", [&] {
		return fi_write(own_.ep, there.data(), kLong, nullptr, dest, kLongAt, sender & 1, nullptr);
	});
	if (t.empty())
		t = run("long get", [&] {
			return fi_read(own_.ep, back.data(), kLong, nullptr, dest, kLongAt, sender & 1, nullptr);
		});
	return t.empty() && back != there ? "wrong long bytes" : t;
}

// Waits for the final values that the others write here.
trouble victim::await(size_t me, size_t all, uint64_t rounds)
{
	const double end = now() + limit("LINK_VICTIM_AWAIT", patience_);
	for (size_t sender = 0; sender < all; sender++) {
		const auto *word = reinterpret_cast<volatile uint64_t *>(key(1) + sender * 8);
		const auto *sum = reinterpret_cast<volatile uint64_t *>(key(0) + 8192 + sender * 8);
		while (sender != me && (*word != word_of(sender, rounds) || *sum != rounds)) {
			if (now() > end)
				return "absent word of " + std::to_string(sender);
			progress();
		}
	}
	return "";
}

// At most two processes check long transfers: each writes to its own region.
trouble victim::job(std::istringstream &words)
{
	size_t me = 0;
	uint64_t rounds = 0;
	std::string name;
	std::vector<std::string> all;
	words >> me >> rounds;
	while (words >> name)
		all.push_back(name);
	trouble t;
	for (uint64_t round = 1; round <= rounds && t.empty(); round++)
		for (size_t i = 0; i < all.size() && t.empty(); i++)
			if (i != me)
				t = exchange(peer(all[i]), me, round);
	for (size_t i = 0; i < all.size() && all.size() == 2 && t.empty(); i++)
		if (i != me)
			t = exchange_long(peer(all[i]), me);
	if (t.empty())
		t = await(me, all.size(), rounds);
	return t.empty() ? "right" : t;
}

int victim::ask(fi_addr_t dest)
{
	const double end = now() + patience_;
	void *base;
	fi_addr_t lost;
	while (net_.ops->window(own_.ep, dest, &base) == -FI_EAGAIN && now() < end)
		progress();
	net_.ops->start_get(own_.ep, 0, sizeof results_.word, dest, results_.word);
	net_.ops->start_get(own_.ep, 0, sizeof results_.bytes, dest, results_.bytes);
	net_.ops->drain(own_.ep);
	net_.ops->failed(own_.ep, &lost);
	const auto is_right = [](const char *bytes, size_t len) {
		return std::all_of(bytes, bytes + len, [](char c) { return c == 'a'; });
	};
	return is_right(results_.word, sizeof results_.word) + is_right(results_.bytes, sizeof results_.bytes);
}

// Starts operations that are not waited for; their buffers live as long as the process.
void victim::bother(fi_addr_t dest)
{
	static uint64_t value = 1, back, compare;
	static char bytes[kLong];
	const double end = now() + 0.02;
	for (int i = 0; i < 8; i++) {
		const auto post = [&]() -> ssize_t {
			switch (i) {
			case 0:
				return fi_write(own_.ep, &value, 8, nullptr, dest, 0, 1, nullptr);
			case 1:
				return fi_read(own_.ep, &back, 8, nullptr, dest, 0, 0, nullptr);
			case 2:
				return fi_atomic(own_.ep, &value, 1, nullptr, dest, 0, 0, FI_UINT64, FI_SUM, nullptr);
			case 3:
				return fi_fetch_atomic(own_.ep, &value, 1, nullptr, &back, nullptr, dest, 0, 0,
						       FI_UINT64, FI_SUM, nullptr);
			case 4:
				return fi_compare_atomic(own_.ep, &value, 1, nullptr, &compare, nullptr, &back, nullptr,
							 dest, 0, 0, FI_UINT64, FI_CSWAP, nullptr);
			case 5:
				return fi_write(own_.ep, bytes, kLong, nullptr, dest, 0, 1, nullptr);
			case 6:
				return fi_read(own_.ep, bytes, kLong, nullptr, dest, 0, 1, nullptr);
			default:
				return fi_send(own_.ep, bytes, kLong, nullptr, dest, nullptr);
			}
		};
		ssize_t rc;
		while ((rc = post()) == -FI_EAGAIN && now() < end)
			progress();
		posted_ += rc == 0;
	}
	net_.ops->start_get(own_.ep, 0, sizeof results_.bytes, dest, results_.bytes);
	net_.ops->start_fetch(own_.ep, 0, FI_UINT64, FI_SUM, 1, 0, dest, results_.word);
}

trouble victim::check() const
{
	for (size_t i = 0; i < 7 * kPage; i++) {
		const size_t page = i / kPage;
		if ((page == 1 || page == 3) || memory_[i] == kQuiet)
			continue;
		return "changed byte " + std::to_string(i % kPage) + " of page " + std::to_string(page);
	}
	for (const char *guard : {results_.before, results_.between, results_.after})
		if (std::any_of(guard, guard + 64, [](char c) { return c != kQuiet; }))
			return "changed a byte beside a result";
	return "sound";
}

std::string victim::poll_many(unsigned long n)
{
	if (!link_count_calls)
		return "error no counter";
	const unsigned long before = link_count_calls();
	for (unsigned long i = 0; i < n; i++)
		progress();
	return std::to_string(link_count_calls() - before);
}

// Returns false for the last command.
bool victim::answer(const std::string &line)
{
	std::istringstream words(line);
	std::string word, name;
	words >> word;
	std::string said = "error what?";
	if (word == "put") {
		static uint64_t value;
		words >> name >> std::hex >> value;
		const trouble t =
			run("put", [&] { return fi_write(own_.ep, &value, 8, nullptr, peer(name), 0, 1, nullptr); });
		said = t.empty() ? "done" : t;
	} else if (word == "job") {
		said = job(words);
	} else if (word == "ask") {
		words >> name;
		said = std::to_string(ask(peer(name))) + " of 2 right";
	} else if (word == "bother") {
		words >> name;
		bother(peer(name));
		said = "bothered";
	} else if (word == "word" || word == "last") {
		char text[24];
		const auto *addr = reinterpret_cast<volatile uint64_t *>(key(1) + (word == "word" ? 0 : kPage - 8));
		snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(*addr));
		said = text;
	} else if (word == "check") {
		said = check();
	} else if (word == "poll") {
		unsigned long n = 0;
		words >> n;
		said = poll_many(n);
	}
	if (word == "end") {
		pgas_close_ep(&own_);
		for (fid_mr *mr : regions_)
			fi_close(&mr->fid);
		fi_close(&cq_->fid);
		pgas_close(&net_);
		said = "ended";
	}
	puts(said.c_str());
	return word != "end";
}

void victim::serve()
{
	std::string waiting;
	for (;;) {
		pollfd input{0, POLLIN, 0};
		if (poll(&input, 1, 1) == 1) {
			char bytes[4096];
			const ssize_t n = read(0, bytes, sizeof bytes);
			if (n <= 0)
				return;
			waiting.append(bytes, static_cast<size_t>(n));
		}
		progress();
		for (size_t end; (end = waiting.find('\n')) != std::string::npos; waiting.erase(0, end + 1))
			if (!answer(waiting.substr(0, end)))
				return;
	}
}

} // namespace

int main(int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setvbuf(stdout, nullptr, _IOLBF, 0);
	victim(argc > 1 ? argv[1] : "").serve();
	return 0;
}
