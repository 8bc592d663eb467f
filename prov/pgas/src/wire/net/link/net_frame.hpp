// SPDX-License-Identifier: BSD-3-Clause
//
// What crosses a link: packets, and the frames inside them.
//
// A packet is one message of the port. Data packets are numbered from 1 on, per channel and direction, and run in
// order; `ack` says up to which number the sender ran ours. Whatever arrives is bad input until it is checked: the
// packet here and in net_receive.cpp, each frame in net_execute.cpp.
//
//   packet = packet_head, then for HELLO: hello [+ proof]; for PROOF: proof; for REFUSE: a text; for DATA: frames
//   frame  = frame_head, then what its kind says, padded to 8 bytes
//
// Where packets are signed (FI_PGAS_NET_SIGN), every packet of an open channel carries a signature in place of the
// session: a keyed hash over the number of the packet in its direction and the whole packet with the session in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/net/port/net_port.hpp"

namespace pgas {

inline constexpr uint16_t kPacketMagic = 0x6770; // "pg"
inline constexpr uint8_t kProtocol = 3;

enum packet_flag : uint8_t {
	kPacketHello = 1,  // who I am; not proven
	kPacketProof = 2,  // that I know what only the job knows
	kPacketRefuse = 4, // we cannot talk, and why
	kPacketBye = 8,    // an orderly end: nothing follows
	kPacketPing = 16,  // answer soon, be it with an acknowledgement alone
	kPacketData = 32,  // counted: has a number of its own
	kPacketWake = 64,  // transfers come that only polling moves: do not sleep for a moment
};

struct packet_head {
	uint16_t magic;
	uint8_t protocol;
	uint8_t flags;    // packet_flag
	uint32_t bytes;   // of the whole packet
	uint32_t channel; // the receiver's number of the channel; a hello to a stranger has none
	uint32_t seq;     // of data: its number; else: of the last data before it
	uint32_t ack;
	uint32_t pad_;
	uint64_t session; // what the receiver gave to this sender alone, or the signature
};
static_assert(sizeof(packet_head) == 32);

// What must be equal on both sides for memory to mean the same.
struct machine_kind {
	uint32_t byte_order; // 0x01020304 as it lies in memory
	uint16_t page_kib;
	uint8_t word_bytes;
	uint8_t architecture; // 1 x86_64, 2 aarch64
	bool operator==(const machine_kind &) const = default;
};
static_assert(sizeof(machine_kind) == 8);

inline constexpr uint16_t kNoEndpoint = 0xffff;

enum class link_role : uint8_t { caller = 1, callee };
enum link_feature : uint8_t { kFeatureSigned = 1 }; // every packet of an open channel is signed

// All of it goes into the proofs (net_greet.cpp), so that nobody changes any of it on the way.
struct hello {
	machine_kind machine;
	uint64_t id;        // of the sender's link: random
	uint64_t nonce;     // random, new for every call
	uint64_t session;   // to be put into packets to the sender
	uint32_t channel;   // likewise
	uint32_t packet;    // bytes of the longest that it takes
	uint16_t looks_for; // caller: the callee's endpoint whose address led here; callee: kNoEndpoint
	uint16_t endpoint;  // the sender's: caller: that calls; callee: that was looked for
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

// Any two codes differ in two bits or more, so that one flipped bit never makes one kind of another: a request that
// arrived as a response would be dropped in silence, and its asker would wait without end.
enum class frame_kind : uint8_t {
	intro = 3,        // src is an endpoint with this name
	leave = 5,        // src closed
	put = 6,          // address [key] bytes
	amo = 9,          // amo_frame, operands
	message = 10,     // message_frame, bytes
	request = 12,     // of pgas_request.cpp
	response = 15,    // likewise
	cq_data = 17,     // message_frame: of a write whose bytes are in place
	failed = 18,      // failed_frame
	key_ask = 20,     // key_frame: where does this memory lie for bulk transfers?
	key_answer = 23,  // key_frame
	key_gone = 24,    // key_frame: that region was closed
	count = 27,       // count_frame: a bulk transfer is over, move the counters that are bound to its region
	word_ask = 29,    // word_frame: a word of key 0, read or fetched and changed
	word_answer = 30, // word_answer_frame
};

enum frame_flag : uint8_t {
	kFrameTail = 7,    // bytes of padding at the end
	kFrameKey = 8,     // put: a key follows the address; else it is 0
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
	uint16_t words; // 8 bytes each, behind this head, the padding included
};
static_assert(sizeof(frame_head) == 8);
inline constexpr size_t kFrameMost = 0xffff * 8; // behind its head

struct amo_frame {
	uint64_t addr, key;
	uint32_t count;
	uint8_t type, op;
	uint8_t pad_[2];
};
struct message_frame {
	uint64_t len, tag, data;
};
// Frame number `frame` (from 0 on) of packet `seq` could not be run.
struct failed_frame {
	uint32_t seq, frame;
	int32_t status;
	uint32_t pad_;
};
// A question: may I write to (read from) [addr, addr + len) of your region `key` by bulk? The answer: `len` bytes from
// `addr` on are `port_addr` and `port_key` to the port; counts: say so by a count_frame when it is done; reads: may be
// read, whatever was asked for. Or why not.
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
struct word_frame {
	uint64_t addr, operand, compare;
	uint32_t question; // the asker's number of it
	uint8_t form;      // amo_form, or kWordRead
	uint8_t type, op;
	uint8_t len; // kWordRead: 1 to 8
};
struct word_answer_frame {
	uint64_t value;
	uint32_t question;
	int32_t status;
};
static_assert(sizeof(word_frame) == 32 && sizeof(word_answer_frame) == 16);
static_assert(sizeof(amo_frame) % 8 == 0 && sizeof(message_frame) % 8 == 0 && sizeof(failed_frame) % 8 == 0 &&
	      sizeof(key_frame) % 8 == 0 && sizeof(count_frame) % 8 == 0);

} // namespace pgas
