// SPDX-License-Identifier: BSD-3-Clause
//
// Memory registration. A registration determines which file backs the memory (a shared mapping of a memfd or of any
// other file) and lists the file, so that peers can map it; private memory is listed by address only, and wires reach
// it with the kernel's help or through our progress.
#include "engine/pgas_ep.hpp"
#include "support/pgas_flags.hpp"
#include "hmem/pgas_hmem.hpp"
#include "support/pgas_iov.hpp"
#include "support/pgas_nosys.hpp"
#include "engine/pgas_wire.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pgas {

namespace {

uint64_t id_of(uint64_t dev, uint64_t ino)
{
	const uint64_t id = dev * 0x9E3779B97F4A7C15u ^ ino;
	return id ? id : 1;
}

} // namespace

uint64_t file_id(int fd, uint64_t *dev, uint64_t *ino)
{
	struct stat st;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return 0;
	if (dev)
		*dev = st.st_dev;
	if (ino)
		*ino = st.st_ino;
	return id_of(st.st_dev, st.st_ino);
}

void domain_file_release(domain *dom, uint64_t id)
{
	const auto it = dom->files.find(id);
	if (it != dom->files.end() && --it->second.users == 0)
		dom->files.erase(it);
}

namespace {

constexpr uint64_t kAccessBits = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

mr *mr_of(fid *f)
{
	return reinterpret_cast<mr *>(f);
}

// Returns a descriptor, open for reading and writing, of the file behind a mapping; empty when none can be had.
unique_fd descriptor_of(uint64_t dev, uint64_t ino, uint64_t start, uint64_t end)
{
	if (DIR *d = opendir("/proc/self/fd")) {
		unique_fd found;
		while (const dirent *e = readdir(d)) {
			const int fd = atoi(e->d_name);
			uint64_t fdev, fino;
			if (e->d_name[0] == '.' || fd == dirfd(d) || !file_id(fd, &fdev, &fino) || fdev != dev ||
			    fino != ino)
				continue;
			if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR) {
				found = unique_fd(fcntl(fd, F_DUPFD_CLOEXEC, 3));
				break;
			}
		}
		closedir(d);
		if (found)
			return found;
	}
	char path[80]; // needs a capability, but then works for mappings whose descriptor was closed
	snprintf(path, sizeof path, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, start, end);
	return unique_fd(open(path, O_RDWR | O_CLOEXEC));
}

int use_file(domain *dom, mr *m, uint64_t dev, uint64_t ino, uint64_t start, uint64_t end)
{
	const uint64_t id = id_of(dev, ino);
	auto it = dom->files.find(id);
	if (it == dom->files.end()) {
		unique_fd fd = descriptor_of(dev, ino, start, end);
		uint64_t fdev, fino;
		if (!fd || !file_id(fd.get(), &fdev, &fino) || fdev != dev || fino != ino)
			return -1;
		it = dom->files.emplace(id, shared_file{std::move(fd), 0}).first;
	}
	it->second.users++;
	m->files.push_back(id);
	return it->second.fd.get();
}

// Adds the shared mappings behind [base, base + len) as parts; one part without a file if any of it is private.
void find_backing(domain *dom, mr *m, uint64_t base, uint64_t len, uint64_t off)
{
	const size_t first = m->parts.size();
	uint64_t pos = base;
	FILE *f = parameters().map && len ? fopen("/proc/self/maps", "re") : nullptr;
	bool ok = f != nullptr;
	char line[4352];
	while (ok && pos < base + len && fgets(line, sizeof line, f)) {
		uint64_t start, end, foff, ino;
		unsigned major, minor;
		char perms[8];
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64, &start, &end, perms, &foff,
			   &major, &minor, &ino) != 7 ||
		    end <= pos)
			continue;
		if (start > pos || perms[3] != 's' || !ino) {
			ok = false;
			break;
		}
		// maps prints the device of the superblock, which is what fstat of a descriptor returns for tmpfs
		const uint64_t dev = makedev(major, minor);
		const int fd = use_file(dom, m, dev, ino, start, end);
		if (fd < 0) {
			ok = false;
			break;
		}
		const uint64_t stop = end < base + len ? end : base + len;
		m->parts.push_back({off + (pos - base), stop - pos, pos, foff + (pos - start), fd, dev, ino});
		pos = stop;
	}
	if (f)
		fclose(f);
	if (ok && pos == base + len)
		return;
	m->parts.resize(first);
	m->parts.push_back({off, len, base, 0, -1, 0, 0});
}

