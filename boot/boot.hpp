// SPDX-License-Identifier: BSD-3-Clause
// boot.hpp: the internals of the bootstrap library: the interface of a backend (one per kind of launcher), and the
// small helpers that backends share.
#pragma once

#include "pgas_boot.h"

#include <pgas/pgas_base.hpp>

#include <cerrno>
#include <string>
#include <vector>

namespace pgas::boot {

// What a backend's init returns, besides a negative errno after printing one line to stderr.
enum : int {
	kNotMine = 0, // this launcher did not start us: try the next backend
	kJoined = 1,
	kBeSingle = 2, // the environment is a leftover: try no other backend, be a job of one
};

// What ends the job if it is written to the launcher's connection.
struct abort_words {
	int fd = -1;
	char text[96];
	size_t length = 0;
};

// allgather may be null; then put, fence and get are used instead.
struct backend {
	const char *name;
	int (*init)(struct job &);
	int (*finalize)();
	int (*put)(const char *key, const void *value, size_t bytes);
	int (*commit)();
	int (*fence)();
	ssize_t (*get)(int rank, const char *key, void *value, size_t room);
	int (*allgather)(const void *mine, size_t bytes, void *all);
	int (*barrier)();
	void (*abort)(int status, const char *message); // returns only if it could not end the process
	// The launcher may let a process join only once: the connection stays open after the last finalize, until the
	// process ends.
	bool once = false;
	// The end of one rank ends all of them, and the launcher cannot be told not to do that.
	bool watches = false;
	// May be null: the launcher does not know. May be called from any thread.
	bool (*is_stopped)(int rank) = nullptr;
	// May be null, as for launchers that watch. Returns false if there is no such connection.
	bool (*describe_abort)(abort_words &words) = nullptr;
	// May be null: the launcher asks nothing. May be called from any thread.
	bool (*is_asked)() = nullptr;
	void (*answer)(const char *place) = nullptr;
	// May be null: the launcher has given the ranks no secret of that length.
	bool (*secret)(void *bytes, size_t room) = nullptr;
};

struct job {
	const backend *be = nullptr;
	int rank = -1;
	int size = 0;
	int users = 0;          // inits - finalizes
	unsigned exchanges = 0; // numbers the keys of allgather and env_share; equal on all ranks; never decreases
	bool local_known = false;
	std::vector<int> local; // ranks on this host, ascending
};

extern const backend g_native, g_pmix, g_pmi1, g_pmi2, g_single;

// This process joined the job, or left it: from now on its death is reported, or not (boot_witness.cpp).
void witness_joined(const job &job);
void witness_left();

// An object that is never destroyed, because it is still needed while the process ends.
template <class T>
union forever {
	T it;
	constexpr forever() : it{} {}
	~forever() {}
};

// Writes one line to stderr with one write, so that lines of many ranks do not mix. Keeps errno (boot_complain.cpp).
__attribute__((format(printf, 1, 2))) void print_error(const char *format, ...) noexcept;
// Sets the rank that later lines name.
constexpr int kNobody = -1;
void complain_as(int rank) noexcept;

// Parses "(vector,(first node,nodes,ranks per node),...)", the form in which PMI says where ranks are.
bool parse_process_mapping(const char *text, int rank, int size, std::vector<int> &local);

// A key-value space like PMI's: short strings, one space for all ranks. A backend fills in the struct and gets put and
// get for bytes of any length.
struct text_kvs {
	size_t value_room; // characters in one value
	int (*put_text)(const char *key, const char *value);
	int (*get_text)(int owner, const char *key, char *value, size_t room); // 0, -ENOENT, or another error
};
int kvs_put(const text_kvs &kvs, int rank, const char *key, const void *value, size_t bytes);
ssize_t kvs_get(const text_kvs &kvs, int rank, const char *key, void *value, size_t room);

} // namespace pgas::boot
