// SPDX-License-Identifier: BSD-3-Clause
//
// A kind of port, as the choice between them sees it (port_choose.cpp): how FI_PGAS_NET names it, whether this host has
// such a network, and how to open the port. Each kind is one constant in a file beside its port, and one line in
// port_kinds.def; no other file of the provider names it.
#pragma once

#include "net_port.hpp"

#include <span>
#include <string>

namespace pgas {

// FI_PGAS_NET: a word, and after a colon an interface or an adapter.
struct port_wish {
	std::string word, where;
	explicit port_wish(const char *text);
	bool any() const { return word == "auto"; }
};

// A word of FI_PGAS_NET, by which people also know the addresses that have this letter.
struct port_word {
	const char *word;
	char letter; // port::kind; different for each network. 0: the word stands for several
};

struct port_kind {
	const char *name;                 // for log messages
	std::span<const port_word> words; // of FI_PGAS_NET; none: only `auto` takes it
	bool encrypts;                    // with FI_PGAS_NET_TLS=1
	// Does the system show a device of this kind? Takes microseconds. Null: the devices belong to other kinds.
	bool (*present)();
	// Should `auto`, or `auto:WHERE`, try it? Null: always.
	bool (*suits)(const std::string &where);
	// Could it be opened? Opening may still fail. Null: another kind answers for it, too.
	bool (*usable)(const port_wish &wish, std::string &why);
	port *(*open)(const port_wish &wish, const port_options &options, std::string &why); // as port_open()
	fid_nic *(*nic)(const std::string &where); // of the adapter that open() would take; null: none. May be null
	bool (*asks)();                            // is this thread asking libfabric for other providers? May be null
};

#define PGAS_PORT(name_arg) extern const port_kind g_port_##name_arg;
#include "port_kinds.def"
#undef PGAS_PORT
std::span<const port_kind *const> port_kinds(); // in the order in which `auto` tries them

} // namespace pgas
