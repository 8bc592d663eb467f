// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_env.hpp: the environment of the library as values.
//
// Owns reading, checking and printing; the variables are in shmem_env.def and nowhere else.  A wrong value is an error
// with one message that names the variable, the value and what is expected; nothing is silently replaced by a default.
#pragma once

#include <cstddef>
#include <cstdio>

namespace shmem {

constexpr unsigned kMostPartitions = 64; // that SHMEM_MAX_PARTITIONS may allow

struct env_grid {
	unsigned hosts = 0, pes_per_host = 0; // 0: not set
};

// enum class huge_pages_kind { off, advise, ... } and so on, one for each ENV_CHOICE
#define ENV_CHOICE(member, NAME, def, text, list) enum class member##_kind : int{list};
#define C(enumerator, word) enumerator,
#include "shmem_env.def"

struct env_values {
#define ENV_SET(member, NAME, old, text) bool member = false;
#define ENV_BOOL(member, NAME, def, text) bool member = false;
#define ENV_SIZE(member, NAME, old, def, text) size_t member = 0;
#define ENV_COUNT(member, NAME, def, most, text) unsigned member = 0;
#define ENV_GRID(member, NAME, text) env_grid member;
#define ENV_TEXT(member, NAME, text) const char *member = nullptr;
#define ENV_CHOICE(member, NAME, def, text, list) member##_kind member{};
#include "shmem_env.def"
};

enum class env_kind { set, boolean, size, count, family, grid, free_text, choice };

// one variable as read: what printing needs
struct env_entry {
	const char *name;     // with SHMEM_; of a family: with <ID> at the end
	const char *old_name; // SMA_..., or nullptr
	env_kind kind;
	const char *fallback; // value when not set; "" for none
	const char *text;
	const char *words;  // choices, "a, b, c"; "" for other kinds
	const char *value;  // text in effect: of the environment, or fallback
	const char *source; // name of the variable that gave the value; nullptr when the default holds
};

constexpr size_t kEnvMessage = 256;

// Reads the environment.  0, or -EINVAL with the message of the first wrong variable in `message`; values are then not
// to be used.
int env_load(env_values &values, char (&message)[kEnvMessage]) noexcept;

// "512M", ".5g", "3.1M": bytes, rounded up.  What follows the suffix is ignored, as the specification wants.  false:
// not a number, negative, or beyond size_t.
bool env_parse_size(const char *text, size_t &bytes) noexcept;

// The text itself, or nullptr when it says no.
const char *env_parse_text(const char *text) noexcept;

size_t env_count() noexcept;
env_entry env_get(size_t i) noexcept; // as the environment says now; not checked

// The variables of the family with this name that are set; their values are checked by whoever uses them.
void env_family(const char *name, void (*found)(const char *name, const char *value, void *arg), void *arg) noexcept;

// The text of SHMEM_INFO: each variable with value, origin and meaning; then SHMEM_* variables that are unknown.
void env_print(FILE *out) noexcept;

// Names of the environment that start with SHMEM_ or SMA_ and are in no table; calls `found` for each (most are typing
// errors).
void env_unknown(void (*found)(const char *name, void *arg), void *arg) noexcept;

} // namespace shmem
