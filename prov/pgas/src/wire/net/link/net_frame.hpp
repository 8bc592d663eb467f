// SPDX-License-Identifier: BSD-3-Clause
//
// What crosses a link: packets, and the frames inside them.
//
// A packet is one message of the port. Data packets are numbered from 1, per channel and direction, and run in that
// order; `ack` is the number of the last of our packets that the sender ran. All input is untrusted until checked:
// packets here and in net_receive.cpp, each frame in net_execute.cpp.
//
//   packet = packet_head, then for HELLO: hello [+ proof]; for PROOF: proof; for REFUSE: a text; for DATA: frames
//   frame  = frame_head, then what its kind defines, padded to 8 bytes
//
// If packets are signed (FI_PGAS_NET_SIGN), every packet of an open channel carries a signature in place of the
// session: a keyed hash over the packet's number in its direction and the whole packet with the session in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/net/port/net_port.hpp"

namespace pgas {

inline constexpr uint16_t kPacketMagic = 0x6770; // "pg"
inline constexpr uint8_t kProtocol = 5;

enum packet_flag : uint8_t {
	kPacketHello = 1,  // who I am; not proven
	kPacketProof = 2,  // proof that I know what only the job knows
	kPacketRefuse = 4, // we cannot talk, and why
	kPacketBye = 8,    // an orderly end: nothing follows
	kPacketPing = 16,  // answer soon, even if only with an acknowledgement
	kPacketData = 32,  // counted: has its own number
	kPacketWake = 64,  // transfers are coming that only polling moves: do not sleep for a moment
};

struct packet_head {
	uint16_t magic;
	uint8_t protocol;
	uint8_t flags;    // packet_flag
	uint32_t bytes;   // of the whole packet
	uint32_t channel; // the receiver's number of the channel; 0 in a hello to a stranger
	uint32_t seq;     // data: its number; otherwise the number of the last data packet before it
	uint32_t ack;
	uint32_t pad_;
	uint64_t session; // assigned by the receiver to this sender alone, or the signature
};
static_assert(sizeof(packet_head) == 32);

// What must be equal on both sides so that memory has the same meaning.
struct machine_kind {
	uint32_t byte_order; // 0x01020304 as stored in memory
	uint16_t page_kib;
	uint8_t word_bytes;
	uint8_t architecture; // 1 x86_64, 2 aarch64
	bool operator==(const machine_kind &) const = default;
};
static_assert(sizeof(machine_kind) == 8);

inline constexpr uint16_t kNoEndpoint = 0xffff;

enum class link_role : uint8_t { caller = 1, callee };
enum link_feature : uint8_t { kFeatureSigned = 1 }; // every packet of an open channel is signed

// All of it is covered by the proofs (net_greet.cpp), so nobody can change any of it on the way.
struct hello {
	machine_kind machine;
	uint64_t id;        // of the sender's link: random
	uint64_t nonce;     // random, new for every call
	uint64_t session;   // to be put into packets to the sender
	uint32_t channel;   // the sender's number, for the same purpose
	uint32_t packet;    // bytes of the longest packet that the sender accepts
	uint16_t looks_for; // caller: the callee's endpoint whose address led here; callee: kNoEndpoint
	uint16_t endpoint;  // the sender's: the calling one (caller), or the one looked for (callee)
	uint8_t kind;       // letter of the port
	uint8_t address_len;
	link_role role;
	uint8_t features;               // link_feature
	char address[kLinkAddressMost]; // where the sender can be reached
};
static_assert(sizeof(hello) == 80);

struct proof {
	uint64_t mac[2];
};
static_assert(sizeof(proof) == 16);
inline constexpr size_t kRefusalMost = 160;

// Any two codes differ in at least two bits, so that one flipped bit never turns one kind into another: a request that
// arrived as a response would be dropped silently, and its sender would wait forever.
enum class frame_kind : uint8_t {
	intro = 3,         // src is an endpoint with this name
	leave = 5,         // src closed
	put = 6,           // address [key] bytes
	amo = 9,           // amo_frame, operands
	message = 10,      // message_frame, bytes
	request = 12,      // of pgas_request.cpp
	response = 15,     // of pgas_request.cpp
	cq_data = 17,      // message_frame: for a write whose bytes are in place
	failed = 18,       // failed_frame
	key_ask = 20,      // key_frame: where is this memory for bulk transfers?
	key_answer = 23,   // key_frame
	key_gone = 24,     // key_frame: that region was closed
	count = 27,        // count_frame: a bulk transfer completed, add to the counters bound to its region
	word_ask = 29,     // word_frame, operands: some bytes of key 0, read, or a word fetched and modified
	word_answer = 30,  // results, for the next questions that have no answer yet
	word_refusal = 33, // word_refusal_frame: an error, for the next question
};

enum frame_flag : uint8_t {
	kFrameTail = 7,    // bytes of padding at the end
	kFrameKey = 8,     // put: a key follows the address; otherwise it is 0
	kFrameTagged = 16, // message
	kFrameLong = 32,   // message: the receiver fetches the bytes
	kFrameData = 64,   // message: carries cq data
	kFrameLast = 128,  // put, amo: the last of its operation
};

struct frame_head {
	frame_kind kind;
	uint8_t flags;  // frame_flag
	uint16_t src;   // the sender's endpoint
	uint16_t dst;   // the receiver's
	uint16_t words; // in units of 8 bytes, after this head, padding included
};
static_assert(sizeof(frame_head) == 8);
inline constexpr size_t kFrameMost = 0xffff * 8; // after its head

struct amo_frame {
	uint64_t addr, key;
	uint32_t count;
	uint8_t type, op;
	uint8_t pad_[2];
};
struct message_frame {
	uint64_t len, tag, data;
};
// Frame number `frame` (counted from 0) of packet `seq` could not be run.
struct failed_frame {
	uint32_t seq, frame;
	int32_t status;
	uint32_t pad_;
};
// The question: may I write to (read from) [addr, addr + len) of your region `key` by bulk? The answer: `len` bytes
// from `addr` on are `port_addr` and `port_key` to the port. counts: send a count_frame when done. reads: reading is
// allowed, whatever the question was. Otherwise `status` says why not.
struct key_frame {
	uint64_t key, addr, len;
	uint64_t port_addr, port_key;
	int32_t status;
	uint8_t write, counts, reads;
	uint8_t pad_;
};
struct count_frame {
	uint64_t key;
	uint8_t read, of_range, of_operation;
	uint8_t pad_[5];
};
// A question. An atomic's operand follows, and what it compares with: 8 bytes each. Questions of a channel are answered
// in their order, so an answer needs no number: it is just results of as many bytes as were asked for, each padded to a
// multiple of 8.
struct word_frame {
	uint64_t addr;
	uint8_t form; // amo_form, or kWordRead
	uint8_t type, op;
	uint8_t len; // bytes of the result; kWordRead: 1 to kAnswerMost
	uint32_t pad_;
};
struct word_refusal_frame {
	int32_t status;
	uint32_t pad_;
};
static_assert(sizeof(word_frame) == 16 && sizeof(word_refusal_frame) == 8);
static_assert(sizeof(amo_frame) % 8 == 0 && sizeof(message_frame) % 8 == 0 && sizeof(failed_frame) % 8 == 0 &&
	      sizeof(key_frame) % 8 == 0 && sizeof(count_frame) % 8 == 0);

} // namespace pgas
