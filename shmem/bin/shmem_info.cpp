// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_info.cpp: the program shmem-info. Prints what this OpenSHMEM offers and what the environment sets; starts no PE
// and needs no launcher. Exit code 1 when a variable of the environment has a value that programs would refuse.
#include "config.h"

#include <pgas/pgas_json.hpp>

#include <shmem.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/shmem_env.hpp"
#include "shmem_info_check.hpp"
#include "device/shmem_partition_text.hpp"

namespace {

// Facts as pairs, so that both output formats have the same content.
struct fact {
	const char *key, *text;
};

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

constexpr fact kFacts[] = {
	{"vendor", SHMEM_VENDOR_STRING},
	{"version", PACKAGE_VERSION},
	{"specification", TEXT(SHMEM_MAJOR_VERSION) "." TEXT(SHMEM_MINOR_VERSION)},
	{"thread_level", "SHMEM_THREAD_MULTIPLE"},
	{"profiling", "pshmem_* for every routine; shmem_* are weak"},
	{"type_generic", "C11 _Generic, C++ overloads"},
	{"inlined_face", "oshcc --inline, or -DSHMEM_INLINE=1"},
	{"teams", "any set of PEs, no fixed maximum"},
	{"extensions",
	 "shmemx_team_split_color, shmemx_team_create_group, shmemx_gather, shmemx_scatter, shmemx_alltoallv, "
	 "shmemx_*_nb, shmemx_wtime, shmemx_init_uniqueid, partitions"},
	{"contexts", "serialized, private, nostore; of any team; sessions"},
	{"deprecated_names", "all of the specification, active sets included"},
	{"sync_size", TEXT(SHMEM_SYNC_SIZE)},
	{"reduce_min_wrkdata_size", TEXT(SHMEM_REDUCE_MIN_WRKDATA_SIZE)},
};

struct json_entry {
	const char *name, *value, *fallback, *source, *text;
};

void add_json_entry(pgas::json_writer &json, const json_entry &e)
{
	json.line().begin_object().member("name", e.name).member("value", e.value).member("default", e.fallback);
	json.member("from", e.source).member("text", e.text).end_object();
}

// each variable of a family that is set
void add_json_family(pgas::json_writer &json, const shmem::env_entry &e)
{
	struct state {
		const char *text;
		pgas::json_writer *json;
	} s{e.text, &json};
	shmem::env_family(
		e.name,
		[](const char *name, const char *value, void *arg) {
			const auto *state_ptr = static_cast<state *>(arg);
			add_json_entry(*state_ptr->json, {name, value, "", name, state_ptr->text});
		},
		&s);
}

void add_json_environment(pgas::json_writer &json)
{
	json.line().key("environment").begin_array();
	for (size_t i = 0; i < shmem::env_count(); i++) {
		const shmem::env_entry e = shmem::env_get(i);
		if (e.kind == shmem::env_kind::family)
			add_json_family(json, e);
		else if (e.kind == shmem::env_kind::set)
			add_json_entry(json, {e.name, e.source ? "on" : "off", "off", e.source, e.text});
		else
			add_json_entry(json, {e.name, e.value, e.fallback, e.source, e.text});
	}
	json.line().end_array();
}

void print_json(const char *error)
{
	pgas::json_writer json;
	json.begin_object();
	for (const fact &f : kFacts)
		json.line().member(f.key, f.text);
	add_json_environment(json);
	json.line().member("error", error).line().end_object();
	std::fputs(json.take().c_str(), stdout);
}

void print_text(const char *error)
{
	for (const fact &f : kFacts) {
		char key[32];
		std::snprintf(key, sizeof(key), "%s:", f.key);
		for (char *c = key; *c; c++)
			*c = *c == '_' ? ' ' : *c;
		std::printf("%-25s%s\n", key, f.text);
	}
	std::putchar('\n');
	shmem::env_print(stdout);
	if (error)
		std::printf("\nerror: %s\n", error);
}

void print_usage(FILE *out)
{
	std::fputs(
		"usage: shmem-info [--json | --check [--pes N] | --version | --help]\n\n"
		"Prints version and capabilities of the OpenSHMEM library, and its environment with current values.\n\n"
		"  --json     the same as a JSON object\n"
		"  --check    what of this host will hurt a job, with the remedy; status 1 when something will\n"
		"  --pes N    for --check: PEs on this host (default: one for each core)\n"
		"  --version  only the version\n"
		"  --help     this text\n",
		out);
}

} // namespace

int main(int argc, char **argv)
{
	bool json = false, check = false;
	shmem::check_wish wish;
	for (int i = 1; i < argc; i++) {
		if (std::strcmp(argv[i], "--json") == 0) {
			json = true;
		} else if (std::strcmp(argv[i], "--check") == 0) {
			check = true;
		} else if (std::strcmp(argv[i], "--pes") == 0 && i + 1 < argc) {
			char *end;
			const long pes = std::strtol(argv[++i], &end, 10);
			if (*end || pes < 1 || pes > 1 << 20) {
				std::fprintf(stderr, "shmem-info: --pes %s: expected a whole number from 1 to %d\n",
					     argv[i], 1 << 20);
				return 2;
			}
			wish.pes = static_cast<int>(pes);
		} else if (std::strcmp(argv[i], "--root") == 0 && i + 1 < argc) { // for tests
			wish.root = argv[++i];
		} else if (std::strcmp(argv[i], "--version") == 0) {
			std::printf("%s %s (OpenSHMEM %d.%d)\n", SHMEM_VENDOR_STRING, PACKAGE_VERSION,
				    SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
			return 0;
		} else if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0) {
			print_usage(stdout);
			return 0;
		} else {
			std::fprintf(stderr, "shmem-info: unknown argument %s\n", argv[i]);
			print_usage(stderr);
			return 2;
		}
	}
	shmem::env_values values;
	char message[shmem::kEnvMessage];
	std::vector<shmem::partition_wish> wishes;
	shmem::space_wish spaces;
	const bool good = shmem::env_load(values, message) == 0 && shmem::partition_wishes(wishes, message, &spaces);
	const char *error = good ? nullptr : message;
	if (check) {
		if (error) {
			std::printf("error: %s\n", error);
			return 1;
		}
		wish.symmetric_size = spaces.heap_bytes;
		wish.huge_pages = static_cast<int>(values.huge_pages);
		return shmem::check_host(wish) > 0;
	}
	if (json)
		print_json(error);
	else
		print_text(error);
	return error != nullptr;
}
