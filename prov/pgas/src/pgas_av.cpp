// SPDX-License-Identifier: BSD-3-Clause
//
// Address vectors. Both types hand out the index: it is the rank, and what window[] is indexed by. Inserting an address
// checks its form only; the peer is contacted at the first transfer, so peers may be inserted before they exist.
#include "pgas.hpp"
#include "pgas_nosys.hpp"
#include "pgas_resolve.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pgas {
namespace {

av *av_of(fid_av *f)
{
	return reinterpret_cast<av *>(f);
}

int add(av *v, const ep_name &name, fi_addr_t *out)
{
	uint32_t at;
	if (!v->holes.empty()) {
		at = v->holes.back();
		v->holes.pop_back();
	} else {
		at = static_cast<uint32_t>(v->entries.size());
		if (at >= parameters().max_peers) {
			PGAS_WARN(FI_LOG_AV, "address vector is full (%u entries; see FI_PGAS_MAX_PEERS)\n", at);
			return -FI_ENOMEM;
		}
		v->entries.emplace_back();
	}
	v->entries[at] = {true, name, FI_ADDR_NOTAVAIL};
	v->by_name.emplace(name.text, at);
	v->changes++;
	if (out)
		*out = at;
	return 0;
}

// What one insert call found out about its addresses; told now, or through the event queue.
struct insertion {
	av *v;
	uint64_t flags;
	void *context;
	int good = 0, first_error = 0;

