// SPDX-License-Identifier: BSD-3-Clause
//
// A port carries packets between links, and bulk between registered memories. It promises: packets to one address
// arrive whole and in order, or an event says that they do not; a transfer is reported as done when its bytes are at
// the target (written; but see port_limits::stream) or here (read). It promises nothing else, and knows nothing of what
// it carries.
//
// A *line* is the way to one peer, named by a number (`line`): insert() makes one of our own, which calls the peer. A
// peer that calls us makes one that the port alone knows until the link keeps it. Two lines may claim one address: only
// the link finds out who is who, and says so by trust(). What the port tells is told of a line.
//
// All calls are made under one lock, but for wait() and ring(). Only wait() blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

struct fid_nic;

namespace pgas {

struct port_ops;

inline constexpr size_t kLinkAddressMost = 32; // packed, as ports write it

// What a port needs to know of something under way; the first member of what its owner passes.
struct port_work {
	void *scratch[8];     // the port's own while it is under way
	bool of_link = false; // a packet; else the client's transfer
};

enum class port_event_kind : uint8_t {
	received, // bytes: give_back() them; to: the line that they came by, 0 where the port has none
	sent,     // work: the bytes of send() may be reused
	done,     // work: the transfer is over
	failed,   // work: it did not go through; status says why. The line is lost
	lost,     // to: the line is lost, whether anything is under way to it or not
	told,     // to, word: a peer's put() is in our memory
	put_done, // to, word: our put() is in the peer's memory; port_put::owner
};
struct port_event {
	port_event_kind kind;
	int status = 0; // -FI_E*
	port_work *work = nullptr;
	const char *bytes = nullptr;
	size_t len = 0;
	void *buffer = nullptr;
	uint64_t line = 0;
	uint32_t word = 0;
};

// One word after the other straight into the memory of one peer: what put() needs to know, made ready before.
struct port_put {
	bool ready = false;
	uint32_t owner = 0; // the caller's
};

struct port_limits {
	size_t packet;    // bytes of the longest packet
	size_t bulk_from; // transfers of this size on are better done by write() and read(); 0: none are
	bool pins;        // registering memory makes it real: piece by piece, at need
	// Packets, writes and reads to one address go through one stream: they take effect in the order of the calls. A
	// write is then done when its bytes may be reused: the acknowledgement of a packet behind it tells that it
	// arrived.
	bool stream = false;
	// CPUs move transfers, and a look enters the kernel.
	bool by_cpu = false;
	// They move only while the target polls, which sees nothing of them: it wants to be told before.
	bool unseen = false;
	// expose_device() may be asked; it may still refuse.
	bool devices = false;
};

// What is known about a peer from which nothing came for a while.
enum class port_life : uint8_t {
	unknown,   // nothing
	reachable, // its host acknowledged something lately, and its process still has the connection
	retrying,  // something is repeated, and the next try may get through
	lost,      // tries got no acknowledgement
};

// Is this the first, second, fourth, eighth ... of its kind? As many lines in the log as somebody can read.
inline bool worth_a_line(uint64_t &count)
{
	count++;
	return (count & (count - 1)) == 0;
}

struct port {
	const port_ops *ops = nullptr;
	port_limits limits{};
	char kind = 0;           // letter in addresses: which ports can talk to each other
	std::string name;        // for people
	bool bulk_moved = false; // by poll(), without an event: more may follow. Its reader clears it
	uint64_t dropped = 0;    // callers and lines that made no sense
};

// Whose memory it is: the host's, or that of a device, with the number that its driver gives it.
enum class port_device_kind : uint8_t { host, cuda, rocr, ze };
struct port_device {
	port_device_kind kind = port_device_kind::host;
	int number = 0;
};

enum port_rights : uint8_t { kPortLocal = 0, kPortRead = 1, kPortWrite = 2 };

// Memory that peers may write() and read(): what they must be told.
struct port_memory {
	uint64_t addr = 0, key = 0;
	void *handle = nullptr;
};

struct port_ops {
	void (*close)(port *p);
	size_t (*address)(const port &p, char *out); // up to kLinkAddressMost bytes
	// The text of a packed address, for people; empty: it is none of this port.
	std::string (*show)(const port &p, const char *addr, size_t len);
	int (*insert)(port &p, const char *addr, size_t len, uint64_t *dst);
	void (*remove)(port &p, uint64_t line);
	// A line that a peer began stays from now on until remove(). False: it is over. Null, and the three that
	// follow: the port has no lines, packets may come from anybody.
	bool (*keep)(port &p, uint64_t line);
	// The packed address that the peer of a line says it listens at, and that its host may have.
	const std::string &(*peer)(const port &p, uint64_t line);
	// The peer proved itself. key: two words that this line's two ends know, and nobody else.
	void (*trust)(port &p, uint64_t line, const uint64_t *key);
	void (*drop)(port &p, uint64_t line, const char *what); // it sent what cannot be: `lost` follows if it is kept
	// 0: `sent` or `failed` will tell; 1: the bytes may be reused at once; -FI_EAGAIN.
	int (*send)(port &p, uint64_t line, const void *bytes, size_t len, void *handle, port_work *work);
	int (*poll)(port &p, port_event *events, int most);
	void (*give_back)(port &p, void *buffer);
	// `done` or `failed` will tell, or -FI_EAGAIN.
	int (*write)(port &p, uint64_t line, const void *src, size_t len, void *handle, uint64_t addr, uint64_t key,
		     port_work *work);
	int (*read)(port &p, uint64_t line, void *into, size_t len, void *handle, uint64_t addr, uint64_t key,
		    port_work *work);
	// Up to eight bytes into the peer's memory, and a word that its poll() tells: in order with packets, and like
	// them there once or not at all; put_done tells when. put_ready: null: not now. It is good until `ready` says
	// otherwise, for one put() after the other, each when the one before it is done; reads eight bytes there, too.
	// put: 0, or nothing was done. Null, both: no.
	port_put *(*put_ready)(port &p, uint64_t line, uint64_t key);
	int (*put)(port_put &s, uint64_t addr, uint64_t value, size_t len, uint32_t word);
	// For peers as far as `rights` say; none: for our own write() and read(), where the port wants that at all.
	int (*expose)(port &p, void *base, size_t len, port_rights rights, port_memory *out);
	// Likewise memory of a device, also for our own write() and read(). Null: no.
	int (*expose_device)(port &p, void *base, size_t len, port_device owner, port_rights rights, port_memory *out);
	void (*conceal)(port &p, port_memory &m);
	// For an address that takes no packets: true when its process is surely gone. May take some milliseconds.
	bool (*gone)(port &p, uint64_t line, const char *addr, size_t len);
	// Nothing came by the line for silent_ns; a host that acknowledged nothing for patience_ns may be lost. Null:
	// unknown.
	port_life (*life)(const port &p, uint64_t line, uint64_t silent_ns, uint64_t patience_ns);
	// Why an address was lost, for people; empty: no more is known than the status. Null: likewise.
	std::string (*trouble)(const port &p, uint64_t line);
	// Before wait(): from now on it sees what comes. False: something came already, poll. Null: nothing to do.
	bool (*arm)(port &p);
	// The only two that are called without the lock: sleeps until poll() would find something, ring() is called, or
	// the time is over.
	void (*wait)(port &p, int ms);
	void (*ring)(port &p);
};

struct port_options {
	size_t packet = 16384; // bytes of the longest
	// The client has memory of devices. That changes no preference: whichever port it is may then register that
	// memory, if it can.
	bool devices = false;
	bool tls = false;                      // what crosses the network is encrypted; only sockets can
	std::array<uint64_t, 2> secret{};      // with keys that are made of this
	uint64_t patience_ns = 30'000'000'000; // that an outage may last
};

// The port that FI_PGAS_NET asks for; null, and why. wish: "auto", "verbs[:DEVICE[:PORT]]",
// "socket[:INTERFACE]", "libfabric[:DOMAIN]", or "PROVIDER[:DOMAIN]".
port *port_open(const char *wish, const port_options &options, std::string &why);
// Can there be a link at all? ask: libfabric is asked, which takes time; else what the system shows must do:
// FI_PGAS_NET is not "off", and names a network, or there is an adapter or an interface that others may reach.
bool link_possible(bool ask);
fid_nic *link_nic();                   // of the adapter that a link would take by itself; null: none
const char *port_kind_name(char kind); // of an address, for people

// The three kinds. device: empty, or "DEVICE[:PORT]"; interface: empty, or its name.
enum class ofi_kinds : bool { all, adapters };
port *port_ofi_open(const char *wish, ofi_kinds owner, const port_options &options, std::string &why);
port *port_verbs_open(const std::string &device, const port_options &options, std::string &why);
// There is an adapter; opening it may still fail. nic: what there is to know about it, where that is asked for.
bool verbs_usable(const std::string &device, std::string &why, fid_nic **nic = nullptr);
port *port_socket_open(const std::string &interface, const port_options &options, std::string &why);
bool socket_usable(const std::string &interface, std::string &why);
inline constexpr char kVerbsKind = 'b', kSocketKind = 's';

} // namespace pgas
