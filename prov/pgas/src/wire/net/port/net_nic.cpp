// SPDX-License-Identifier: BSD-3-Clause
//
// Networks as the system shows them, and fi_nic of an RDMA adapter.
#include "net_nic.hpp"

#include "support/pgas_nosys.hpp"

#include <rdma/fi_errno.h>

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

namespace pgas {
namespace {

struct nic_texts {
	std::string name, device_id, device_version, vendor_id, driver, firmware, address, network;
};

// The public structure and everything it points to, in one allocation.
struct nic {
	fid_nic front{};
	fi_device_attr device{};
	fi_bus_attr bus{};
	fi_link_attr link{};
	nic_texts texts;
};

nic *nic_of(fid *f)
{
	return reinterpret_cast<nic *>(f); // the first member
}
const nic *nic_of(const fid *f)
{
	return reinterpret_cast<const nic *>(f);
}

int nic_close(fid *f)
{
	delete nic_of(f);
	return 0;
}

char *text_or_null(std::string &s)
{
	return s.empty() ? nullptr : s.data();
}

void point(nic &n);

int nic_control(fid *f, int command, void *arg)
{
	if (command != FI_DUP)
		return -FI_ENOSYS;
	auto *copy = new (std::nothrow) nic(*nic_of(f));
	if (!copy)
		return -FI_ENOMEM;
	point(*copy);
	*static_cast<fid_nic **>(arg) = &copy->front;
	return 0;
}

const char *text_of(const std::string &s)
{
	return s.empty() ? "(null)" : s.c_str();
}

// Appends to the text, as fi_tostr() expects.
int nic_show(const fid *f, char *buf, size_t len)
{
	const nic &n = *nic_of(f);
	const nic_texts &t = n.texts;
	const size_t used = strnlen(buf, len);
	const fi_pci_attr &pci = n.bus.attr.pci;
	char item[40] = "(not on a PCI bus)";
	if (n.bus.bus_type == FI_BUS_PCI)
		snprintf(item, sizeof item, "%04x:%02x:%02x.%x", pci.domain_id, pci.bus_id, pci.device_id,
			 pci.function_id);
	snprintf(buf + used, len - used,
		 "    nic:\n        device: %s (vendor %s, device %s, version %s)\n        driver: %s, firmware: %s\n"
		 "        bus: %s\n        link: %s, %s, %zu bit/s, mtu %zu, %s\n",
		 text_of(t.name), text_of(t.vendor_id), text_of(t.device_id), text_of(t.device_version),
		 text_of(t.driver), text_of(t.firmware), item, text_of(t.network), text_of(t.address), n.link.speed,
		 n.link.mtu, n.link.state == FI_LINK_UP ? "up" : "down");
	return 0;
}

constinit fi_ops g_nic_ops = make_ops<fi_ops>([](fi_ops &ops) {
	ops.close = nic_close;
	ops.control = nic_control;
	ops.tostr = nic_show;
	refuse_calls(ops.bind, ops.ops_open, ops.ops_set);
});

void point(nic &n)
{
	nic_texts &t = n.texts;
	n.front.fid.fclass = FI_CLASS_NIC;
	n.front.fid.ops = &g_nic_ops;
	n.front.device_attr = &n.device;
	n.front.bus_attr = &n.bus;
	n.front.link_attr = &n.link;
	n.device.name = text_or_null(t.name);
	n.device.device_id = text_or_null(t.device_id);
	n.device.device_version = text_or_null(t.device_version);
	n.device.vendor_id = text_or_null(t.vendor_id);
	n.device.driver = text_or_null(t.driver);
	n.device.firmware = text_or_null(t.firmware);
	n.link.address = text_or_null(t.address);
	n.link.network_type = text_or_null(t.network);
}

// Returns the last part of a symbolic link's target; empty: not a link.
std::string target_of_link(const std::string &path)
{
	char dst[512];
	const ssize_t n = readlink(path.c_str(), dst, sizeof dst - 1);
	if (n <= 0)
		return "";
	dst[n] = 0;
	const char *slash = strrchr(dst, '/');
	return slash ? slash + 1 : dst;
}

// "100 Gb/sec (4X EDR)"
size_t bits_per_second(const std::string &rate)
{
	double giga = 0;
	return sscanf(rate.c_str(), "%lf Gb/sec", &giga) == 1 && giga > 0 && giga < 1e6
		       ? static_cast<size_t>(giga * 1e9)
		       : 0;
}

// Returns the MTU of the network interface of the adapter; 0: none.
size_t mtu_of(const std::string &device)
{
	for (const std::string &net : names_in(std::string(kAdapters) + "/" + device + "/device/net")) {
		size_t mtu = 0;
		if (sscanf(first_line("/sys/class/net/" + net + "/mtu").c_str(), "%zu", &mtu) == 1)
			return mtu;
	}
	return 0;
}

} // namespace

std::vector<std::string> names_in(const std::string &folder)
{
	std::vector<std::string> names;
	if (DIR *d = opendir(folder.c_str())) {
		while (const dirent *e = readdir(d))
			if (e->d_name[0] != '.')
				names.emplace_back(e->d_name);
		closedir(d);
	}
	return names;
}

std::string first_line(const std::string &file)
{
	char line[256] = "";
	if (FILE *f = fopen(file.c_str(), "re")) {
		if (!fgets(line, sizeof line, f))
			line[0] = 0;
		fclose(f);
	}
	line[strcspn(line, "\n")] = 0;
	return line;
}

fid_nic *nic_open(const std::string &device, const std::string &port)
{
	const std::string place = std::string(kAdapters) + "/" + device, there = place + "/ports/" + port;
	auto n = std::make_unique<nic>();
	nic_texts &t = n->texts;
	t.name = device;
	t.device_id = first_line(place + "/device/device");
	t.device_version = first_line(place + "/hw_rev");
	t.vendor_id = first_line(place + "/device/vendor");
	t.driver = target_of_link(place + "/device/driver");
	t.firmware = first_line(place + "/fw_ver");
	t.address = first_line(there + "/gids/0");
	t.network = first_line(there + "/link_layer");
	unsigned domain, bus, dev, function;
	if (sscanf(target_of_link(place + "/device").c_str(), "%x:%x:%x.%x", &domain, &bus, &dev, &function) == 4) {
		n->bus.bus_type = FI_BUS_PCI;
		fi_pci_attr &pci = n->bus.attr.pci;
		pci.domain_id = static_cast<uint16_t>(domain);
		pci.bus_id = static_cast<uint8_t>(bus);
		pci.device_id = static_cast<uint8_t>(dev);
		pci.function_id = static_cast<uint8_t>(function);
	}
	n->link.mtu = mtu_of(device);
	n->link.speed = bits_per_second(first_line(there + "/rate"));
	n->link.state = first_line(there + "/state").starts_with("4") ? FI_LINK_UP : FI_LINK_DOWN;
	point(*n);
	return &n.release()->front;
}

} // namespace pgas
