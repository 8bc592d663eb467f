// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver.hpp"

#include "../src/device_fd.hpp"
#include "../src/device_word.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fake {
namespace {

struct state {
	std::mutex mutex;
	std::list<block> blocks;
	std::vector<std::function<void()>> queue;
	std::map<std::string, int> calls, objects;
	std::string fail; // the last value of FAKE_DRIVER_FAIL
	std::string fail_name;
	int fail_in = 0, fail_code = 0;
	bool wrong = false; // a kernel failed
};

state &all()
{
	static state *one = new state; // outlives exit handlers
	return *one;
}

char *map_fd(int fd, size_t bytes)
{
	void *addr = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return addr == MAP_FAILED ? nullptr : static_cast<char *>(addr);
}

block *add(sort what, size_t bytes, int fd, int device)
{
	char *driver = map_fd(fd, bytes);
	void *addr = driver;
	if (driver && what != sort::pinned)
		addr = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!driver || addr == MAP_FAILED) {
		if (driver)
			munmap(driver, bytes);
		close(fd);
		return nullptr;
	}
	all().blocks.push_back({what, reinterpret_cast<uintptr_t>(addr), driver, bytes, fd, device, 1, {0, 0}});
	return &all().blocks.back();
}

// Where the fake reaches it; null: past the end. Addresses of unpinned host memory are unchanged.
char *reach(uintptr_t addr, size_t bytes, bool &known)
{
	const block *b = find(addr);
	known = b != nullptr;
	if (!b)
		return reinterpret_cast<char *>(addr);
	return bytes <= b->bytes - (addr - b->addr) ? b->driver + (addr - b->addr) : nullptr;
}

} // namespace

std::unique_lock<std::mutex> lock()
{
	return std::unique_lock<std::mutex>(all().mutex);
}

int begin(const char *name)
{
	state &s = all();
	s.calls[name]++;
	const char *fail = getenv("FAKE_DRIVER_FAIL");
	if (s.fail != (fail ? fail : "")) {
		char called[64] = "";
		s.fail = fail ? fail : "";
		s.fail_in = s.fail_code = 0;
		sscanf(s.fail.c_str(), "%63[^:]:%d:%i", called, &s.fail_in, &s.fail_code);
		s.fail_name = called;
	}
	if (s.fail_in == 0 || s.fail_name != name || --s.fail_in > 0)
		return 0;
	if (s.fail_code == -SIGKILL)
		kill(getpid(), SIGKILL);
	return s.fail_code;
}

int devices()
{
	const char *text = getenv("FAKE_DRIVER_DEVICES");
	return text ? atoi(text) : 2;
}

block *make(sort what, size_t bytes, int device)
{
	const int fd = memfd_create("fake-device", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
		if (fd >= 0)
			close(fd);
		return nullptr;
	}
	block *b = add(what, bytes, fd, device);
	if (b && what == sort::memory)
		memset(b->driver, 0xd5, std::min<size_t>(bytes, 65536)); // memory is not zeroed
	return b;
}

block *open(uint64_t pid, uint64_t fd, size_t bytes)
{
	for (block &b : all().blocks)
		if (b.what == sort::opened && b.owner[0] == pid && b.owner[1] == fd) {
			b.opens++;
			return &b;
		}
	const int mine = pgas::devices::fd_of_process(static_cast<int>(pid), static_cast<int>(fd));
	if (mine < 0)
		return nullptr;
	const off_t end = lseek(mine, 0, SEEK_END);
	if (end <= 0 || static_cast<size_t>(end) != bytes) {
		close(mine);
		return nullptr;
	}
	block *b = add(sort::opened, bytes, mine, 0);
	if (b) {
		b->owner[0] = pid;
		b->owner[1] = fd;
	}
	return b;
}

block *open_own(int fd)
{
	const int mine = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	const off_t end = mine < 0 ? 0 : lseek(mine, 0, SEEK_END);
	if (end > 0)
		return add(sort::opened, static_cast<size_t>(end), mine, 0);
	if (mine >= 0)
		close(mine);
	return nullptr;
}

bool end(uintptr_t addr, sort what)
{
	state &s = all();
	const auto it = std::find_if(s.blocks.begin(), s.blocks.end(),
				     [&](const block &b) { return b.addr == addr && b.what == what; });
	if (it == s.blocks.end())
		return false;
	wait();
	if (--it->opens > 0)
		return true;
	munmap(it->driver, it->bytes);
	if (what != sort::pinned)
		munmap(reinterpret_cast<void *>(it->addr), it->bytes);
	close(it->fd);
	s.blocks.erase(it);
	return true;
}

block *find(uintptr_t addr)
{
	for (block &b : all().blocks)
		if (addr - b.addr < b.bytes)
			return &b;
	return nullptr;
}

void count(const char *what, int change)
{
	all().objects[what] += change;
}

bool copy(uintptr_t dest, uintptr_t source, size_t bytes)
{
	bool dest_known, source_known;
	char *dst = reach(dest, bytes, dest_known);
	const char *src = reach(source, bytes, source_known);
	if (!dst || !src)
		return false;
	if (!dest_known)
		wait();
	if (!source_known) {
		std::vector<char> staged(src, src + bytes);
		all().queue.emplace_back([dst, staged] { memcpy(dst, staged.data(), staged.size()); });
	} else {
		all().queue.emplace_back([dst, src, bytes] { pgas::devices::copy_now(dst, src, bytes); });
	}
	if (!dest_known)
		wait();
	return true;
}

bool fill(uintptr_t dest, int byte, size_t bytes)
{
	bool known;
	char *dst = reach(dest, bytes, known);
	if (!dst || !known)
		return false;
	all().queue.emplace_back([dst, byte, bytes] { memset(dst, byte, bytes); });
	return true;
}

void launch(std::function<bool()> kernel)
{
	all().queue.emplace_back([run = std::move(kernel)] {
		if (!run())
			all().wrong = true;
	});
}

char *reach_device(uintptr_t addr, size_t bytes)
{
	bool known;
	char *there = reach(addr, bytes, known);
	return known ? there : nullptr;
}

bool idle()
{
	if (all().queue.empty())
		return true;
	const bool right = wait();
	all().wrong = !right;
	return false;
}

bool wait()
{
	for (const auto &one : all().queue)
		one();
	all().queue.clear();
	return !std::exchange(all().wrong, false);
}

} // namespace fake

int fake_calls(const char *name)
{
	const auto held = fake::lock();
	const auto it = fake::all().calls.find(name);
	return it == fake::all().calls.end() ? 0 : it->second;
}

int fake_left()
{
	const auto held = fake::lock();
	int left = 0;
	for (const fake::block &b : fake::all().blocks) {
		fprintf(stderr, "fake driver: a block of %zu bytes is left (sort %d)\n", b.bytes,
			static_cast<int>(b.what));
		left++;
	}
	for (const auto &[what, number] : fake::all().objects)
		if (number != 0) {
			fprintf(stderr, "fake driver: %d of %s are left\n", number, what.c_str());
			left++;
		}
	return left;
}

int fake_forget()
{
	const auto held = fake::lock();
	fake::wait();
	while (!fake::all().blocks.empty()) {
		fake::block &b = fake::all().blocks.front();
		b.opens = 1;
		fake::end(b.addr, b.what);
	}
	fake::all().objects.clear();
	return 0;
}

int fake_forgive(const char *what)
{
	const auto held = fake::lock();
	fake::count(what, -1);
	return 0;
}
