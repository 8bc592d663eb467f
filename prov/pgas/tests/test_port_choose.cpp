// SPDX-License-Identifier: BSD-3-Clause
//
// The choice of a port (port_choose.cpp) over a table of four kinds of the test's own: adapters, which have a
// description and do not suit `auto:INTERFACE`; kinds that only auto takes; one that encrypts; and one with several
// words.
#include "wire/net/port/port_kind.hpp"

#include <csetjmp>
#include <cstdarg>
#include <cstdint>
#include <cstring>

#include <rdma/fabric.h>
#include <rdma/providers/fi_prov.h>
extern "C" {
#include <cmocka.h>
}

namespace pgas {

fi_provider g_provider = {};

namespace {

const char *g_net;       // FI_PGAS_NET
std::string g_tried;     // names of the kinds that were opened or asked, each with what followed the colon
std::string g_good;      // the kind that can be opened; empty: none
bool g_adapters = false; // this host has one
port g_port;
fid_nic g_nic;

bool attempt(const char *name, const port_wish &wish, std::string &why)
{
	g_tried += std::string(name) + "(" + wish.where + ") ";
	why = std::string("no ") + name;
	return g_good == name;
}

#define TEST_PORT_CALLS(name_arg)                                                                                      \
	.usable = [](const port_wish &w, std::string &why) { return attempt(name_arg, w, why); },                      \
	.open = [](const port_wish &w, const port_options &, std::string &why) {                                       \
		return attempt(name_arg, w, why) ? &g_port : nullptr;                                                  \
	}

constexpr port_word kAdapterWords[] = {{"adapter", 'a'}};
constexpr port_word kPlugWords[] = {{"plug", 'p'}};
constexpr port_word kRestWords[] = {{"rest", 0}, {"two;three", 'x'}, {"four", 'y'}};

const port_kind kAdapter = {
	.name = "adapter",
	.words = kAdapterWords,
	.encrypts = false,
	.present = [] { return g_adapters; },
	.suits = [](const std::string &where) { return where.empty() && g_adapters; },
	TEST_PORT_CALLS("adapter"),
	.nic = [](const std::string &where) { return where == "none" ? nullptr : &g_nic; },
	.asks = nullptr,
};
const port_kind kHidden = {
	.name = "hidden",
	.words = {},
	.encrypts = false,
	.present = nullptr,
	.suits = [](const std::string &) { return g_adapters; },
	TEST_PORT_CALLS("hidden"),
	.nic = nullptr,
	.asks = nullptr,
};
const port_kind kPlug = {
	.name = "plug",
	.words = kPlugWords,
	.encrypts = true,
	.present = nullptr,
	.suits = nullptr,
	TEST_PORT_CALLS("plug"),
	.nic = nullptr,
	.asks = nullptr,
};
const port_kind kRest = {
	.name = "rest",
	.words = kRestWords,
	.encrypts = false,
	.present = nullptr,
	.suits = nullptr,
	TEST_PORT_CALLS("rest"),
	.nic = nullptr,
	.asks = [] { return g_good == "asking"; },
};

} // namespace

std::span<const port_kind *const> port_kinds()
{
	static constexpr const port_kind *kKinds[] = {&kAdapter, &kHidden, &kPlug, &kRest};
	return kKinds;
}

const char *parameters_net()
{
	return g_net;
}

} // namespace pgas

using namespace pgas;

