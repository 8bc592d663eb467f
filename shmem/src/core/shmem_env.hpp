// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_env.hpp: the environment of the library as values.
//
// Owns reading, checking and printing; the variables are defined only in shmem_env.def. A wrong value is an error, with
// one message that names the variable, the value and what is expected; nothing is silently replaced by a default.
#pragma once

#include <cstddef>
#include <cstdio>

namespace shmem {

constexpr unsigned kMostPartitions = 64; // upper limit of SHMEM_MAX_PARTITIONS

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
	const char *name;     // with SHMEM_; that of a family ends in <ID>
	const char *old_name; // SMA_..., or nullptr
	env_kind kind;
	const char *fallback; // value when not set; "" for none
	const char *text;
	const char *words;  // choices, "a, b, c"; "" for other kinds
	const char *value;  // text in effect: from the environment, or fallback
	const char *source; // name of the variable that gave the value; nullptr when the default applies
};

constexpr size_t kEnvMessage = 256;

// Reads the environment. Returns 0, or -EINVAL with the message about the first wrong variable in `message`; the values
// must not be used then.
int env_load(env_values &values, char (&message)[kEnvMessage]) noexcept;

// "512M", ".5g", "3.1M": bytes, rounded up. Text after the suffix is ignored, as the specification requires. Returns
// false for what is not a number, negative, or beyond size_t.
bool env_parse_size(const char *text, size_t &bytes) noexcept;

// The text itself, or nullptr when it means no.
const char *env_parse_text(const char *text) noexcept;

size_t env_count() noexcept;
env_entry env_get(size_t i) noexcept; // from the environment as it is now; not checked

// The variables of the family with this name that are set; the users of their values check these.
void env_family(const char *name, void (*found)(const char *name, const char *value, void *arg), void *arg) noexcept;

// The output of SHMEM_INFO: each variable with value, origin and meaning; then unknown SHMEM_* variables.
void env_print(FILE *out) noexcept;

// Calls `found` for each name in the environment that starts with SHMEM_ or SMA_ and is in no table (mostly typing
// errors).
void env_unknown(void (*found)(const char *name, void *arg), void *arg) noexcept;

} // namespace shmem
