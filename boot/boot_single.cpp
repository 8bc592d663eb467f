// SPDX-License-Identifier: BSD-3-Clause
// boot_single.cpp: a job of one, which needs no launcher.
#include "boot.hpp"

#include <cstring>
#include <map>
#include <unistd.h>

namespace pgas::boot {
namespace {

// Exists from init to finalize. exit() does not destroy it, because others may still get a key then.
std::map<std::string, std::string> *g_values;

int single_init(job &job)
{
	g_values = new std::map<std::string, std::string>;
	job.rank = 0;
	job.size = 1;
	job.local_known = true;
	job.local.assign(1, 0);
	return kJoined;
}

int single_finalize()
{
	delete g_values;
	g_values = nullptr;
	return 0;
}

int single_put(const char *key, const void *value, size_t bytes)
{
	(*g_values)[key].assign(static_cast<const char *>(value), bytes);
	return 0;
}

int single_nothing()
{
	return 0;
}

ssize_t single_get(int, const char *key, void *value, size_t room)
{
	const auto found = g_values->find(key);
	if (found == g_values->end())
		return -ENOENT;
	const std::string &have = found->second;
	if (room > have.size())
		room = have.size();
	if (room)
		memcpy(value, have.data(), room);
	return static_cast<ssize_t>(have.size());
}

int single_allgather(const void *mine, size_t bytes, void *all)
{
	memmove(all, mine, bytes);
	return 0;
}

void single_abort(int status, const char *message)
{
	if (message)
		print_error("%s", message);
	_exit(status & 0xff);
}

} // namespace

constinit const backend g_single = {"single",       single_init,    single_finalize, single_put,
				    single_nothing, single_nothing, single_get,      single_allgather,
				    single_nothing, single_abort,   false,           true};

} // namespace pgas::boot