namespace {

// Opens what FI_PGAS_NET says when only the kind `good` can be opened. Checks which kinds were tried, and the reason.
void opens(const char *net, bool adapters, const char *good, bool tls, const char *tried, const char *reason)
{
	std::string why;
	port_options options;
	options.tls = tls;
	g_net = net;
	g_adapters = adapters;
	g_good = good;
	g_tried.clear();
	const port *p = port_open(net, options, why);
	assert_ptr_equal(p, *reason ? nullptr : &g_port);
	assert_string_equal(g_tried.c_str(), tried);
	if (*reason)
		assert_string_equal(why.c_str(), reason);
}

void test_auto_tries_kinds_in_the_order_of_the_table(void **)
{
	opens("auto", true, "adapter", false, "adapter() ", "");
	opens("auto", true, "hidden", false, "adapter() hidden() ", "");
	opens("auto", true, "rest", false, "adapter() hidden() plug() rest() ", "");
	opens("auto", false, "plug", false, "plug() ", "");
	opens("auto", false, "", false, "plug() rest() ", "FI_PGAS_NET=auto: no rest");
}

void test_auto_with_an_interface_passes_it_on(void **)
{
	opens("auto:eth7", true, "plug", false, "hidden(eth7) plug(eth7) ", "");
	opens("auto:eth7", true, "", false, "hidden(eth7) plug(eth7) rest(eth7) ",
	      "FI_PGAS_NET=auto:eth7: there is no interface eth7 with an IP address, and libfabric has none of that "
	      "name");
}

void test_word_selects_its_kind_only(void **)
{
	opens("adapter:mlx5_0:1", false, "adapter", false, "adapter(mlx5_0:1) ", "");
	opens("plug", true, "adapter", false, "plug() ", "FI_PGAS_NET=plug: no plug");
	opens("two;three:lo", true, "rest", false, "rest(lo) ", "");
	opens("four", true, "rest", false, "rest() ", "");
}

void test_unknown_word_lists_those_that_exist(void **)
{
	opens("hidden:x", true, "hidden", false, "",
	      "FI_PGAS_NET=hidden: not a provider that can carry a link; one of auto, off, adapter, plug, rest, "
	      "two;three, four");
}

void test_encryption_takes_only_what_encrypts(void **)
{
	opens("auto", true, "plug", true, "plug() ", "");
	opens("plug:lo", true, "plug", true, "plug(lo) ", "");
	opens("auto", true, "rest", true, "plug() ", "FI_PGAS_NET=auto: no plug");
	opens("four", true, "rest", true, "",
	      "FI_PGAS_NET=four: FI_PGAS_NET_TLS=1 encrypts what goes over plug, and nothing else");
}

void test_letter_is_shown_as_its_word(void **)
{
	assert_string_equal(port_kind_name('a'), "adapter");
	assert_string_equal(port_kind_name('y'), "four");
	assert_string_equal(port_kind_name('?'), "an unknown provider");
}

// Is a link possible? quick: without asking.
bool possible(const char *net, bool adapters, const char *good, bool ask)
{
	g_net = net;
	g_adapters = adapters;
	g_good = good;
	g_tried.clear();
	return link_possible(ask);
}

void test_possible_looks_or_asks(void **)
{
	assert_false(possible("off", true, "plug", false));
	assert_false(possible("off", true, "plug", true));
	assert_false(possible("auto", false, "plug", false));
	assert_true(possible("auto", true, "", false));
	assert_true(possible("plug", false, "", false)); // named, so it is tried
	assert_string_equal(g_tried.c_str(), "");
	assert_false(possible("auto", false, "", true));
	assert_string_equal(g_tried.c_str(), "plug() rest() ");
	assert_false(possible("nonsense", true, "plug", true));
	assert_string_equal(g_tried.c_str(), "");
	assert_true(possible("auto", false, "rest", true));
	assert_true(possible("auto", false, "", true)); // what was found once is assumed to stay
	assert_string_equal(g_tried.c_str(), "");
}

void test_description_is_that_of_the_selected_kind(void **)
{
	g_adapters = true;
	g_net = "auto";
	assert_ptr_equal(link_nic(), &g_nic);
	g_net = "adapter:none";
	assert_null(link_nic());
	g_net = "plug";
	assert_null(link_nic());
	g_net = "auto";
	g_adapters = false;
	assert_null(link_nic());
	g_good = "asking";
	assert_true(link_asks());
	g_good = "";
	assert_false(link_asks());
}

} // namespace

int main()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_auto_tries_kinds_in_the_order_of_the_table),
		cmocka_unit_test(test_auto_with_an_interface_passes_it_on),
		cmocka_unit_test(test_word_selects_its_kind_only),
		cmocka_unit_test(test_unknown_word_lists_those_that_exist),
		cmocka_unit_test(test_encryption_takes_only_what_encrypts),
		cmocka_unit_test(test_letter_is_shown_as_its_word),
		cmocka_unit_test(test_possible_looks_or_asks),
		cmocka_unit_test(test_description_is_that_of_the_selected_kind),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