// Publishes the region to peers; called again when its counters change.
void show(mr *m)
{
	m->open = true;
	for (wire_domain *d : m->dom->wires)
		if (d)
			d->ops->mr_show(*d, *m);
}

void close_on_wires(mr *m)
{
	for (wire_domain *d : m->dom->wires)
		if (d)
			d->ops->mr_close(*d, *m);
}

int open_on_wires(mr *m)
{
	for (wire_domain *d : m->dom->wires) {
		if (!d)
			continue;
		if (const int err = d->ops->mr_open(*d, *m)) {
			close_on_wires(m);
			return err;
		}
	}
	return 0;
}

void forget(mr *m)
{
	for (const uint64_t id : m->files)
		domain_file_release(m->dom, id);
	m->files.clear();
}

int mr_close(fid *f) noexcept
{
	return guard([&] {
		mr *m = mr_of(f);
		scoped_lock lock(m->dom->mutex);
		close_on_wires(m);
		m->dom->regions.erase(m->key);
		// peers keep their mappings until they check again; the mappings keep the file alive
		forget(m);
		for (cntr_core *c : {m->rem_wr, m->rem_rd})
			if (c)
				c->users--;
		m->dom->users--;
		delete m;
		return 0;
	});
}

int mr_bind(fid *f, fid *b, uint64_t flags) noexcept
{
	return guard([&] {
		mr *m = mr_of(f);
		scoped_lock lock(m->dom->mutex);
		if (b->fclass == FI_CLASS_EP)
			return flags_check<flags_of::mr_bind_ep>(flags); // all endpoints of a domain share its regions
		if (b->fclass != FI_CLASS_CNTR || !flags)
			return -FI_EINVAL;
		if (const int err = flags_check<flags_of::mr_bind_cntr>(flags))
			return err;
		if (((flags & FI_REMOTE_WRITE) && m->rem_wr) || ((flags & FI_REMOTE_READ) && m->rem_rd))
			return -FI_EINVAL;
		auto *c = reinterpret_cast<cntr_core *>(reinterpret_cast<pgas_cntr *>(b)->core);
		if (const int err = cntr_need_remote(c))
			return err;
		if (flags & FI_REMOTE_WRITE)
			m->rem_wr = c, c->users++;
		if (flags & FI_REMOTE_READ)
			m->rem_rd = c, c->users++;
		if (m->open)
			show(m); // peers must check again to see the counter
		return 0;
	});
}

int mr_control(fid *f, int command, void *arg) noexcept
{
	return guard([&] {
		mr *m = mr_of(f);
		scoped_lock lock(m->dom->mutex);
		switch (command) {
		case FI_ENABLE:
			if (!m->open)
				show(m);
			return 0;
		case FI_GET_RAW_MR: {
			auto *a = static_cast<struct fi_mr_raw_attr *>(arg);
			if (const int err = flags_check<flags_of::mr_raw_attr>(a->flags))
				return err;
			if (a->base_addr)
				*a->base_addr = m->flags & kKeyVirtual ? m->base : 0;
			const size_t room = *a->key_size;
			*a->key_size = static_cast<size_t>(std::bit_width(m->dom->key_most)) / 8;
			if (room < *a->key_size)
				return -FI_ETOOSMALL;
			memcpy(a->raw_key, &m->key, *a->key_size);
			return 0;
		}
		default:
			return -FI_ENOSYS;
		}
	});
}

constinit fi_ops g_fid_ops = make_ops<fi_ops>([](fi_ops &ops) {
	ops.close = mr_close;
	ops.bind = mr_bind;
	ops.control = mr_control;
	refuse_calls(ops.ops_open, ops.tostr, ops.ops_set);
});

