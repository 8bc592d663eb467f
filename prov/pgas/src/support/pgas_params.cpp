// SPDX-License-Identifier: BSD-3-Clause
//
// The provider object, which every log line names, and its parameters. pgas_init.cpp sets the object's calls.
#include "pgas_params.hpp"
#include "pgas_libfabric.hpp"
#include "pgas_util.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#ifndef PGAS_VERSION_MAJOR
#define PGAS_VERSION_MAJOR 0
#define PGAS_VERSION_MINOR 1
#endif

namespace pgas {

// fi_version is the highest API version that we serve: libfabric skips a provider whose fi_version is lower than what
// the caller wants, and the structures we use have only grown at their ends since 1.17.
fi_provider g_provider = {
	.version = FI_VERSION(PGAS_VERSION_MAJOR, PGAS_VERSION_MINOR),
	.fi_version = FI_VERSION(2, 9),
	.context = {},
	.name = "pgas",
	.getinfo = nullptr, // pgas_init.cpp
	.fabric = nullptr,
	.cleanup = nullptr,
};

namespace {

// Used without libfabric, or before its initialization, at which it forgets what was defined.
const char *from_environment(const char *name)
{
	std::string variable = "FI_PGAS_";
	for (const char *c = name; *c; c++)
		variable += static_cast<char>(toupper(static_cast<unsigned char>(*c)));
	return getenv(variable.c_str());
}

int from_libfabric(const char *name, void *value)
{
	const libfabric_calls *l = libfabric();
	return l ? l->param_get(&g_provider, name, value) : -FI_ENOENT;
}

// Logs one line for text that is not a number; strtoul would accept its beginning, or return 0.
bool read_number(const char *name, const char *text, size_t &value)
{
	char *end;
	errno = 0;
	const unsigned long long v = strtoull(text, &end, 0);
	if (errno == 0 && end != text && *end == '\0' && !strchr(text, '-')) {
		value = v;
		return true;
	}
	PGAS_WARN(FI_LOG_CORE, "parameter %s: \"%s\" is not a number, using the default\n", name, text);
	return false;
}

// The value of a parameter that is set wrongly: the default, except where a misspelt value would make the user believe
// that packets are signed or encrypted.
size_t unless_secret(const char *name, size_t field)
{
	return strcmp(name, "net_sign") == 0 || strcmp(name, "net_tls") == 0 ? kWrongValue : field;
}

} // namespace

// Its current value, not to be cached: fi_getinfo asks long before a link is opened.
const char *parameters_net()
{
	char *defined = nullptr;
	const int err = from_libfabric("net", &defined);
	const char *text = err == -FI_ENOENT ? from_environment("net") : err ? nullptr : defined;
	return text && *text ? text : "auto";
}

const params &parameters()
{
	static const params values = [] {
		params p;
		const auto read = [](const char *name, size_t &field, size_t least, size_t most) {
			size_t v;
			const int err = from_libfabric(name, &v);
			const char *text = err == -FI_ENOENT ? from_environment(name) : nullptr;
			if (!text && (err == -FI_ENOENT || err == -FI_ENODATA))
				return; // it is not set
			if (text ? !read_number(name, text, v) : err != 0) {
				field = unless_secret(name, field);
				return;
			}
			if (v < least || v > most) {
				PGAS_WARN(FI_LOG_CORE, "parameter %s: %zu is outside %zu..%zu, using %zu\n", name, v,
					  least, most, field);
				field = unless_secret(name, field);
				return;
			}
			field = v;
		};
#define PGAS_PARAM(name_arg, field_arg, default_arg, min_arg, max_arg, text_arg)                                       \
	read(name_arg, p.field_arg, (min_arg), (max_arg));
#include "pgas_params.def"
#undef PGAS_PARAM
		return p;
	}();
	return values;
}

} // namespace pgas