	void add(size_t i, int err)
	{
		if ((flags & FI_SYNC_ERR) && context && !(v->flags & FI_EVENT))
			static_cast<int *>(context)[i] = -err;
		if (err && (v->flags & FI_EVENT))
			eq_report_error(v->bound_eq, &v->fid.fid, context, i, -err);
		if (err && !first_error)
			first_error = err;
		good += !err;
	}
	int answer()
	{
		if (v->flags & FI_EVENT)
			return eq_report(v->bound_eq, FI_AV_COMPLETE, &v->fid.fid, context, static_cast<uint64_t>(good));
		return good == 0 && first_error == -FI_ENOMEM ? first_error : good;
	}
};

int insert(fid_av *f, const void *addr, size_t count, fi_addr_t *out, uint64_t flags, void *context) noexcept
{
	return guard([&] {
		av *v = av_of(f);
		scoped_lock lock(v->dom->mutex);
		if (flags & ~(FI_MORE | FI_SYNC_ERR | FI_AV_USER_ID))
			return -FI_EBADFLAGS;
		const bool user_ids = flags & FI_AV_USER_ID;
		if (user_ids && !out)
			return -FI_EINVAL;
		if ((v->flags & FI_EVENT) && !v->bound_eq)
			return -FI_ENOEQ;
		insertion result{v, flags, context};
		const char *p = static_cast<const char *>(addr);
		for (size_t i = 0; i < count; i++, p += kNameBytes) {
			const fi_addr_t user_id = user_ids ? out[i] : FI_ADDR_NOTAVAIL;
			ep_address parsed;
			ep_name name{};
			memcpy(name.text, p, sizeof name.text);
			int err = address_parse(name.text, parsed) && !parsed.any ? 0 : -FI_EINVAL;
			fi_addr_t at = FI_ADDR_NOTAVAIL;
			if (err)
				PGAS_WARN(FI_LOG_AV, "entry %zu is not an address of this provider\n", i);
			else
				err = add(v, address_format(parsed), &at);
			if (!err && user_ids)
				v->entries[at].user_id = user_id;
			if (out)
				out[i] = at;
			result.add(i, err);
		}
		return result.answer();
	});
}

int insert_svc(fid_av *f, const char *node, const char *service, fi_addr_t *out, uint64_t flags, void *context) noexcept
{
	return guard([&] {
		av *v = av_of(f);
		scoped_lock lock(v->dom->mutex);
		if (!service || (flags & ~(FI_MORE | FI_SYNC_ERR)))
			return -FI_EINVAL;
		if ((v->flags & FI_EVENT) && !v->bound_eq)
			return -FI_ENOEQ;
		insertion result{v, flags, context};
		ep_name name;
		fi_addr_t at = FI_ADDR_NOTAVAIL;
		int err = resolve_node(node, service, 0, name);
		if (!err)
			err = add(v, name, &at);
		if (out)
			*out = at;
		result.add(0, err);
		return result.answer();
	});
}

int insert_sym(fid_av *f, const char *node, size_t nodes, const char *service, size_t services, fi_addr_t *out,
	       uint64_t flags, void *context) noexcept
{
	return guard([&] {
		av *v = av_of(f);
		scoped_lock lock(v->dom->mutex);
		// all nodes of our wire are this host: nodes beyond the first cannot be reached
		char *end = nullptr;
		const unsigned long first = service ? strtoul(service, &end, 10) : 0;
		if (!service || *end || (flags & ~(FI_MORE | FI_SYNC_ERR)))
			return -FI_EINVAL;
		if ((v->flags & FI_EVENT) && !v->bound_eq)
			return -FI_ENOEQ;
		insertion result{v, flags, context};
		for (size_t n = 0; n < nodes; n++) {
			for (size_t s = 0; s < services; s++) {
				char text[24];
				snprintf(text, sizeof text, "%lu", first + s);
				ep_name name;
				fi_addr_t at = FI_ADDR_NOTAVAIL;
				int err = n ? -FI_EHOSTUNREACH : resolve_node(node, text, 0, name);
				if (!err)
					err = add(v, name, &at);
				if (out)
					out[n * services + s] = at;
				result.add(n * services + s, err);
			}
		}
		return result.answer();
	});
}

int remove(fid_av *f, fi_addr_t *addrs, size_t count, uint64_t flags) noexcept
{
	return guard([&] {
		av *v = av_of(f);
		scoped_lock lock(v->dom->mutex);
		if (flags)
			return -FI_EINVAL;
		int err = 0;
		for (size_t i = 0; i < count; i++) {
			const fi_addr_t a = addrs[i];
			if (a >= v->entries.size() || !v->entries[a].used) {
				err = -FI_EINVAL;
				continue;
			}
			for (ep_core *ep : v->eps)
				peer_forget(ep, a);
			const auto [first, last] = v->by_name.equal_range(v->entries[a].name.text);
			for (auto it = first; it != last; ++it) {
				if (it->second == a) {
					v->by_name.erase(it);
					break;
				}
			}
			v->entries[a].used = false;
			v->holes.push_back(static_cast<uint32_t>(a));
			v->changes++;
		}
		return err;
	});
}

int lookup(fid_av *f, fi_addr_t addr, void *buf, size_t *len) noexcept
{
	av *v = av_of(f);
	scoped_lock lock(v->dom->mutex);
	if (addr >= v->entries.size() || !v->entries[addr].used)
		return -FI_EINVAL;
	const size_t room = *len;
	*len = kNameBytes;
	memcpy(buf, v->entries[addr].name.text, room < kNameBytes ? room : kNameBytes);
	return 0;
}

const char *straddr(fid_av *, const void *addr, char *buf, size_t *len) noexcept
{
	const auto *text = static_cast<const char *>(addr);
	const size_t need = strnlen(text, kNameBytes - 1) + 1;
	if (buf && *len) {
		const size_t n = need < *len ? need : *len;
		memcpy(buf, text, n - 1);
		buf[n - 1] = 0;
	}
	*len = need;
	return buf;
}

int av_close(fid *f) noexcept
{
	return guard([&] {
		av *v = reinterpret_cast<av *>(f);
		if (v->users.load())
			return -FI_EBUSY;
		if (v->bound_eq)
			v->bound_eq->users--;
		v->dom->users--;
		delete v;
		return 0;
	});
}

int av_bind(fid *f, fid *b, uint64_t) noexcept
{
	av *v = reinterpret_cast<av *>(f);
	if (b->fclass != FI_CLASS_EQ || v->bound_eq)
		return -FI_EINVAL;
	v->bound_eq = reinterpret_cast<eq *>(b);
	v->bound_eq->users++;
	return 0;
}

fi_ops g_fid_ops = {
	.size = sizeof(fi_ops),
	.close = av_close,
	.bind = av_bind,
	PGAS_NOSYS(fi_ops, control),
	PGAS_NOSYS(fi_ops, ops_open),
	PGAS_NOSYS(fi_ops, tostr),
	PGAS_NOSYS(fi_ops, ops_set),
};

fi_ops_av g_av_ops = {
	.size = sizeof(fi_ops_av),
	.insert = insert,
	.insertsvc = insert_svc,
	.insertsym = insert_sym,
	.remove = remove,
	.lookup = lookup,
	.straddr = straddr,
	PGAS_NOSYS(fi_ops_av, av_set),
};

} // namespace

int av_open(fid_domain *d, fi_av_attr *attr, fid_av **out, void *context) noexcept
{
	return guard([&] {
		auto v = std::make_unique<av>();
		v->dom = reinterpret_cast<domain *>(d);
		v->type = attr && attr->type == FI_AV_MAP ? FI_AV_MAP : FI_AV_TABLE;
		if (attr) {
			if (attr->name) {
				PGAS_WARN(FI_LOG_AV, "shared (named) address vectors are not supported\n");
				return -FI_ENOSYS;
			}
			if (attr->flags & ~(FI_EVENT | FI_SYMMETRIC | FI_AV_USER_ID))
				return -FI_ENOSYS;
			if (attr->rx_ctx_bits)
				return -FI_ENOSYS;
			attr->type = v->type;
			v->flags = attr->flags;
			v->entries.reserve(attr->count < 65536 ? attr->count : 65536);
		}
		v->fid.fid = {FI_CLASS_AV, context, &g_fid_ops};
		v->fid.ops = &g_av_ops;
		v->dom->users++;
		*out = &v.release()->fid;
		return 0;
	});
}

} // namespace pgas