// Takes the wanted key, or with FI_MR_PROV_KEY the next free one. A key that was given back is used again as late as
// possible: a peer may still hold it.
int choose_key(domain *dom, uint64_t wanted, uint64_t &key)
{
	key = wanted;
	if (dom->mr_mode & FI_MR_PROV_KEY) {
		if (dom->regions.size() >= dom->key_most) {
			PGAS_WARN(FI_LOG_MR, "all %" PRIu64 " keys of domain_attr->mr_key_size are in use\n",
				  dom->key_most);
			return -FI_ENOSPC;
		}
		do {
			key = dom->next_key;
			dom->next_key = key < dom->key_most ? key + 1 : 1;
		} while (dom->regions.count(key));
	}
	if (key > dom->key_most) {
		PGAS_WARN(FI_LOG_MR, "key %" PRIu64 " is larger than domain_attr->mr_key_size allows, %" PRIu64 "\n",
			  key, dom->key_most);
		return -FI_EKEYREJECTED;
	}
	if (dom->regions.count(key)) {
		PGAS_WARN(FI_LOG_MR, "key %" PRIu64 " is registered already\n", key);
		return -FI_ENOKEY;
	}
	return 0;
}

int publish_region(domain *dom, std::unique_ptr<mr> m, uint64_t wanted_key, bool deferred, fid_mr **out)
{
	int err = choose_key(dom, wanted_key, m->key);
	if (!err)
		err = open_on_wires(m.get());
	if (err) {
		forget(m.get());
		return err;
	}
	dom->regions.emplace(m->key, m.get());
	m->fid.mem_desc = m.get();
	m->fid.key = m->key;
	if (!deferred)
		show(m.get());
	dom->users++;
	*out = &m.release()->fid;
	return 0;
}

std::unique_ptr<mr> make_region(domain *dom, uint64_t access, void *context)
{
	auto m = std::make_unique<mr>();
	m->fid.fid = {FI_CLASS_MR, context, &g_fid_ops};
	m->dom = dom;
	m->access = access;
	m->flags = dom->mr_mode & FI_MR_VIRT_ADDR ? kKeyVirtual : 0;
	return m;
}

// Host memory that a device interface allocated (FI_HMEM_HOST_ALLOC) is treated like any other host memory.
int set_kind(domain *dom, const fi_mr_attr &attr, uint64_t flags, mr &m)
{
	if (attr.iface == FI_HMEM_SYSTEM || (flags & FI_HMEM_HOST_ALLOC))
		return 0;
	devices::kind *k = nullptr;
	if (const int err = hmem_open(dom, attr, &k))
		return err;
	m.kind = k;
	m.device = hmem_ordinal(attr);
	m.flags |= kKeyDevice;
	return 0;
}

int reg_attr(fid *f, const fi_mr_attr *attr, uint64_t flags, fid_mr **out) noexcept
{
	return guard([&] {
		auto *dom = reinterpret_cast<domain *>(f);
		if (attr->iov_count == 0 || attr->iov_count > kMrIovLimit || !attr->mr_iov) {
			PGAS_WARN(FI_LOG_MR, "registration with %zu pieces, supported are 1 to %zu\n", attr->iov_count,
				  kMrIovLimit);
			return -FI_EINVAL;
		}
		if (attr->offset || (attr->access & ~kAccessBits)) {
			PGAS_WARN(FI_LOG_MR, "registration with unknown access bits or an offset\n");
			return -FI_EINVAL;
		}
		if (const int err = dom->caps & FI_HMEM ? flags_check<flags_of::mr_reg_hmem>(flags)
							: flags_check<flags_of::mr_reg>(flags))
			return err;
		if ((flags & FI_HMEM_HOST_ALLOC) && (flags & FI_HMEM_DEVICE_ONLY))
			return -FI_EINVAL;
		if (attr->iface != FI_HMEM_SYSTEM && !(dom->caps & FI_HMEM)) {
			PGAS_WARN(FI_LOG_MR, "registration of device memory in a domain without FI_HMEM\n");
			return -FI_ENOSYS;
		}
		scoped_lock lock(dom->mutex);
		auto m = make_region(dom, attr->access, attr->context);
		if (const int err = set_kind(dom, *attr, flags, *m))
			return err;
		const auto *iov = attr->mr_iov;
		m->base = reinterpret_cast<uintptr_t>(iov[0].iov_base);
		m->len = iov_total(iov, attr->iov_count);
		if (m->kind) {
			uint64_t off = 0;
			for (size_t i = 0; i < attr->iov_count; i++) {
				m->parts.push_back({off, iov[i].iov_len, reinterpret_cast<uintptr_t>(iov[i].iov_base),
						    0, -1, 0, 0});
				off += iov[i].iov_len;
			}
		} else if (attr->iov_count == 1 && (m->len > UINT64_MAX - m->base || m->len >= uint64_t{1} << 56)) {
			m->flags |= kKeyWhole; // "the whole address space", however the caller expresses it
			m->parts.push_back({0, m->len, m->base, 0, -1, 0, 0});
		} else {
			uint64_t off = 0;
			for (size_t i = 0; i < attr->iov_count; i++) {
				find_backing(dom, m.get(), reinterpret_cast<uintptr_t>(iov[i].iov_base), iov[i].iov_len,
					     off);
				off += iov[i].iov_len;
			}
		}
		const bool deferred = (flags & FI_RMA_EVENT) || (dom->mr_mode & FI_MR_ENDPOINT);
		return publish_region(dom, std::move(m), attr->requested_key, deferred, out);
	});
}

