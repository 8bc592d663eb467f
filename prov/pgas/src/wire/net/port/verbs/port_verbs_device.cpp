// SPDX-License-Identifier: BSD-3-Clause
//
// Which adapter the port uses: one with an active port and an IP address, because librdmacm finds peers that way.
#include "wire/net/port/port_interface.hpp"
#include "wire/net/port/net_nic.hpp"
#include "port_verbs.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <cstdlib>
#include <cstring>

namespace pgas {
namespace {

// These have providers of their own, which serve them better, or do not support reliable connections.
bool better_by_others(const char *device)
{
	for (const char *prefix : {"hfi1_", "opa", "efa_", "rdmap"})
		if (strncmp(device, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

// As the system shows it: "4: ACTIVE".
bool active(const std::string &device, const std::string &port)
{
	return atoi(first_line(kAdapters + ("/" + device) + "/ports/" + port + "/state").c_str()) == IBV_PORT_ACTIVE;
}

bool wanted_is(const std::string &wanted, const std::string &device, const std::string &port)
{
	return wanted.empty() ? !better_by_others(device.c_str()) : wanted == device || wanted == device + ":" + port;
}

std::string none_found(const std::string &wanted)
{
	return "no RDMA adapter with an active port and an IP address" +
	       (wanted.empty() ? std::string() : " is " + wanted) + " (ibv_devinfo shows the adapters)";
}

// Finds the adapter that has one of our addresses; false: none.
bool adapter_of(const verbs_api &api, rdma_event_channel *events, const ifaddrs &i, verbs_device &out)
{
	rdma_cm_id *id = nullptr;
	if (api.rdma_create_id(events, &id, nullptr, RDMA_PS_TCP) != 0)
		return false;
	memcpy(&out.address, i.ifa_addr, i.ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
	const bool found = api.rdma_bind_addr(id, reinterpret_cast<sockaddr *>(&out.address)) == 0 && id->verbs;
	if (found) {
		out.name = api.ibv_get_device_name(id->verbs->device);
		out.port = id->port_num;
	}
	api.rdma_destroy_id(id);
	return found;
}

} // namespace

bool verbs_choose(const verbs_api &api, const std::string &wanted, verbs_device &out, std::string &why)
{
	why = none_found(wanted);
	ifaddrs *list = nullptr;
	rdma_event_channel *events = api.rdma_create_event_channel();
	if (!events) {
		why += std::string("; librdmacm: ") + strerror(errno);
		return false;
	}
	int best = -1;
	if (getifaddrs(&list) == 0) {
		for (const ifaddrs *i = list; i; i = i->ifa_next) {
			verbs_device d;
			if (!may_be_reached(*i) || !adapter_of(api, events, *i, d))
				continue;
			const std::string number = std::to_string(d.port);
			const int rank = d.address.ss_family == AF_INET6;
			if (!wanted_is(wanted, d.name, number) || !active(d.name, number) ||
			    (best >= 0 && rank >= best))
				continue;
			best = rank;
			out = d;
		}
		freeifaddrs(list);
	}
	api.rdma_destroy_event_channel(events);
	return best >= 0;
}

ibv_context *verbs_open_device(const verbs_api &api, const char *name)
{
	int count = 0;
	ibv_device **list = api.ibv_get_device_list(&count);
	ibv_context *opened = nullptr;
	for (int i = 0; list && i < count && !opened; i++)
		if (strcmp(api.ibv_get_device_name(list[i]), name) == 0)
			opened = api.ibv_open_device(list[i]);
	if (list)
		api.ibv_free_device_list(list);
	return opened;
}

// Asks the system and loads the libraries, but opens no device: a process that only checks, and then forks, must not
// leave its children half-open libraries.
bool verbs_usable(const std::string &wanted, std::string &why, fid_nic **nic)
{
	const std::string all = kAdapters;
	for (const std::string &device : names_in(all)) {
		for (const std::string &port : names_in(all + "/" + device + "/ports")) {
			if (!wanted_is(wanted, device, port) || !active(device, port))
				continue;
			const bool loaded = verbs_load(why) != nullptr;
			if (loaded && nic)
				*nic = nic_open(device, port);
			return loaded;
		}
	}
	why = none_found(wanted);
	return false;
}

} // namespace pgas
