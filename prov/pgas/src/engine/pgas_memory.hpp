// SPDX-License-Identifier: BSD-3-Clause
//
// Registered memory of this process: regions, the files backing them, and the layout of key 0.
#pragma once

#include <memory>
#include <vector>

#include <rdma/fi_domain.h>

#include "support/pgas_util.hpp"
#include <rdma/fi_ext_pgas.h>

namespace pgas {

struct domain;
struct cntr_core;
namespace devices {
class kind;
}

// A piece of a region, and the file that backs it, if any.
struct mem_part {
	uint64_t off, len, va, file_off;
	int fd = -1; // borrowed from domain::files; -1: private memory
	uint64_t dev = 0, ino = 0;
};

struct shared_file { // a file that backs registered memory; one descriptor for all its registrations
	unique_fd fd;
	uint32_t users = 0;
};
uint64_t file_id(int fd, uint64_t *dev, uint64_t *ino); // one number per file, 0 when it is not a regular file
void domain_file_release(domain *dom, uint64_t id);

inline constexpr uint32_t kKeyVirtual = 1; // addresses are the owner's virtual addresses, not offsets
inline constexpr uint32_t kKeyWhole = 2;   // the whole address space
inline constexpr uint32_t kKeyDevice = 4;  // device memory: only its owner's driver can copy it (pgas_hmem.hpp)

struct mr {
	fid_mr fid{};
	domain *dom;
	bool open = false; // peers may use it: not before fi_mr_enable where that is required
	std::vector<mem_part> parts;
	uint64_t base, len;
	uint64_t access;
	uint32_t flags;
	uint64_t key;
	cntr_core *rem_wr = nullptr, *rem_rd = nullptr;
	std::vector<uint64_t> files;
	devices::kind *kind = nullptr; // the kind of device; null: host memory
	int device = 0;                // device number from the registration
	// A gate (fi_ext_pgas.h): the function called instead of copying. The memory serves only accesses that do not
	// call it.
	int (*serve)(void *arg, const void *bytes, size_t len) = nullptr;
	void *serve_arg = nullptr;
	std::unique_ptr<char[]> behind_gate;
};
extern fi_ops_mr g_mr_ops;
int mr_register_parts(domain *dom, void *base, size_t span, uint64_t access, uint64_t key, const fi_pgas_part *parts,
		      size_t count, fid_mr **out);

int mr_register_gate(domain *dom, size_t len, uint64_t key, int (*serve)(void *, const void *, size_t), void *arg,
		     fid_mr **out);

// Where our own key 0 lies (pgas_layout.cpp). Written once, before the first transfer.
struct key0_piece {
	uint64_t addr, off, len;
};
struct key0_layout {
	uint64_t base = 0, span = 0;    // range of the addresses; offsets begin at 0
	std::vector<key0_piece> pieces; // sorted by address; empty: an address is base plus offset

	bool given() const { return !pieces.empty(); }
	// Offset of `bytes` (at most a page) at an address; UINT64_MAX when they are in no piece: later bounds checks
	// reject it.
	uint64_t to_offset(uint64_t addr, uint64_t bytes = 1) const
	{
		for (const key0_piece &p : pieces)
			if (addr - p.addr <= p.len - bytes)
				return p.off + (addr - p.addr);
		return UINT64_MAX;
	}
	bool to_address(uint64_t off, uint64_t len, uint64_t &pos) const; // false when it is not within one piece
};
int key0_layout_set(domain *dom, const fi_pgas_piece *list, size_t count);

} // namespace pgas
