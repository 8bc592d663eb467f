/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a process runs, and what its host sent: a measuring program says both itself, because a launcher that stays at
 * home does not. Needs _GNU_SOURCE.
 */
#ifndef BENCH_PLACE_H
#define BENCH_PLACE_H

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct bench_place {
	char text[256]; /* NAME/ADDRESS+ADDRESS+...: the host's name, and its addresses that others can use */
};

static inline const char *bench_address(const struct ifaddrs *i, char *text, socklen_t size)
{
	if (!i->ifa_addr || i->ifa_flags & IFF_LOOPBACK)
		return NULL;
	if (i->ifa_addr->sa_family == AF_INET)
		return inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr, text,
				 size);
	if (i->ifa_addr->sa_family != AF_INET6)
		return NULL;
	const struct in6_addr *address = &((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr;
	return IN6_IS_ADDR_LINKLOCAL(address) ? NULL : inet_ntop(AF_INET6, address, text, size);
}

__attribute__((unused)) static void bench_find_place(struct bench_place *p)
{
	struct ifaddrs *all = NULL;
	char address[INET6_ADDRSTRLEN], name[128] = "";
	gethostname(name, sizeof name - 1);
	snprintf(p->text, sizeof p->text, "%s/", name);
	if (getifaddrs(&all) != 0)
		return;
	size_t len = strlen(p->text);
	int count = 0;
	for (const struct ifaddrs *i = all; i && count < 3; i = i->ifa_next)
		if (bench_address(i, address, sizeof address)) {
			snprintf(p->text + len, sizeof p->text - len, "%s%s", count++ ? "+" : "", address);
			len = strlen(p->text);
		}
	freeifaddrs(all);
}

/* What all interfaces but the loopback one have sent and received. */
struct bench_traffic {
	uint64_t bytes, packets;
};

__attribute__((unused)) static struct bench_traffic bench_read_traffic(void)
{
	struct bench_traffic sum = {0, 0};
	char line[512], name[64];
	FILE *table = fopen("/proc/self/net/dev", "r");
	while (table && fgets(line, sizeof line, table)) {
		unsigned long long in_bytes, in_packets, out_bytes, out_packets;
		if (sscanf(line, " %63[^:]: %llu %llu %*u %*u %*u %*u %*u %*u %llu %llu", name, &in_bytes, &in_packets,
			   &out_bytes, &out_packets) != 5 ||
		    !strcmp(name, "lo"))
			continue;
		sum.bytes += in_bytes + out_bytes;
		sum.packets += in_packets + out_packets;
	}
	if (table)
		fclose(table);
	return sum;
}

#endif /* BENCH_PLACE_H */
