// SPDX-License-Identifier: BSD-3-Clause
//
// fi_info without libfabric: copies and their end. Made of malloc() throughout, as libfabric's are, so that either may
// free what the other has made. Structures grow at their ends from one libfabric to the next; room behind each, all
// zero, is what a newer one finds there.
#include "pgas_libfabric.hpp"

#include <cstdlib>
#include <cstring>

namespace pgas {
namespace {

constexpr size_t kRoomToGrow = 256;

// In hints these sizes are the caller's. A failed part ends the whole copy.
template <class T>
bool copy_bytes(T *&to, const T *from, size_t bytes)
{
	to = nullptr;
	if (!from || !bytes)
		return true;
	void *copy = malloc(bytes);
	if (!copy)
		return false;
	memcpy(copy, from, bytes);
	to = static_cast<T *>(copy);
	return true;
}

bool copy_text(char *&to, const char *from)
{
	return copy_bytes<char>(to, const_cast<char *>(from), from ? strlen(from) + 1 : 0);
}

template <class T>
T *make(const T *from)
{
	auto *made = static_cast<T *>(calloc(1, sizeof(T) + kRoomToGrow));
	if (made && from)
		memcpy(made, from, sizeof(T));
	return made;
}

// Pointers of the copy are the original's until they are replaced; what is not must not be freed with it.
bool copy_endpoint(fi_ep_attr &to, const fi_ep_attr &from)
{
	return copy_bytes(to.auth_key, from.auth_key, from.auth_key_size);
}

bool copy_domain(fi_domain_attr &to, const fi_domain_attr &from)
{
	to.name = nullptr;
	return copy_bytes(to.auth_key, from.auth_key, from.auth_key_size) && copy_text(to.name, from.name);
}

bool copy_fabric(fi_fabric_attr &to, const fi_fabric_attr &from)
{
	to.prov_name = nullptr;
	return copy_text(to.name, from.name) && copy_text(to.prov_name, from.prov_name);
}

bool copy_nic(fid_nic *&to, fid_nic *from)
{
	return !from || from->fid.ops->control(&from->fid, FI_DUP, &to) == 0;
}

bool copy_parts(fi_info &to, const fi_info &from)
{
	if (!copy_bytes(to.src_addr, from.src_addr, from.src_addrlen) ||
	    !copy_bytes(to.dest_addr, from.dest_addr, from.dest_addrlen))
		return false;
	if (from.tx_attr && !(to.tx_attr = make(from.tx_attr)))
		return false;
	if (from.rx_attr && !(to.rx_attr = make(from.rx_attr)))
		return false;
	if (from.ep_attr && (!(to.ep_attr = make(from.ep_attr)) || !copy_endpoint(*to.ep_attr, *from.ep_attr)))
		return false;
	if (from.domain_attr &&
	    (!(to.domain_attr = make(from.domain_attr)) || !copy_domain(*to.domain_attr, *from.domain_attr)))
		return false;
	if (from.fabric_attr &&
	    (!(to.fabric_attr = make(from.fabric_attr)) || !copy_fabric(*to.fabric_attr, *from.fabric_attr)))
		return false;
	return copy_nic(to.nic, from.nic);
}

bool add_empty_parts(fi_info &to)
{
	to.tx_attr = make<fi_tx_attr>(nullptr);
	to.rx_attr = make<fi_rx_attr>(nullptr);
	to.ep_attr = make<fi_ep_attr>(nullptr);
	to.domain_attr = make<fi_domain_attr>(nullptr);
	to.fabric_attr = make<fi_fabric_attr>(nullptr);
	return to.tx_attr && to.rx_attr && to.ep_attr && to.domain_attr && to.fabric_attr;
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
