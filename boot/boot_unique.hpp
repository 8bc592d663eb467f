// SPDX-License-Identifier: BSD-3-Clause
// boot_unique.hpp: a job whose processes meet by a unique id, without a launcher. The process that makes the id serves
// the job (boot_unique_serve.cpp): it listens at the address that the id names until all have come, and every process
// keeps one connection to it until all have left (boot_unique.cpp, its backend).
//
//	process                                             server
//	  greeting { nonce }                        --->
//	                                            <---    greeting { nonce }, proof as server
//	  proof as caller; join { rank, size, host } -->
//	                                            <---    started { hosts }      or refused { why }
//	  barrier, allgather or fence { piece }     --->
//	                                            <---    gathered { all pieces }
//	  leave                                     --->
//	                                            <---    bye, when all have left
//	  abort { status, why }                     --->
//	                                            <---    ended { status, why }, also when a process is gone
//
//	proof = SipHash( secret of the id, "unique", role of the prover, greeting of caller, greeting of server )
//
// After the proofs, everything travels in records. A record has a head, which is signed, with the hash of its body:
// SipHash, with a key for each direction that is made as the proofs are, over the number of the record and the head.
// The length in a head is used only if the signature is right. So nobody without the secret is believed, and nobody can
// say again, leave out or change what he saw. Nothing is encrypted; the secret that the link between hosts uses is in
// the id, too, and does not travel over the connection.
#pragma once

#include "boot.hpp"

#include <pgas/pgas_proof.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <type_traits>

namespace pgas::boot {

// --- the id ----------------------------------------------------------------------------------------------------------

constexpr uint64_t kIdMagic = 0x6469757361677070; // "ppgasuid"
constexpr uint32_t kIdVersion = 1;                // of the id, and of what is said over the connection

struct unique_id {
	uint64_t magic;
	uint32_t version;
	uint16_t family; // 4 or 6
	uint16_t port;   // in network order, as the address
	unsigned char address[16];
	unsigned char proof_secret[16];
	unsigned char link_secret[16]; // of the job: pgas_boot_secret()
	char host[40];                 // its name, for messages
	unsigned char unused[16];
	uint64_t sum; // a hash of all before: finds an id that was cut or changed on the way
};
static_assert(sizeof(unique_id) == PGAS_BOOT_ID_BYTES && std::has_unique_object_representations_v<unique_id>);

// Fills in all but the address. False: the kernel provides no random numbers.
bool id_create(unique_id &id);
void id_seal(unique_id &id, const sockaddr_storage &address); // adds the address and the sum
// Returns null if it can be used, or what is wrong with it.
const char *id_fault(const unique_id &id);
socklen_t id_address(const unique_id &id, sockaddr_storage &address);
std::string id_show(const unique_id &id); // "10.1.2.3:4567 (host)"
bool id_is_loopback(const unique_id &id);
// Where to listen: PGAS_BOOT_INTERFACE, else the interface that the link takes, else loopback. Returns 0 or a negative
// errno, after a line.
int id_listen_address(sockaddr_storage &address, socklen_t &length);
// PGAS_BOOT_TIMEOUT: how long to wait for all processes, in seconds; 0: without limit. Returns false after a line.
bool id_timeout(uint64_t &seconds);

// --- sockets ---------------------------------------------------------------------------------------------------------

// Owns a socket of ours. A child of fork() closes its copy at once: while it had one, the end of this process would not
// be seen.
class own_socket {
public:
	own_socket() = default;
	explicit own_socket(int fd);
	own_socket(own_socket &&o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
	own_socket &operator=(own_socket &&o) noexcept;
	~own_socket() { reset(); }
	void reset();
	int get() const { return fd_; }
	explicit operator bool() const { return fd_ >= 0; }

private:
	int fd_ = -1;
};

// A peer that is gone without a word, with its host or its cable, is noticed when twice the time is over that the link
// waits, too (FI_PGAS_PEER_TIMEOUT).
void watch_peer(const own_socket &line);
uint64_t now_ns();

// --- proofs and records ----------------------------------------------------------------------------------------------

enum : uint32_t { kCaller = 1, kServer = 2 };

struct greeting {
	uint64_t magic;
	uint32_t version;
	uint32_t role;
	uint64_t nonce[2];
};
static_assert(sizeof(greeting) == 32);
using proof = secret;

struct welcome { // what the server sends first
	greeting own;
	proof shown;
};
static_assert(sizeof(welcome) == 48);

greeting new_greeting(uint32_t role);
bool is_greeting(const greeting &g, uint32_t role);

enum : uint32_t {
	// of a process
	kJoin = 1,
	kBarrier,
	kAllgather,
	kFence,
	kLeave,
	kAbort,
	// of the server
	kStarted,
	kRefused,
	kGathered,
	kEnded,
	kBye
};

constexpr uint32_t kRanksMost = 1u << 20;
constexpr uint64_t kPieceMost = uint64_t{16} << 20; // bytes that one process passes to an exchange
constexpr size_t kReasonBytes = 256;

struct record_head {
	uint32_t kind;
	uint32_t zero;
	uint64_t bytes; // of the body that follows
	secret body_hash;
	secret tag; // of all before
};
static_assert(sizeof(record_head) == 48);

struct join_body {
	int32_t rank;
	int32_t size;
	uint64_t host; // pgas_host_id(); 0: not known
	int32_t pid;   // for messages, as the name
	char name[36];
};
static_assert(sizeof(join_body) == 56);

struct end_body { // of kAbort and kEnded; kRefused has the reason alone
	int32_t status;
	char why[kReasonBytes]; // may be empty
};

struct started_head { // and an uint64_t of each rank: its host
	uint32_t size;
	int32_t server_rank; // of the process that serves; -1: it is no member
};

// The state of one connection, after the proofs.
class record_seal {
public:
	record_seal() = default;
	// The keys of a connection between these two, for the side that has this role.
	record_seal(const unique_id &id, uint32_t role, const greeting &caller, const greeting &server);
	record_head close(uint32_t kind, uint64_t bytes, const secret &body_hash);
	// Is this the head of the record that follows the last one? Asked once for each record.
	bool opens(const record_head &head);
	bool fits(const record_head &head, const std::string &body) const;
	// The same for all connections, so that a body for all is hashed once.
	secret hash(const void *body, uint64_t bytes) const { return mac_of(body_key_, body, bytes); }

private:
	secret out_key_{}, in_key_{}, body_key_{};
	uint64_t sent_ = 0, received_ = 0;
};

proof show_proof(const unique_id &id, uint32_t role, const greeting &caller, const greeting &server);

// --- who calls whom --------------------------------------------------------------------------------------------------

// Starts to serve, in a thread. Returns 0 and the id, or a negative errno, after a line.
int serve_unique(unique_id &id);
// If this process serves this id: its own member has this rank, and is to hear last that the job ended.
void serve_own(const unique_id &id, int rank);
// Waits until this process has served that id, and forgets it: nothing of it is left then.
void end_serving(const unique_id &id);
void forget_served(); // the same of all ids whose jobs are over, without waiting

int unique_join(const unique_id &id, int rank, int size, job &job);
extern const backend g_unique;

} // namespace pgas::boot
