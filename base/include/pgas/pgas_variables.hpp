// SPDX-License-Identifier: BSD-3-Clause
//
// Detects misspelt environment variables: one that begins like ours, is not one of ours, but is similar to one.
// Variables that are similar to none of ours belong to others and are left alone. The names are generated at build
// time, from the tables of the code that reads them (base/gen_variables.sh).
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace pgas {

namespace variables {

constexpr const char *kOurs[] = {
#define OURS(name) #name,
#define THEIRS(name)
#include <pgas/pgas_variables.def>
#undef OURS
#undef THEIRS
};
constexpr const char *kTheirs[] = {
#define OURS(name)
#define THEIRS(name) #name,
#include <pgas/pgas_variables.def>
#undef OURS
#undef THEIRS
};
constexpr const char *kPrefixes[] = {"SHMEM_", "SMA_", "FI_PGAS_", "PGAS_"};
constexpr size_t kLongest = 64; // a longer name is similar to none of ours

// The number of letters that are missing, superfluous, different, or swapped with the next one.
inline size_t distance(const char *a, const char *b) noexcept
{
	const size_t n = strlen(a), m = strlen(b);
	if (n >= kLongest || m >= kLongest)
		return kLongest;
	size_t rows[3][kLongest + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];
	for (size_t j = 0; j <= m; j++)
		last[j] = j;
	for (size_t i = 1; i <= n; i++) {
		now[0] = i;
		for (size_t j = 1; j <= m; j++) {
			now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = std::min(now[j], before[j - 2] + 1);
		}
		size_t *const free_row = before;
		before = last;
		last = now;
		now = free_row;
	}
	return last[m];
}

} // namespace variables

// The variable of ours that was probably meant by this name; null: it is one of ours, or similar to none.
inline const char *meant_variable(const char *name) noexcept
{
	const char *prefix = nullptr;
	for (const char *p : variables::kPrefixes)
		if (strncmp(name, p, strlen(p)) == 0)
			prefix = p;
	for (const char *theirs : variables::kTheirs)
		if (strcmp(name, theirs) == 0)
			return nullptr;
	if (!prefix)
		return nullptr;
	const char *nearest = nullptr;
	size_t least = variables::kLongest;
	for (const char *ours : variables::kOurs) {
		if (strncmp(ours, prefix, strlen(prefix)) != 0)
			continue;
		if (strcmp(name, ours) == 0)
			return nullptr;
		if (const size_t d = variables::distance(name, ours); d < least) {
			least = d;
			nearest = ours;
		}
	}
	// one letter in four may be wrong; but all variables that begin with FI_PGAS_ are ours
	const size_t letters = strlen(name) - strlen(prefix);
	const size_t may = std::clamp<size_t>(letters / 4, 1, 3);
	return least <= may || strcmp(prefix, "FI_PGAS_") == 0 ? nearest : nullptr;
}

// Calls found(name, meant) for each misspelt variable of the environment.
template <class Found>
void misspelt_variables(Found &&found) noexcept
{
	for (char **pos = environ; *pos; pos++) {
		char name[variables::kLongest];
		const size_t length = strcspn(*pos, "=");
		if (length >= sizeof name)
			continue;
		memcpy(name, *pos, length);
		name[length] = '\0';
		for (size_t end = length; end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9'; end--)
			name[end - 1] = '\0'; // the index of a numbered variable
		if (const char *meant = meant_variable(name))
			found(name, meant);
	}
}

} // namespace pgas
