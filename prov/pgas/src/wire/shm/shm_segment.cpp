// SPDX-License-Identifier: BSD-3-Clause
//
// Creates our memfds and opens those of peers, with all checks before a byte is trusted.
#include "shm_segment.hpp"

#include <pgas/pgas_random.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>

#include "shm_process.hpp"

namespace pgas {

pgas_ring *ring_of(const segment &seg, const ep_shape &shape)
{
	return seg.at<pgas_ring>(ep_layout::of(shape.slots, shape.eager_count, shape.eager_bytes).ring_off);
}

void ring_make_ready(const segment &seg, const ep_shape &shape)
{
	constexpr size_t most = 1 << 20;
	const auto l = ep_layout::of(shape.slots, shape.eager_count, shape.eager_bytes);
	if (l.eager_heads_off - kAnnexesOff <= most)
		pages_ready(seg.at<char>(kAnnexesOff), l.eager_heads_off - kAnnexesOff, true);
}

eager_area eager_area_of(const segment &seg, const ep_shape &shape)
{
	const auto l = ep_layout::of(shape.slots, shape.eager_count, shape.eager_bytes);
	return {seg.at<eager_head>(l.eager_heads_off), seg.at<uint32_t>(l.eager_returns_off), seg.at<char>(l.eager_off),
		shape.eager_count, shape.eager_bytes};
}

namespace {

// 0: the kernel provides none.
uint64_t random_nonce()
{
	uint64_t v = 0;
	while (v == 0)
		if (!random_fill(&v, sizeof v))
			return 0;
	return v;
}

// Creates and maps a file of that size that nobody can shrink.
int make_file(const char *what, size_t bytes, segment &out)
{
	char name[64];
	snprintf(name, sizeof name, "pgas-%s", what);
	unique_fd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (!fd) {
		const int err = errno;
		PGAS_WARN(FI_LOG_CORE, "cannot create the %s segment: %s\n", what, strerror(err));
		return -err;
	}
	if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
		const int err = errno;
		PGAS_WARN(FI_LOG_CORE, "cannot size the %s segment to %zu bytes: %s\n", what, bytes, strerror(err));
		return -err;
	}
	// a peer that shrinks the file would kill us by SIGBUS
	if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
		const int err = errno;
		PGAS_WARN(FI_LOG_CORE, "cannot seal the %s segment: %s\n", what, strerror(err));
		return -err;
	}
	void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
	if (p == MAP_FAILED) {
		const int err = errno;
		PGAS_WARN(FI_LOG_CORE, "cannot map the %s segment of %zu bytes: %s\n", what, bytes, strerror(err));
		return -err;
	}
	out.fd = std::move(fd);
	out.map = mapping(p, bytes);
	return 0;
}

} // namespace

int segment_create(const char *what, segment_kind kind, size_t bytes, segment &out)
{
	const uint64_t nonce = random_nonce();
	if (!nonce) {
		PGAS_WARN(FI_LOG_CORE,
			  "cannot create the %s segment: the kernel refuses random numbers (getrandom, /dev/urandom)\n",
			  what);
		return -FI_ENOSYS;
	}
	if (const int err = make_file(what, bytes, out))
		return err;
	auto *h = out.at<segment_header>(0);
	h->version = kSegmentVersion;
	h->kind = static_cast<uint32_t>(kind);
	h->bytes = bytes;
	h->nonce = nonce;
	h->pid = static_cast<uint32_t>(getpid());
	h->uid = geteuid();
	h->start_time = process_start_time(h->pid);
	pgas_store_release(&h->magic, kSegmentMagic); // pairs with load_acquire in header_is()
	return 0;
}

namespace {

bool header_is(const segment_header *h, uint32_t pid, uint64_t nonce, segment_kind kind, size_t file_bytes)
{
	return pgas_load_acquire(&h->magic) == kSegmentMagic && h->version == kSegmentVersion &&
	       h->kind == static_cast<uint32_t>(kind) && h->nonce == nonce && h->pid == pid && h->bytes == file_bytes;
}

unique_fd open_peer_fd(uint32_t pid, int fd)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%u/fd/%d", pid, fd);
	return unique_fd(open(path, O_RDWR | O_CLOEXEC));
}

} // namespace

int segment_open(uint32_t pid, int fd, uint64_t nonce, segment_kind kind, size_t read_only, segment &out)
{
	unique_fd file = open_peer_fd(pid, fd);
	struct stat st;
	if (!file || fstat(file.get(), &st) != 0) {
		const int err = errno;
		PGAS_INFO(FI_LOG_AV, "cannot open segment %d of process %u: %s\n", fd, pid, strerror(err));
		return err == EACCES || err == EPERM ? -FI_EACCES : -FI_EHOSTUNREACH;
	}
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
		PGAS_WARN(FI_LOG_AV, "segment %d of process %u belongs to another user\n", fd, pid);
		return S_ISREG(st.st_mode) ? -FI_EACCES : -FI_EHOSTUNREACH;
	}
	const auto bytes = static_cast<size_t>(st.st_size);
	const int seals = fcntl(file.get(), F_GET_SEALS);
	if (bytes < kPage || bytes <= read_only || seals < 0 || !(seals & F_SEAL_SHRINK))
		return -FI_EHOSTUNREACH;
	void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
	if (p == MAP_FAILED)
		return -errno;
	mapping map(p, bytes);
	if (!header_is(reinterpret_cast<segment_header *>(p), pid, nonce, kind, bytes)) {
		PGAS_INFO(FI_LOG_AV, "segment %d of process %u is not the one the address names (stale address)\n", fd,
			  pid);
		return -FI_EHOSTUNREACH;
	}
	if (read_only && mprotect(p, read_only, PROT_READ) != 0)
		return -errno;
	out.map = std::move(map);
	return 0;
}

int peer_file_open(uint32_t pid, int fd, uint64_t dev, uint64_t ino, uint64_t need_bytes, unique_fd &out)
{
	unique_fd file = open_peer_fd(pid, fd);
	struct stat st;
	if (!file || fstat(file.get(), &st) != 0)
		return -errno;
	if (st.st_dev != dev || st.st_ino != ino)
		return -FI_EHOSTUNREACH;
	if (static_cast<uint64_t>(st.st_size) < need_bytes)
		return -FI_EKEYREJECTED;
	out = std::move(file);
	return 0;
}

} // namespace pgas
