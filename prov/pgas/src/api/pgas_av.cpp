// SPDX-License-Identifier: BSD-3-Clause
//
// Address vectors. Both types return the index, which is the rank and the index into window[]. Inserting an address
// checks its form only; the peer is contacted at the first transfer, so peers may be inserted before they exist.
#include "engine/pgas_av.hpp"
#include "support/pgas_flags.hpp"
#include "support/pgas_api.hpp"
#include "engine/pgas_domain.hpp"
#include "support/pgas_nosys.hpp"
#include "engine/pgas_peer.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pgas {
namespace {

av *av_of(fid_av *f)
{
	return reinterpret_cast<av *>(f);
}

// Checks the flags of an insertion. With FI_AV_USER_ID the caller passes the identifiers in the array that receives the
// addresses.
int check_flags(const av *v, uint64_t flags, const fi_addr_t *out)
{
	if (const int err = flags_check<flags_of::av_insert>(flags))
		return err;
	// a vector opened with FI_AV_USER_ID takes them from fi_av_set_user_id only
	if ((flags & FI_AV_USER_ID) && (!out || (v->flags & FI_AV_USER_ID)))
		return -FI_EINVAL;
	if ((v->flags & FI_EVENT) && !v->bound_eq)
		return -FI_ENOEQ;
	return 0;
}

// *out receives the index; on entry it holds the identifier when flags have FI_AV_USER_ID. Without an identifier,
// completions report a source by its index, or, in a vector opened with FI_AV_USER_ID, as FI_ADDR_NOTAVAIL until it
// gets one.
int add(av *v, const ep_name &name, uint64_t flags, fi_addr_t *out)
{
	uint32_t pos;
	if (!v->holes.empty()) {
		pos = v->holes.back();
		v->holes.pop_back();
	} else {
		pos = static_cast<uint32_t>(v->entries.size());
		if (pos >= parameters().max_peers) {
			PGAS_WARN(FI_LOG_AV, "address vector is full (%u entries; see FI_PGAS_MAX_PEERS)\n", pos);
			return -FI_ENOMEM;
		}
		v->entries.emplace_back();
	}
	const fi_addr_t shown = flags & FI_AV_USER_ID ? *out : v->flags & FI_AV_USER_ID ? FI_ADDR_NOTAVAIL : pos;
	v->entries[pos] = {true, name, shown};
	v->by_name.emplace(name.text, pos);
	v->changes++;
	*out = pos;
	return 0;
}

// err: the error when there is no name to add, or 0. out may be NULL.
int insert_one(av *v, int err, const ep_name &name, uint64_t flags, fi_addr_t *out)
{
	fi_addr_t place = out ? *out : FI_ADDR_NOTAVAIL;
	if (!err)
		err = add(v, name, flags, &place);
	if (out)
		*out = err ? FI_ADDR_NOTAVAIL : place;
	return err;
}

// Collects the results of one insert call; reports them on return, or through the event queue.
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
			return eq_report(v->bound_eq, FI_AV_COMPLETE, &v->fid.fid, context,
					 static_cast<uint64_t>(good));
		return good == 0 && first_error == -FI_ENOMEM ? first_error : good;
	}
};

int insert(fid_av *f, const void *addr, size_t count, fi_addr_t *out, uint64_t flags, void *context) noexcept
{
	return guard([&] {
		av *v = av_of(f);
		scoped_lock lock(v->dom->mutex);
		if (const int err = check_flags(v, flags, out))
			return err;
		insertion result{v, flags, context};
		const char *p = static_cast<const char *>(addr);
		for (size_t i = 0; i < count; i++, p += v->dom->name_bytes) {
			ep_address parsed;
			ep_name name{};
			memcpy(name.text, p, v->dom->name_bytes);
			const int err = address_parse(name.text, parsed) && !parsed.any ? 0 : -FI_EINVAL;
			if (err)
				PGAS_WARN(FI_LOG_AV, "entry %zu is not an address of this provider\n", i);
			else
				name = address_format(parsed);
			result.add(i, insert_one(v, err, name, flags, out ? out + i : nullptr));
		}
		return result.answer();
	});
}

