// SPDX-License-Identifier: BSD-3-Clause
//
// fi_info without libfabric: copying and freeing. Everything is allocated with malloc(), as in libfabric, so that each
// can free what the other allocated. Structures grow at their ends between versions of libfabric; zeroed room after
// each one is what a newer libfabric reads there.
#include "pgas_libfabric.hpp"

#include <cstdlib>
#include <cstring>

namespace pgas {
namespace {

constexpr size_t kRoomToGrow = 256;

// In hints the caller sets these sizes. If one part fails, the whole copy fails.
template <class T>
bool copy_bytes(T *&dst, const T *src, size_t bytes)
{
	dst = nullptr;
	if (!src || !bytes)
		return true;
	void *copy = malloc(bytes);
	if (!copy)
		return false;
	memcpy(copy, src, bytes);
	dst = static_cast<T *>(copy);
	return true;
}

bool copy_text(char *&dst, const char *src)
{
	return copy_bytes<char>(dst, const_cast<char *>(src), src ? strlen(src) + 1 : 0);
}

template <class T>
T *make(const T *src)
{
	auto *made = static_cast<T *>(calloc(1, sizeof(T) + kRoomToGrow));
	if (made && src)
		memcpy(made, src, sizeof(T));
	return made;
}

// Pointers in the copy are the original's until they are replaced; those not replaced must not be freed with the copy.
bool copy_endpoint(fi_ep_attr &dest, const fi_ep_attr &source)
{
	return copy_bytes(dest.auth_key, source.auth_key, source.auth_key_size);
}

bool copy_domain(fi_domain_attr &dest, const fi_domain_attr &source)
{
	dest.name = nullptr;
	return copy_bytes(dest.auth_key, source.auth_key, source.auth_key_size) && copy_text(dest.name, source.name);
}

bool copy_fabric(fi_fabric_attr &dest, const fi_fabric_attr &source)
{
	dest.prov_name = nullptr;
	return copy_text(dest.name, source.name) && copy_text(dest.prov_name, source.prov_name);
}

bool copy_nic(fid_nic *&dst, fid_nic *src)
{
	return !src || src->fid.ops->control(&src->fid, FI_DUP, &dst) == 0;
}

bool copy_parts(fi_info &dest, const fi_info &source)
{
	if (!copy_bytes(dest.src_addr, source.src_addr, source.src_addrlen) ||
	    !copy_bytes(dest.dest_addr, source.dest_addr, source.dest_addrlen))
		return false;
	if (source.tx_attr && !(dest.tx_attr = make(source.tx_attr)))
		return false;
	if (source.rx_attr && !(dest.rx_attr = make(source.rx_attr)))
		return false;
	if (source.ep_attr &&
	    (!(dest.ep_attr = make(source.ep_attr)) || !copy_endpoint(*dest.ep_attr, *source.ep_attr)))
		return false;
	if (source.domain_attr &&
	    (!(dest.domain_attr = make(source.domain_attr)) || !copy_domain(*dest.domain_attr, *source.domain_attr)))
		return false;
	if (source.fabric_attr &&
	    (!(dest.fabric_attr = make(source.fabric_attr)) || !copy_fabric(*dest.fabric_attr, *source.fabric_attr)))
		return false;
	return copy_nic(dest.nic, source.nic);
}

bool add_empty_parts(fi_info &dest)
{
	dest.tx_attr = make<fi_tx_attr>(nullptr);
	dest.rx_attr = make<fi_rx_attr>(nullptr);
	dest.ep_attr = make<fi_ep_attr>(nullptr);
	dest.domain_attr = make<fi_domain_attr>(nullptr);
	dest.fabric_attr = make<fi_fabric_attr>(nullptr);
	return dest.tx_attr && dest.rx_attr && dest.ep_attr && dest.domain_attr && dest.fabric_attr;
}

void forget_parts(fi_info &i)
{
	i.next = nullptr;
	i.src_addr = i.dest_addr = nullptr;
	i.tx_attr = nullptr;
	i.rx_attr = nullptr;
	i.ep_attr = nullptr;
	i.domain_attr = nullptr;
	i.fabric_attr = nullptr;
	i.nic = nullptr;
}

void free_one(fi_info *i)
{
	free(i->src_addr);
	free(i->dest_addr);
	free(i->tx_attr);
	free(i->rx_attr);
	if (i->ep_attr)
		free(i->ep_attr->auth_key);
	free(i->ep_attr);
	if (i->domain_attr) {
		free(i->domain_attr->auth_key);
		free(i->domain_attr->name);
	}
	free(i->domain_attr);
	if (i->fabric_attr) {
		free(i->fabric_attr->name);
		free(i->fabric_attr->prov_name);
	}
	free(i->fabric_attr);
	if (i->nic)
		i->nic->fid.ops->close(&i->nic->fid);
	free(i);
}

} // namespace

fi_info *own_info_dup(const fi_info *info)
{
	fi_info *copy = make(info);
	if (!copy)
		return nullptr;
	forget_parts(*copy);
	if (info ? copy_parts(*copy, *info) : add_empty_parts(*copy))
		return copy;
	own_info_free(copy);
	return nullptr;
}

void own_info_free(fi_info *info)
{
	while (info) {
		fi_info *next = info->next;
		free_one(info);
		info = next;
	}
}

} // namespace pgas
