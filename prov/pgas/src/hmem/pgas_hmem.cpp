// SPDX-License-Identifier: BSD-3-Clause
#include "pgas_hmem.hpp"
#include "engine/pgas_domain.hpp"
#include "support/pgas_libfabric.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include <devices/devices_kind.hpp>
#include <pgas/pgas_base.hpp>

namespace pgas {
namespace {

// --- drivers ---------------------------------------------------------------------------------------------------------

// The kinds of devices/ that libfabric knows.
struct known_kind {
	fi_hmem_iface interface;
	const char *word; // libfabric's
	const char *kind; // of devices/
	bool numbered;    // fi_mr_attr::device has the number of the device
};
constexpr known_kind kKinds[] = {
	{FI_HMEM_CUDA, "cuda", "cuda", true},
	{FI_HMEM_ROCR, "rocr", "hip", false},
	{FI_HMEM_ZE, "ze", "ze", true},
};
static_assert(std::size(kKinds) <= 8 * sizeof domain::hmem_used);

// A driver is opened once per process, however many domains use it.
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
uint32_t g_users[std::size(kKinds)];

bool is_used(const domain &dom, size_t kind)
{
	return dom.hmem_used >> kind & 1;
}

// Null: libfabric does not know it, or we do not.
const known_kind *find_interface(fi_hmem_iface interface)
{
	const auto *k = std::ranges::find(kKinds, interface, &known_kind::interface);
	return k == std::end(kKinds) ? nullptr : k;
}

std::string words_of_all()
{
	std::string all;
	for (const known_kind &k : kKinds)
		all += (all.empty() ? "" : ", ") + std::string(k.word);
	return all;
}

int open_driver(domain *dom, fi_hmem_iface interface, int ordinal, devices::kind **out)
{
	const known_kind *known = find_interface(interface);
	devices::kind *k = known ? devices::find_kind(known->kind) : nullptr;
	if (!k) {
		PGAS_WARN(FI_LOG_MR, "registration: memory interface %d is not one of %s\n",
			  static_cast<int>(interface), words_of_all().c_str());
		return -FI_ENOSYS;
	}
	const auto i = static_cast<size_t>(known - kKinds);
	if (!is_used(*dom, i)) {
		const mutex_holder lock(g_mutex);
		char why[256] = "";
		if (!g_users[i] && k->open(ordinal, why, sizeof why) != 0) {
			PGAS_WARN(FI_LOG_MR, "registration: %s: %s\n", known->kind, why);
			return -FI_ENOSYS;
		}
		g_users[i]++;
		dom->hmem_used |= 1u << i;
	}
	*out = k;
	return 0;
}

} // namespace

bool hmem_possible()
{
	static const bool possible = std::ranges::any_of(
		kKinds, [](const known_kind &k) { return devices::find_kind(k.kind)->has_driver(); });
	return possible;
}

bool hmem_has_cuda()
{
	static const bool possible = devices::find_kind("cuda")->has_driver();
	return possible;
}

int hmem_ordinal(const fi_mr_attr &attr)
{
	const known_kind *k = find_interface(attr.iface);
	return k && k->numbered ? attr.device.cuda : 0; // a union: the numbers of other interfaces lie there, too
}

fi_hmem_iface hmem_interface(const devices::kind &k)
{
	for (const known_kind &known : kKinds)
		if (strcmp(known.kind, k.name()) == 0)
			return known.interface;
	return FI_HMEM_SYSTEM;
}

int hmem_open(domain *dom, const fi_mr_attr &attr, devices::kind **out)
{
	const int ordinal = hmem_ordinal(attr);
	devices::kind *k = nullptr;
	if (const int err = open_driver(dom, attr.iface, ordinal, &k))
		return err;
	for (size_t i = 0; i < attr.iov_count; i++) {
		const iovec &piece = attr.mr_iov[i];
		if (!hmem_owns(*k, piece.iov_base, piece.iov_len)) {
			PGAS_WARN(FI_LOG_MR, "registration: piece %zu, %zu bytes at %p, is not device memory of %s\n",
				  i, piece.iov_len, piece.iov_base, k->name());
			return -FI_EINVAL;
		}
		const int device = piece.iov_len ? k->device_of(piece.iov_base) : -1;
		if (device >= 0 && device != ordinal) {
			PGAS_WARN(FI_LOG_MR, "registration: piece %zu is memory of %s device %d, not %d\n", i,
				  k->name(), device, ordinal);
			return -FI_EINVAL;
		}
	}
	*out = k;
	return 0;
}

void hmem_close(domain *dom)
{
	for (size_t i = 0; i < std::size(kKinds); i++) {
		if (!is_used(*dom, i))
			continue;
		const mutex_holder lock(g_mutex);
		if (--g_users[i] == 0)
			devices::find_kind(kKinds[i].kind)->close();
	}
}

bool hmem_owns(const devices::kind &k, const void *addr, size_t len)
{
	return !len || (k.owns(addr) && k.owns(static_cast<const char *>(addr) + len - 1));
}

devices::kind *hmem_kind_of(const domain *dom, const void *addr, size_t len)
{
	for (size_t i = 0; i < std::size(kKinds) && len; i++)
		if (is_used(*dom, i))
			if (devices::kind *k = devices::find_kind(kKinds[i].kind); hmem_owns(*k, addr, len))
				return k;
	return nullptr;
}

// --- copies ----------------------------------------------------------------------------------------------------------

namespace {

// Both directions: between host memory [pos, pos + len) and a list of device memory. Memory that was freed while
// registered must be reported: the driver would treat its address as host memory and crash us.
int move(devices::kind &k, const iovec *list, size_t count, char *pos, size_t len, bool load)
{
	std::vector<devices::piece> pieces;
	for (size_t i = 0; i < count && len; i++) {
		const size_t n = std::min(list[i].iov_len, len);
		if (!hmem_owns(k, list[i].iov_base, n)) {
			PGAS_WARN(FI_LOG_MR, "%s device memory: %s: it was freed while it was registered\n",
				  load ? "reading" : "writing", k.name());
			return -FI_EFAULT;
		}
		if (n && load)
			pieces.push_back({pos, list[i].iov_base, n});
		else if (n)
			pieces.push_back({list[i].iov_base, pos, n});
		pos += n;
		len -= n;
	}
	if (pieces.empty() || (k.copy(pieces.data(), pieces.size()) == 0 && k.finish() == 0))
		return 0;
	PGAS_WARN(FI_LOG_MR, "%s device memory: %s: %s\n", load ? "reading" : "writing", k.name(), k.last_error());
	return -FI_EIO;
}

} // namespace

int hmem_load(devices::kind &k, const iovec *src, size_t count, void *dst, size_t len)
{
	return move(k, src, count, static_cast<char *>(dst), len, true);
}

int hmem_store(devices::kind &k, const iovec *dst, size_t count, const void *src, size_t len)
{
	return move(k, dst, count, const_cast<char *>(static_cast<const char *>(src)), len, false);
}

// --- buffers of the caller -------------------------------------------------------------------------------------------

namespace {

bool is_within(const mr &m, const iovec &v)
{
	const auto addr = reinterpret_cast<uintptr_t>(v.iov_base);
	return std::any_of(m.parts.begin(), m.parts.end(), [&](const mem_part &p) {
		return addr >= p.va && addr - p.va <= p.len && v.iov_len <= p.len - (addr - p.va);
	});
}

} // namespace

int hmem_describe(const iovec *iov, void *const *desc, size_t count, hmem_list &out)
{
	out.any = false;
	out.count = count;
	for (size_t i = 0; i < count; i++) {
		const auto *m = desc ? static_cast<const mr *>(desc[i]) : nullptr;
		out.iov[i] = iov[i];
		out.kinds[i] = m && iov[i].iov_len ? m->kind : nullptr;
		out.numbers[i] = out.kinds[i] ? m->device : 0;
		if (!out.kinds[i])
			continue;
		if (!is_within(*m, iov[i])) {
			PGAS_WARN(FI_LOG_EP_DATA,
				  "a buffer of device memory reaches beyond the region of its descriptor\n");
			return -FI_EINVAL;
		}
		out.any = true;
	}
	return 0;
}

int hmem_gather(const hmem_list &src, char *dst, size_t len)
{
	for (size_t i = 0; i < src.count && len; i++) {
		const size_t n = std::min(src.iov[i].iov_len, len);
		if (!src.kinds[i])
			memcpy(dst, src.iov[i].iov_base, n);
		else if (const int err = hmem_load(*src.kinds[i], &src.iov[i], 1, dst, n))
			return err;
		dst += n;
		len -= n;
	}
	return 0;
}

int hmem_scatter(const hmem_list &dst, const char *src, size_t len)
{
	for (size_t i = 0; i < dst.count && len; i++) {
		const size_t n = std::min(dst.iov[i].iov_len, len);
		if (!dst.kinds[i])
			memcpy(dst.iov[i].iov_base, src, n);
		else if (const int err = hmem_store(*dst.kinds[i], &dst.iov[i], 1, src, n))
			return err;
		src += n;
		len -= n;
	}
	return 0;
}

int hmem_land(const hmem_state &s)
{
	return hmem_scatter(s.buffers, s.bytes, s.len);
}

void hmem_state_delete::operator()(hmem_state *s) const noexcept
{
	std::unique_ptr<hmem_state>{s}.reset();
}

void hmem_land(rx_entry *parent, completion &c)
{
	const std::unique_ptr<rx_landing> l(static_cast<rx_landing *>(parent));
	c.buf = l->list.count ? l->list.iov[0].iov_base : nullptr;
	if (const int err = hmem_scatter(l->list, l->bytes.data(), std::min(c.len, l->bytes.size())); err && !c.err) {
		c.err = -err;
		c.len = 0;
	}
}

} // namespace pgas