int insert_svc(fid_av *f, const char *node, const char *service, fi_addr_t *out, uint64_t flags, void *context) noexcept
{
	return guard([&] {
		av *v = av_of(f);
		scoped_lock lock(v->dom->mutex);
		if (!service)
			return -FI_EINVAL;
		if (const int err = check_flags(v, flags, out))
			return err;
		insertion result{v, flags, context};
		ep_name name{};
		const int err = resolve_node(node, service, 0, name);
		result.add(0, insert_one(v, err, name, flags, out));
		return result.answer();
	});
}

int insert_sym(fid_av *f, const char *node, size_t nodes, const char *service, size_t services, fi_addr_t *out,
	       uint64_t flags, void *context) noexcept
{
	return guard([&] {
		av *v = av_of(f);
		scoped_lock lock(v->dom->mutex);
		// all nodes of our wires are this host: nodes beyond the first cannot be reached
		char *end = nullptr;
		const unsigned long first = service ? strtoul(service, &end, 10) : 0;
		if (!service || *end)
			return -FI_EINVAL;
		if (const int err = check_flags(v, flags, out))
			return err;
		insertion result{v, flags, context};
		for (size_t n = 0; n < nodes; n++) {
			for (size_t s = 0; s < services; s++) {
				char text[24];
				snprintf(text, sizeof text, "%lu", first + s);
				ep_name name{};
				const size_t i = n * services + s;
				const int err = n ? -FI_EHOSTUNREACH : resolve_node(node, text, 0, name);
				result.add(i, insert_one(v, err, name, flags, out ? out + i : nullptr));
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
		if (const int err = flags_check<flags_of::av_remove>(flags))
			return err;
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
	*len = v->dom->name_bytes;
	memcpy(buf, v->entries[addr].name.text, std::min(room, *len));
	return 0;
}

// Messages that arrive from now on report it; entries already in a queue keep the old value.
int set_user_id(fid_av *f, fi_addr_t addr, fi_addr_t user_id, uint64_t flags) noexcept
{
	av *v = av_of(f);
	if (const int err = flags_check<flags_of::av_set_user_id>(flags))
		return err;
	scoped_lock lock(v->dom->mutex);
	if (!(v->flags & FI_AV_USER_ID) || addr >= v->entries.size() || !v->entries[addr].used)
		return -FI_EINVAL;
	v->entries[addr].user_id = user_id;
	return 0;
}

// Copies as much as there is room for, with a terminating zero; len becomes the size of the whole.
const char *straddr(fid_av *f, const void *addr, char *buf, size_t *len) noexcept
{
	guard([&] {
		ep_name name{};
		memcpy(name.text, addr, av_of(f)->dom->name_bytes);
		const std::string text = address_readable(name.text);
		if (buf && *len)
			snprintf(buf, *len, "%s", text.c_str());
		*len = text.size() + 1;
		return 0;
	});
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

int av_bind(fid *f, fid *b, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::av_bind>(flags))
		return err;
	av *v = reinterpret_cast<av *>(f);
	if (b->fclass != FI_CLASS_EQ || v->bound_eq)
		return -FI_EINVAL;
	v->bound_eq = reinterpret_cast<eq *>(b);
	v->bound_eq->users++;
	return 0;
}

constinit fi_ops g_fid_ops = make_ops<fi_ops>([](fi_ops &ops) {
	ops.close = av_close;
	ops.bind = av_bind;
	refuse_calls(ops.control, ops.ops_open, ops.tostr, ops.ops_set);
});

constinit api_av_ops g_av_ops = make_ops<api_av_ops>([](api_av_ops &ops) {
	ops.insert = insert;
	ops.insertsvc = insert_svc;
	ops.insertsym = insert_sym;
	ops.remove = remove;
	ops.lookup = lookup;
	ops.straddr = straddr;
	ops.set_user_id = set_user_id;
	refuse_calls(ops.av_set, ops.insert_auth_key, ops.lookup_auth_key);
});

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
			if (const int err = flags_check<flags_of::av_open>(attr->flags))
				return err;
			if (attr->rx_ctx_bits)
				return -FI_ENOSYS;
			attr->type = v->type;
			v->flags = attr->flags;
			v->entries.reserve(attr->count < 65536 ? attr->count : 65536);
		}
		v->fid.fid = {FI_CLASS_AV, context, &g_fid_ops};
		v->fid.ops = reinterpret_cast<fi_ops_av *>(&g_av_ops);
		v->dom->users++;
		*out = &v.release()->fid;
		return 0;
	});
}

} // namespace pgas