int reg_v(fid *f, const iovec *iov, size_t count, uint64_t access, uint64_t offset, uint64_t key, uint64_t flags,
	  fid_mr **out, void *context) noexcept
{
	fi_mr_attr attr{};
	attr.mr_iov = iov;
	attr.iov_count = count;
	attr.access = access;
	attr.offset = offset;
	attr.requested_key = key;
	attr.context = context;
	return reg_attr(f, &attr, flags, out);
}

int reg(fid *f, const void *buf, size_t len, uint64_t access, uint64_t offset, uint64_t key, uint64_t flags,
	fid_mr **out, void *context) noexcept
{
	const iovec iov{const_cast<void *>(buf), len};
	return reg_v(f, &iov, 1, access, offset, key, flags, out, context);
}

} // namespace

constinit fi_ops_mr g_mr_ops = make_ops<fi_ops_mr>([](fi_ops_mr &ops) {
	ops.reg = reg;
	ops.regv = reg_v;
	ops.regattr = reg_attr;
});

int mr_register_parts(domain *dom, void *base, size_t span, uint64_t access, uint64_t key, const fi_pgas_part *parts,
		      size_t count, fid_mr **out)
{
	const size_t page = page_bytes();
	scoped_lock lock(dom->mutex);
	auto m = make_region(dom, access, nullptr);
	m->base = reinterpret_cast<uintptr_t>(base);
	m->len = span;
	const bool laid_out = key == 0 && dom->layout.given();
	if (laid_out && m->base != dom->layout.base)
		return -FI_EINVAL;
	for (size_t i = 0; i < count; i++) {
		const fi_pgas_part &p = parts[i];
		uint64_t dev = 0, ino = 0, pos = m->base + p.off;
		const uint64_t id = file_id(p.fd, &dev, &ino);
		if (!id || p.off % page || p.len % page || p.fd_off % page || p.len > span || p.off > span - p.len ||
		    (laid_out && !dom->layout.to_address(p.off, p.len, pos))) {
			PGAS_WARN(FI_LOG_MR, "part %zu: not a file, not page aligned, or outside the region\n", i);
			forget(m.get());
			return -FI_EINVAL;
		}
		auto it = dom->files.find(id);
		if (it == dom->files.end()) {
			unique_fd own(fcntl(p.fd, F_DUPFD_CLOEXEC, 3));
			if (!own) {
				const int err = errno;
				forget(m.get());
				return -err;
			}
			it = dom->files.emplace(id, shared_file{std::move(own), 0}).first;
		}
		it->second.users++;
		m->files.push_back(id);
		m->parts.push_back({p.off, p.len, pos, p.fd_off, it->second.fd.get(), dev, ino});
	}
	return publish_region(dom, std::move(m), key, false, out);
}

int mr_register_gate(domain *dom, size_t len, uint64_t key, int (*serve)(void *, const void *, size_t), void *arg,
		     fid_mr **out)
{
	if (!len || len > FI_PGAS_GATE_BYTES || !key || !serve)
		return -FI_EINVAL; // key 0 is for windows
	scoped_lock lock(dom->mutex);
	auto m = make_region(dom, FI_REMOTE_WRITE, nullptr);
	m->behind_gate = std::make_unique<char[]>(len);
	m->flags = 0; // offsets, whatever addressing the domain uses
	m->base = reinterpret_cast<uintptr_t>(m->behind_gate.get());
	m->len = len;
	m->parts.push_back({0, len, m->base, 0, -1, 0, 0});
	m->serve = serve;
	m->serve_arg = arg;
	return publish_region(dom, std::move(m), key, false, out);
}

} // namespace pgas
