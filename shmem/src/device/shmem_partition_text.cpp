// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_partition_text.cpp: reads and checks the variables that describe symmetric partitions.
#include "shmem_partition_text.hpp"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <devices/devices_kind.hpp>

namespace shmem {

namespace {

using std::string;
using std::string_view;

constexpr char kPrefix[] = "SHMEM_SYMMETRIC_PARTITION";
constexpr size_t kLeastPage = size_t{4} << 10, kMostPage = size_t{1} << 30;
constexpr size_t kMostBytes = SIZE_MAX / 2;      // rounding to pages must not overflow
constexpr size_t kUsualHeap = size_t{512} << 20; // as the default of SHMEM_SYMMETRIC_SIZE
constexpr unsigned kNodes = 64;
constexpr size_t kShown = 40; // characters of a name or value in a message
static_assert(3 * (kShown + 3) + 100 < kEnvMessage);

bool is_same_word(string_view a, string_view b)
{
	return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool all_digits(string_view text)
{
	return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A small number; false: it is not a number, or above `most`.
bool parse_small_number(string_view text, unsigned most, unsigned &value)
{
	if (!all_digits(text))
		return false;
	unsigned sum = 0;
	for (const char c : text) {
		sum = sum * 10 + static_cast<unsigned>(c - '0');
		if (sum > most)
			return false;
	}
	value = sum;
	return true;
}

// The part of a value that a message may show: one line, not too long.
string quote(string_view value)
{
	string text(value.substr(0, kShown));
	for (char &c : text)
		if (!isprint(static_cast<unsigned char>(c)))
			c = '?';
	return value.size() > kShown ? text + "..." : text;
}

// --- one variable ----------------------------------------------------------------------------------------------------

class reader {
public:
	reader(const char *name, const char *value, char (&why)[kEnvMessage]) : name_(name), value_(value), why_(why) {}
	bool read(partition_wish &wish);

private:
	enum key { size, kind, pgsize, policy, kKeys };

	bool item(string_view text, bool first, partition_wish &wish);
	bool take(key which, string_view text, partition_wish &wish);
	bool take_size(string_view text, partition_wish &wish);
	bool take_kind(string_view text, partition_wish &wish);
	bool take_page(string_view text, partition_wish &wish);
	bool take_policy(string_view text, partition_wish &wish);
	static bool nodes_of(string_view list, uint64_t &nodes);
	bool refuse(const char *format, ...) __attribute__((format(printf, 2, 3)));

	const char *name_, *value_;
	char (&why_)[kEnvMessage];
	bool seen_[kKeys] = {};
};

bool reader::refuse(const char *format, ...)
{
	const int used = snprintf(why_, sizeof why_, "%s: \"%s\": ", quote(name_).c_str(), quote(value_).c_str());
	va_list args;
	va_start(args, format);
	vsnprintf(why_ + used, sizeof why_ - static_cast<size_t>(used), format, args);
	va_end(args);
	return false;
}

// Like the size of the heap, but nothing may follow the suffix, except B or iB: a comma in place of a colon must not
// hide the rest of the value.
bool size_of(string_view text, size_t &bytes)
{
	const size_t unit = text.find_first_of("kKmMgGtT");
	if (unit != string_view::npos) {
		const string_view rest = text.substr(unit + 1);
		if (!rest.empty() && !is_same_word(rest, "B") && !is_same_word(rest, "iB"))
			return false;
	}
	return env_parse_size(string(text).c_str(), bytes);
}

bool reader::take_size(string_view text, partition_wish &wish)
{
	if (size_of(text, wish.bytes) && wish.bytes != 0 && wish.bytes <= kMostBytes)
		return true;
	return refuse("SIZE is not a number of bytes above 0 and below 2^63, as 8g, 1.5M or 65536");
}

bool reader::take_kind(string_view text, partition_wish &wish)
{
	const string names = string("host, auto, ") + pgas::devices::kind_names();
	for (size_t pos = 0; pos < names.size();) {
		const size_t end = std::min(names.find(", ", pos), names.size());
		const string_view name = string_view(names).substr(pos, end - pos);
		if (is_same_word(name, text) && name.size() < sizeof wish.kind) {
			memset(wish.kind, 0, sizeof wish.kind);
			name.copy(wish.kind, sizeof wish.kind - 1);
			return true;
		}
		pos = end + 2;
	}
	return refuse("KIND is not one of: %s", names.c_str());
}

bool reader::take_page(string_view text, partition_wish &wish)
{
	size_t bytes = 0;
	if (size_of(text, bytes) && bytes >= kLeastPage && bytes <= kMostPage && (bytes & (bytes - 1)) == 0) {
		wish.page_bytes = bytes;
		return true;
	}
	return refuse("PGSIZE is not a power of two from 4K to 1G, as 4K, 2M or 1G");
}

// "0-3,8"
bool reader::nodes_of(string_view list, uint64_t &nodes)
{
	uint64_t bits = 0;
	while (true) {
		const size_t comma = list.find(',');
		const string_view part = list.substr(0, comma);
		const size_t dash = part.find('-');
		unsigned source, dest;
		if (!parse_small_number(part.substr(0, dash), kNodes - 1, source))
			return false;
		dest = source;
		if (dash != string_view::npos && !parse_small_number(part.substr(dash + 1), kNodes - 1, dest))
			return false;
		if (dest < source)
			return false;
		for (unsigned node = source; node <= dest; node++)
			bits |= uint64_t{1} << node;
		if (comma == string_view::npos)
			break;
		list.remove_prefix(comma + 1);
	}
	nodes = bits;
	return true;
}

bool reader::take_policy(string_view text, partition_wish &wish)
{
	const size_t equals = text.find('=');
	const string_view word = text.substr(0, equals);
	const bool listed = equals != string_view::npos;
	uint64_t nodes = 0;
	if (listed && (is_same_word(word, "bind") || is_same_word(word, "interleave")) &&
	    !nodes_of(text.substr(equals + 1), nodes))
		return refuse("the nodes of POLICY are not a list of numbers below %u, as 0-3,8", kNodes);
	wish.policy.nodes = nodes;
	if (is_same_word(word, "default") && !listed)
		wish.policy.mode = numa_mode::none;
	else if (is_same_word(word, "local") && !listed)
		wish.policy.mode = numa_mode::local;
	else if (is_same_word(word, "interleave"))
		wish.policy.mode = numa_mode::interleave;
	else if (is_same_word(word, "bind") && listed)
		wish.policy.mode = numa_mode::bind;
	else
		return refuse("POLICY is not one of: default, local, interleave[=<nodes>], bind=<nodes>");
	return true;
}

bool reader::take(key which, string_view text, partition_wish &wish)
{
	switch (which) {
	case size:
		return take_size(text, wish);
	case kind:
		return take_kind(text, wish);
	case pgsize:
		return take_page(text, wish);
	default:
		return take_policy(text, wish);
	}
}

bool reader::item(string_view text, bool first, partition_wish &wish)
{
	static constexpr const char *kNames[kKeys] = {"SIZE", "KIND", "PGSIZE", "POLICY"};
	const size_t equals = text.find('=');
	int which = kKeys;
	if (equals == string_view::npos)
		which = first ? size : kKeys; // the short form: only a size
	else
		which = static_cast<int>(
			std::find_if(kNames, kNames + kKeys,
				     [&](const char *name) { return is_same_word(name, text.substr(0, equals)); }) -
			kNames);
	if (which == kKeys)
		return refuse("\"%s\" is not one of: SIZE=, KIND=, PGSIZE=, POLICY= (separated by \":\")",
			      quote(text).c_str());
	if (seen_[which])
		return refuse("%s is there twice", kNames[which]);
	seen_[which] = true;
	return take(static_cast<key>(which), equals == string_view::npos ? text : text.substr(equals + 1), wish);
}

bool reader::read(partition_wish &wish)
{
	string_view rest(value_);
	bool first = true;
	if (rest.empty())
		return refuse("empty; expected [SIZE=]<bytes>[:KIND=<kind>][:PGSIZE=<bytes>][:POLICY=<policy>]");
	while (true) {
		const size_t colon = rest.find(':');
		if (!item(rest.substr(0, colon), first, wish))
			return false;
		if (colon == string_view::npos)
			break;
		rest.remove_prefix(colon + 1);
		first = false;
	}
	if (!seen_[size])
		return refuse("no SIZE=<bytes>");
	if (wish.policy.mode != numa_mode::none && strcmp(wish.kind, "host") != 0)
		return refuse("POLICY is for KIND=host, a %s has none", wish.kind);
	return true;
}

// --- all of them -----------------------------------------------------------------------------------------------------

bool refuse_name(char (&why)[kEnvMessage], string_view name, const char *what, unsigned limit)
{
	snprintf(why, sizeof why, "%s: %s (SHMEM_MAX_PARTITIONS is %u, %u at most)", quote(name).c_str(), what, limit,
		 kMostPartitions);
	return false;
}

bool has_id(const std::vector<partition_wish> &wishes, int id)
{
	return std::any_of(wishes.begin(), wishes.end(), [&](const partition_wish &w) { return w.id == id; });
}

bool read_named(std::vector<partition_wish> &out, unsigned limit, char (&why)[kEnvMessage])
{
	constexpr size_t kLength = sizeof kPrefix - 1;
	for (char **pos = environ; *pos; pos++) {
		const char *equals = strchr(*pos, '=');
		if (!equals || strncmp(*pos, kPrefix, kLength) != 0 || equals < *pos + kLength)
			continue;
		const string name(*pos, static_cast<size_t>(equals - *pos));
		const string_view digits = string_view(name).substr(kLength);
		// another variable starts like this: shmem-info reports it as unknown
		if (!digits.empty() && isalpha(static_cast<unsigned char>(digits[0])))
			continue;
		if (!all_digits(digits))
			return refuse_name(why, name, "its name must end in the number of the partition", limit);
		partition_wish wish;
		unsigned id;
		if (!parse_small_number(digits, limit - 1, id))
			return refuse_name(why, name, "its number must be below SHMEM_MAX_PARTITIONS", limit);
		wish.id = static_cast<int>(id);
		if (has_id(out, wish.id))
			return refuse_name(why, name, "another variable describes the partition of this number", limit);
		if (!reader(name.c_str(), equals + 1, why).read(wish))
			return false;
		out.push_back(wish);
	}
	return true;
}

// The number for an additional partition: the lowest that is free.
bool read_id(const std::vector<partition_wish> &out, partition_wish &wish, const char *name, unsigned limit,
	     char (&why)[kEnvMessage])
{
	while (has_id(out, wish.id))
		wish.id++;
	if (static_cast<unsigned>(wish.id) >= limit)
		return refuse_name(why, name, "there is no number left for this partition", limit);
	return true;
}

constexpr char kDevice[] = "SHMEM_DEVICE_SYMMETRIC_SIZE", kGpu[] = "SHMEM_GPU_SYMMETRIC_SIZE";

// Both names denote one partition.
bool read_device_size(std::vector<partition_wish> &out, const env_values &env, char (&why)[kEnvMessage])
{
	const size_t bytes = std::max(env.device_symmetric_size, env.gpu_symmetric_size);
	if (bytes == 0)
		return true;
	const char *name = env.device_symmetric_size ? kDevice : kGpu;
	if (env.device_symmetric_size && env.gpu_symmetric_size &&
	    env.device_symmetric_size != env.gpu_symmetric_size) {
		snprintf(why, sizeof why,
			 "%s: \"%s\" differs from %s; they are two names for one size, set one of them", kDevice,
			 quote(getenv(kDevice)).c_str(), kGpu);
		return false;
	}
	if (bytes > kMostBytes) {
		snprintf(why, sizeof why, "%s: \"%s\" is not a number of bytes below 2^63", name,
			 quote(getenv(name)).c_str());
		return false;
	}
	partition_wish wish;
	if (!read_id(out, wish, name, env.max_partitions, why))
		return false;
	wish.bytes = bytes;
	wish.device_heap = true;
	strcpy(wish.kind, "auto");
	out.push_back(wish);
	return true;
}

// --- spaces ----------------------------------------------------------------------------------------------------------

constexpr char kDefault[] = "SHMEM_DEFAULT_SPACE", kCpuSpace[] = "SHMEM_ENABLE_CPU_SPACE",
	       kGpuSpace[] = "SHMEM_ENABLE_GPU_SPACE";

// Empty counts as not set.
bool is_switched_off(const char *name)
{
	const char *value = getenv(name);
	return value && *value && !env_parse_text(value);
}

bool refuse_space(char (&why)[kEnvMessage], const char *name, const char *what)
{
	const char *value = getenv(name);
	snprintf(why, sizeof why, "%s: \"%s\": %s", name, quote(value ? value : "").c_str(), what);
	return false;
}

// The drafts provide CPU space only if a variable asks for it. But every OpenSHMEM 1.6 program has its heap there, so
// it exists unless a variable says no.
bool read_spaces(const env_values &env, space_wish &spaces, char (&why)[kEnvMessage])
{
	spaces.cpu = !is_switched_off(kCpuSpace);
	spaces.gpu = !is_switched_off(kGpuSpace);
	spaces.gpu_default = env.default_space == default_space_kind::gpu ||
			     (env.default_space == default_space_kind::automatic && !spaces.cpu);
	if (!spaces.cpu && !spaces.gpu)
		return refuse_space(why, kCpuSpace,
				    "and SHMEM_ENABLE_GPU_SPACE says no, too; one of them must be there");
	if (env.default_space == default_space_kind::cpu && !spaces.cpu)
		return refuse_space(why, kDefault, "but SHMEM_ENABLE_CPU_SPACE says no");
	if (spaces.gpu_default && !spaces.gpu)
		return refuse_space(why, kDefault, "but SHMEM_ENABLE_GPU_SPACE says no");
	return true;
}

// Which partition is the device heap: the one whose size has a variable of its own, or the first of a device; if there
// is none and a device heap is wanted, an additional one of the usual size.
bool choose_device_heap(std::vector<partition_wish> &out, const env_values &env, space_wish &spaces, bool asked,
			char (&why)[kEnvMessage])
{
	const auto has = [&](auto &&test) { return std::find_if(out.begin(), out.end(), test); };
	spaces.heap_bytes = env.cpu_symmetric_size ? env.cpu_symmetric_size : env.symmetric_size;
	if (has([](const partition_wish &w) { return w.device_heap; }) != out.end())
		return true;
	if (const auto first = has([](const partition_wish &w) { return strcmp(w.kind, "host") != 0; });
	    first != out.end()) {
		first->device_heap = true;
		return true;
	}
	if (getenv(kDevice) || getenv(kGpu)) // 0
		return !spaces.gpu_default || refuse_space(why, getenv(kGpu) ? kGpu : kDevice,
							   "but the GPU space is the default space, and needs a size");
	if (!spaces.gpu_default && !(spaces.gpu && env.enable_gpu_space) && !asked)
		return true;
	partition_wish wish;
	if (!read_id(out, wish, kGpuSpace, env.max_partitions, why))
		return false;
	wish.bytes = kUsualHeap;
	wish.device_heap = true;
	wish.if_there = !spaces.gpu_default;
	strcpy(wish.kind, "auto");
	if (spaces.gpu_default) { // SHMEM_SYMMETRIC_SIZE is that of the default space
		if (env.symmetric_size == 0 || env.symmetric_size > kMostBytes)
			return refuse_space(why, "SHMEM_SYMMETRIC_SIZE", "is no size of a GPU space");
		wish.bytes = env.symmetric_size;
		spaces.heap_bytes = env.cpu_symmetric_size ? env.cpu_symmetric_size : kUsualHeap;
	}
	out.push_back(wish);
	return true;
}

} // namespace

bool partition_wishes(std::vector<partition_wish> &out, char (&why)[kEnvMessage], space_wish *spaces, bool device_asked)
{
	env_values env;
	if (env_load(env, why) != 0)
		return false;
	space_wish wanted;
	if (!read_spaces(env, wanted, why) || !read_named(out, env.max_partitions, why) ||
	    !read_device_size(out, env, why) || !choose_device_heap(out, env, wanted, device_asked, why))
		return false;
	if (spaces)
		*spaces = wanted;
	std::sort(out.begin(), out.end(), [](const auto &a, const auto &b) { return a.id < b.id; });
	return true;
}

} // namespace shmem
