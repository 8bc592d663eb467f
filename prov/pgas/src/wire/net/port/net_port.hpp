// SPDX-License-Identifier: BSD-3-Clause
//
// A port carries packets between links, and bulk between registered memories. It guarantees: packets to one address
// arrive whole and in order, or an event reports that they do not; a transfer is reported as done when its bytes are at
// the target (write; but see port_limits::stream) or here (read). It guarantees nothing else, and knows nothing of what
// it carries.
//
// A *line* is the way to one peer, named by a number (`line`): insert() makes one of our own, which calls the peer. A
// peer that calls us makes one that only the port knows until the link keeps it. Two lines may claim one address: only
// the link finds out which is genuine, and reports it by trust(). The port's events refer to lines.
//
// All calls are made under one lock, except wait() and ring(). Only wait() blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

struct fid_nic;

namespace pgas {

struct port_ops;

inline constexpr size_t kLinkAddressMost = 32; // packed, in the port's format

// The port's state for a work in progress; the first member of what its owner passes.
struct port_work {
	void *scratch[8];     // the port's own during the work
	bool of_link = false; // a packet; otherwise the client's transfer
};

enum class port_event_kind : uint8_t {
	received,     // bytes: give_back() them; line: where they arrived, 0 if the port has none
	sent,         // work: the bytes of send() may be reused
	done,         // work: the transfer completed
	failed,       // work: it failed; status says why. The line is lost
	lost,         // line: it is lost, whether anything is in flight on it or not
	put_received, // line, word: a peer's put() is in our memory
	put_done,     // line, word: our put() is in the peer's memory; word is port_put::owner
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

// State of successive puts of single words into one peer's memory, prepared for put().
struct port_put {
	bool ready = false;
	uint32_t owner = 0; // the caller's
};

struct port_limits {
	size_t packet;    // bytes of the longest packet
	size_t bulk_from; // transfers of at least this size should use write() and read(); 0: none
	bool pins;        // registering memory makes it real: do it piece by piece, on demand
	// Packets, writes and reads to one address go through one stream: they take effect in the order of the calls. A
	// write is then done when its bytes may be reused: the acknowledgement of a later packet reports its arrival.
	bool stream = false;
	// CPUs move transfers, and a poll enters the kernel.
	bool by_cpu = false;
	// Transfers advance only while the target polls, but the target does not see them: it must be told before.
	bool unseen = false;
	// expose_device() may be called; it may still refuse.
	bool devices = false;
};

// What is known about a peer that has sent nothing for a while.
enum class port_life : uint8_t {
	unknown,   // nothing
	reachable, // its host acknowledged something recently, and its process still has the connection
	retrying,  // something is being repeated, and the next try may get through
	lost,      // tries got no acknowledgement
};

// Is this the first, second, fourth, eighth ... of its kind? Limits the log to a readable number of lines.
inline bool worth_a_line(uint64_t &count)
{
	count++;
	return (count & (count - 1)) == 0;
}

struct port {
	const port_ops *ops = nullptr;
	port_limits limits{};
	char kind = 0;           // letter in addresses: ports of the same kind can talk to each other
	std::string name;        // for log messages
	bool bulk_moved = false; // by poll(), without an event: more may follow. The reader clears it
	uint64_t dropped = 0;    // callers and lines that sent malformed data
};

// The owner of memory: the host, or a device.
struct port_device {
	int interface = 0; // libfabric's fi_hmem_iface; 0: the host
	int number = 0;    // that the driver gives it; 0 if libfabric has no number for that interface
};

enum port_rights : uint8_t { kPortLocal = 0, kPortRead = 1, kPortWrite = 2 };

// Memory that peers may write() and read(): what they must know.
struct port_memory {
	uint64_t addr = 0, key = 0;
	void *handle = nullptr;
};

// What became of the packet of a send() that succeeded.
enum class port_send : uint8_t {
	queued, // `sent` or `failed` will follow
	done,   // its bytes may be reused at once
};
struct port_sent {
	int status; // 0; -FI_EAGAIN: nothing was done; another -FI_E*: nothing was done, and the line is lost
	port_send packet = port_send::queued;
};

struct port_ops {
	void (*close)(port *p);
	size_t (*address)(const port &p, char *out); // up to kLinkAddressMost bytes
	// Returns the text of a packed address, for log messages; empty: not an address of this port.
	std::string (*show)(const port &p, const char *addr, size_t len);
	int (*insert)(port &p, const char *addr, size_t len, uint64_t *dst);
	void (*remove)(port &p, uint64_t line);
	// From now on, a line that a peer began stays until remove(). Returns false if it is over. Null, like the next
	// three: the port has no lines, packets may come from anybody.
	bool (*keep)(port &p, uint64_t line);
	// Returns the packed address at which the peer of a line claims to listen, on the host that it calls from.
	const std::string &(*peer)(const port &p, uint64_t line);
	// The peer proved itself. key: two words that only the two ends of this line know.
	void (*trust)(port &p, uint64_t line, const uint64_t *key);
	void (*drop)(port &p, uint64_t line, const char *what); // it sent malformed data: `lost` follows if it is kept
	port_sent (*send)(port &p, uint64_t line, const void *bytes, size_t len, void *handle, port_work *work);
	int (*poll)(port &p, port_event *events, int most);
	void (*give_back)(port &p, void *buffer);
	// `done` or `failed` will follow, or -FI_EAGAIN.
	int (*write)(port &p, uint64_t line, const void *src, size_t len, void *handle, uint64_t addr, uint64_t key,
		     port_work *work);
	int (*read)(port &p, uint64_t line, void *into, size_t len, void *handle, uint64_t addr, uint64_t key,
		    port_work *work);
	// Puts up to eight bytes into the peer's memory, and sends a word that its poll() reports: in order with
	// packets, and like them delivered once or not at all; put_done reports completion. put_ready: null: not now.
	// The result is valid while `ready` is set, for one put() after the other, each after the previous one is done;
	// put() also reads the eight bytes there. put: 0, or nothing was done. Both null: not supported.
	port_put *(*put_ready)(port &p, uint64_t line, uint64_t key);
	int (*put)(port_put &s, uint64_t addr, uint64_t value, size_t len, uint32_t word);
	// For peers as far as `rights` allow; without rights: for our own write() and read(), if the port needs that at
	// all.
	int (*expose)(port &p, void *base, size_t len, port_rights rights, port_memory *out);
	// The same for device memory, which our own write() and read() need, too. Null: not supported.
	int (*expose_device)(port &p, void *base, size_t len, port_device device, port_rights rights, port_memory *out);
	void (*conceal)(port &p, port_memory &m);
	// For an address that accepts no packets: true if its process has certainly ended. May take some milliseconds.
	bool (*gone)(port &p, uint64_t line, const char *addr, size_t len);
	// Nothing arrived on the line for silent_ns; a host that acknowledged nothing for patience_ns may be lost.
	// Null: unknown.
	port_life (*life)(const port &p, uint64_t line, uint64_t silent_ns, uint64_t patience_ns);
	// Returns why an address was lost, for log messages; empty, or null: only the status is known.
	std::string (*trouble)(const port &p, uint64_t line);
	// To be called before wait(): arms it for new events. Returns false if an event is here already: poll. Null: no
	// need.
	bool (*arm)(port &p);
	// The only two that are called without the lock: wait() sleeps until poll() would find something, ring() is
	// called, or the time is over.
	void (*wait)(port &p, int ms);
	void (*ring)(port &p);
};

struct port_options {
	size_t packet = 16384; // bytes of the longest packet
	// The client has device memory. That does not affect the choice of the port: the chosen one may then register
	// that memory, if it can.
	bool devices = false;
	bool tls = false;                      // network traffic is encrypted; only sockets can
	std::array<uint64_t, 2> secret{};      // the keys for that are derived from it
	uint64_t patience_ns = 30'000'000'000; // how long an outage may last
};

// Opens the port that FI_PGAS_NET asks for (`wish`, in fi_pgas(7)). Returns null, with the reason in `why`, on failure.
port *port_open(const char *wish, const port_options &options, std::string &why);
// Is a link possible at all? ask: asks libfabric, which takes time; otherwise only checks what the system shows:
// FI_PGAS_NET is not "off" and names a network, or there is an adapter or an interface that other hosts may reach.
bool link_possible(bool ask);
fid_nic *link_nic(); // of the adapter that a link would choose by itself; null: none
bool link_asks();    // true while this thread asks libfabric for other providers: ours must not answer then
const char *port_kind_name(char kind); // of an address, for log messages

} // namespace pgas
