// SPDX-License-Identifier: BSD-3-Clause
//
// Which port carries the link: of the kinds that FI_PGAS_NET selects, the first one that can be opened.
#include "port_kind.hpp"
#include "support/pgas_params.hpp"
#include "support/pgas_util.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

namespace pgas {

port_wish::port_wish(const char *text) : word(text)
{
	if (const size_t colon = word.find(':'); colon != word.npos) {
		where = word.substr(colon + 1);
		word.resize(colon);
	}
}

namespace {

bool selects(const port_wish &wish, const port_kind &k)
{
	if (wish.any())
		return !k.suits || k.suits(wish.where);
	return std::ranges::any_of(k.words, [&](const port_word &w) { return wish.word == w.word; });
}

// Why no kind is selected.
std::string none_selected(const port_wish &wish, bool tls)
{
	std::string words, secure;
	for (const port_kind *k : port_kinds()) {
		for (const port_word &w : k->words)
			words += std::string(", ") + w.word;
		if (k->encrypts)
			secure += (secure.empty() ? "" : " and ") + std::string(k->name);
	}
	return tls ? "FI_PGAS_NET_TLS=1 encrypts what goes over " + secure + ", and nothing else"
		   : "FI_PGAS_NET=" + wish.word + ": not a provider that can carry a link; one of auto, off" + words;
}

port *open_first(const port_wish &wish, const port_options &options, std::string &why)
{
	const port_kind *failed = nullptr;
	for (const port_kind *k : port_kinds()) {
		if ((options.tls && !k->encrypts) || !selects(wish, *k))
			continue;
		if (failed)
			PGAS_INFO(FI_LOG_DOMAIN, "no link over %s: %s\n", failed->name, why.c_str());
		if (port *p = k->open(wish, options, why))
			return p;
		failed = k;
	}
	if (!failed)
		why = none_selected(wish, options.tls);
	return nullptr;
}

bool any_usable(const port_wish &wish, std::string &why)
{
	bool selected = false;
	for (const port_kind *k : port_kinds()) {
		if (!k->usable || !selects(wish, *k))
			continue;
		if (k->usable(wish, why))
			return true;
		selected = true;
	}
	if (!selected)
		why = none_selected(wish, false);
	return false;
}

} // namespace

port *port_open(const char *text, const port_options &options, std::string &why)
{
	const port_wish wish(text);
	port *p = open_first(wish, options, why);
	if (p)
		return p;
	if (wish.any() && !wish.where.empty())
		why = "there is no interface " + wish.where +
		      " with an IP address, and libfabric has none of that name";
	if (wish.any() || why.find("FI_PGAS_NET=") == why.npos)
		why = "FI_PGAS_NET=" + std::string(text) + ": " + why;
	return nullptr;
}

fid_nic *link_nic()
{
	const port_wish wish(parameters_net());
	for (const port_kind *k : port_kinds())
		if (fid_nic *nic = k->nic && selects(wish, *k) ? k->nic(wish.where) : nullptr)
			return nic;
	return nullptr;
}

bool link_asks()
{
	return std::ranges::any_of(port_kinds(), [](const port_kind *k) { return k->asks && k->asks(); });
}

const char *port_kind_name(char letter)
{
	for (const port_kind *k : port_kinds())
		for (const port_word &w : k->words)
			if (w.letter == letter)
				return w.word;
	return "an unknown provider";
}

bool link_possible(bool ask)
{
	static std::atomic<bool> found{false}; // a network found once is assumed to stay
	const char *wish = parameters_net();
	if (strcmp(wish, "off") == 0)
		return false;
	if (!ask)
		return strcmp(wish, "auto") != 0 ||
		       std::ranges::any_of(port_kinds(), [](const port_kind *k) { return k->present && k->present(); });
	if (found.load(std::memory_order_relaxed))
		return true;
	std::string why;
	if (!any_usable(port_wish(wish), why)) {
		PGAS_INFO(FI_LOG_CORE, "no link to other hosts: %s\n", why.c_str());
		return false;
	}
	found.store(true, std::memory_order_relaxed);
	return true;
}

} // namespace pgas
