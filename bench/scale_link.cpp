// SPDX-License-Identifier: BSD-3-Clause
//
// The cost of a connected peer on another host: with the network provider alone, and with this library's link over it.
// One process has an endpoint, a second one has as many as there are peers, each with a domain of its own, as if it
// were a process on another host. Each sends its name and receives a reply. Everything goes over the loopback
// interface.
#include "scale.hpp"

#include <dirent.h>
#include <malloc.h>
#include <pgas/pgas_open.h>
#include <rdma/fi_cm.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace bench::scale {
namespace {

constexpr size_t kNameMost = 256;
constexpr char kGoOn = 'g';

void need(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "scale_sim: %s: %s\n", what, pgas_strerror(rc < 0 ? -rc : rc));
	_exit(1);
}

struct word {
	fi_context2 scratch;
	char bytes[kNameMost];
};

// One endpoint with a domain of its own.
struct party {
	fi_info *info = nullptr;
	fid_fabric *fabric = nullptr;
	fid_domain *domain = nullptr;
	fid_av *av = nullptr;
	fid_cq *cq = nullptr;
	fid_ep *ep = nullptr;
	word input, out;

	explicit party(const char *provider)
	{
		choose(provider);
		if (!strcmp(provider, "pgas"))
			need(pgas_provider()->fabric(info->fabric_attr, &fabric, nullptr), "fabric");
		else
			need(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
		need(fi_domain(fabric, info, &domain, nullptr), "fi_domain");
		fi_av_attr av_wish{};
		fi_cq_attr cq_wish{};
		cq_wish.format = FI_CQ_FORMAT_CONTEXT;
		need(fi_av_open(domain, &av_wish, &av, nullptr), "fi_av_open");
		need(fi_cq_open(domain, &cq_wish, &cq, nullptr), "fi_cq_open");
		need(fi_endpoint(domain, info, &ep, nullptr), "fi_endpoint");
		need(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
		need(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
		need(fi_enable(ep), "fi_enable");
		listen();
	}
	void choose(const char *provider)
	{
		fi_info *const hints = fi_allocinfo();
		hints->caps = FI_MSG;
		hints->ep_attr->type = FI_EP_RDM;
		hints->domain_attr->threading = FI_THREAD_DOMAIN;
		fi_info *all = nullptr;
		if (!strcmp(provider, "pgas")) {
			need(pgas_provider()->getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &all), "pgas");
		} else {
			hints->fabric_attr->prov_name = strdup(provider);
			if (fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", nullptr, FI_SOURCE, hints, &all) != 0)
				_exit(kNotHere);
		}
		info = fi_dupinfo(all);
		fi_freeinfo(all);
		fi_freeinfo(hints);
	}
	void listen()
	{
		need(static_cast<int>(fi_recv(ep, input.bytes, kNameMost, nullptr, FI_ADDR_UNSPEC, &input)), "recv");
	}
	size_t name(char *out_bytes)
	{
		size_t len = kNameMost;
		need(fi_getname(&ep->fid, out_bytes, &len), "fi_getname");
		return len;
	}
	fi_addr_t knows(const char *bytes)
	{
		fi_addr_t place;
		if (fi_av_insert(av, bytes, 1, &place, 0, nullptr) != 1)
			need(FI_EINVAL, "fi_av_insert");
		return place;
	}
	bool send(fi_addr_t dest) // false: try again later
	{
		const ssize_t rc = fi_send(ep, out.bytes, kNameMost, nullptr, dest, &out);
		if (rc != 0 && rc != -FI_EAGAIN)
			need(static_cast<int>(rc), "fi_send");
		return rc == 0;
	}
	// Polls the queue: returns 'i' if something arrived, 'o' if a send completed, 0 if neither.
	char look()
	{
		fi_cq_entry e;
		const ssize_t n = fi_cq_read(cq, &e, 1);
		if (n == -FI_EAGAIN)
			return 0;
		if (n != 1)
			need(FI_EIO, "fi_cq_read");
		return e.op_context == &input ? 'i' : 'o';
	}
};

size_t descriptors()
{
	size_t n = 0;
	if (DIR *d = opendir("/proc/self/fd")) {
		while (readdir(d))
			n++;
		closedir(d);
	}
	return n;
}

// The peers: each sends to the hub and waits for its reply. Meanwhile all of them make progress.
[[noreturn]] void be_peers(const char *provider, size_t peers, int source, int dest)
{
	char name[kNameMost] = {};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(kLimitSeconds);
	if (read(source, name, sizeof name) != sizeof name)
		_exit(1);
	std::vector<std::unique_ptr<party>> all;
	std::vector<fi_addr_t> hub;
	std::vector<bool> called(peers), answered(peers);
	for (size_t i = 0; i < peers; i++) {
		all.push_back(std::make_unique<party>(provider));
		hub.push_back(all[i]->knows(name));
		all[i]->name(all[i]->out.bytes);
	}
	if (write(dest, &kGoOn, 1) != 1)
		_exit(1);
	for (size_t done = 0; done < peers;) {
		for (size_t i = 0; i < peers; i++) {
			if (!called[i])
				called[i] = all[i]->send(hub[i]);
			if (all[i]->look() == 'i' && !answered[i])
				answered[i] = true, done++;
		}
	}
	char end;
	(void)!write(dest, &kGoOn, 1);
	(void)!read(source, &end, 1); // everything must stay open until it was measured
	_exit(0);
}

} // namespace

connection_cost connections(const char *provider, size_t peers)
{
	int down[2], up[2];
	need(pipe(down) || pipe(up), "pipe");
	const pid_t child = fork(); // before any library starts a thread
	if (child == 0)
		be_peers(provider, peers, down[0], up[1]);
	party hub(provider);
	char name[kNameMost] = {}, go;
	hub.name(name);
	if (write(down[1], name, sizeof name) != sizeof name || read(up[0], &go, 1) != 1)
		need(FI_EIO, "no peers");
	const footprint before = now();
	const struct mallinfo2 heap = mallinfo2();
	const size_t open = descriptors();
	std::vector<fi_addr_t> owed;
	bool busy = false;
	for (size_t answered = 0; answered < peers;) {
		const char what = hub.look();
		if (what == 'i') {
			owed.push_back(hub.knows(hub.input.bytes));
			hub.listen();
		} else if (what == 'o') {
			busy = false;
			answered++;
		}
		if (!busy && !owed.empty() && hub.send(owed.back())) {
			busy = true;
			owed.pop_back();
		}
	}
	footprint after = now() - before;
	for (unsigned polls = 0; polls < 1000; polls++) // acknowledgements
		hub.look();
	const struct mallinfo2 grown = mallinfo2();
	const auto n = static_cast<double>(peers);
	connection_cost cost;
	cost.resident_bytes = (now() - before).resident_bytes / n;
	cost.heap_bytes = static_cast<double>(grown.uordblks + grown.hblkhd - heap.uordblks - heap.hblkhd) / n;
	cost.descriptors = static_cast<double>(descriptors() - open) / n;
	cost.seconds = after.seconds / n;
	(void)!write(down[1], &kGoOn, 1);
	waitpid(child, nullptr, 0);
	return cost;
}

} // namespace bench::scale
