/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pgas_open.h: the provider for programs that are linked with libpgas, and the common code with which SHMEM and GASNet
 * open it: fabric, domain, address vector, endpoint.
 *
 * The provider is called directly. That avoids the search for other providers, which takes longer than the rest of a
 * program's start and loads libraries with signal handlers of their own; nor does FI_PROVIDER_PATH have to be set.
 * Everything here is for program start; nothing belongs on a data path.
 */
#ifndef PGAS_OPEN_H
#define PGAS_OPEN_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_ext_pgas.h>
#include <rdma/providers/fi_prov.h>

#include <stdlib.h>

#include <pgas/pgas_atomic.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What fi_prov_ini() returns to libfabric when libfabric loads the module. */
PGAS_EXPORT struct fi_provider *pgas_provider(void) PGAS_NOEXCEPT;

/*
 * fi_dupinfo(), fi_freeinfo() and fi_strerror(): libfabric's own where libfabric has loaded the provider. A program
 * that calls these is not linked with libfabric, and does not load it unless it communicates with other hosts.
 */
PGAS_EXPORT struct fi_info *pgas_info_dup(const struct fi_info *info) PGAS_NOEXCEPT; /* NULL: an empty one */
PGAS_EXPORT void pgas_info_free(struct fi_info *info) PGAS_NOEXCEPT;
PGAS_EXPORT const char *pgas_strerror(int error) PGAS_NOEXCEPT;

/* Readable text why this thread could not open its last domain; "": nothing is known beyond the error. */
PGAS_EXPORT const char *pgas_open_reason(void) PGAS_NOEXCEPT;

/* Called with the call that failed and the reason, a positive error number, before the failing function returns. */
typedef void (*pgas_open_report)(const char *call, int error);

struct pgas_opened {
	struct fi_info *info; /* as the domain was opened */
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fi_pgas_ops *ops;
};

struct pgas_opened_ep {
	struct fid_av *av;
	struct fid_ep *ep;
};

/* Properties of an endpoint to open. */
struct pgas_ep_wish {
	uint64_t caps;      /* a subset of the domain's; 0: all of them except FI_HMEM */
	size_t peers;       /* entries in its address vector, which is a table: ranks are addresses */
	struct fid *events; /* the counter or queue that it is bound to */
	uint64_t flags;     /* flags of that fi_ep_bind: which events */
};

static inline int pgas_open_check(pgas_open_report report, const char *call, int rc)
{
	if (rc != 0 && report)
		report(call, rc < 0 ? -rc : rc);
	return rc;
}

static inline void pgas_close(struct pgas_opened *o)
{
	if (o->domain)
		fi_close(&o->domain->fid);
	if (o->fabric)
		fi_close(&o->fabric->fid);
	if (o->info)
		pgas_info_free(o->info);
	o->ops = NULL;
	o->domain = NULL;
	o->fabric = NULL;
	o->info = NULL;
}

static inline void pgas_close_ep(struct pgas_opened_ep *e)
{
	if (e->ep)
		fi_close(&e->ep->fid);
	if (e->av)
		fi_close(&e->av->fid);
	e->ep = NULL;
	e->av = NULL;
}

static inline int pgas_open_ops(struct pgas_opened *o, pgas_open_report report)
{
	void *ops = NULL;
	const int rc = fi_open_ops(&o->domain->fid, FI_PGAS_OPS, 0, &ops, NULL);
	if (pgas_open_check(report, "fi_open_ops", rc) != 0)
		return rc;
	o->ops = (struct fi_pgas_ops *)ops;
	if (o->ops->size >= sizeof(struct fi_pgas_ops))
		return 0;
	return pgas_open_check(report, "libpgas.so is older than what uses it", -FI_ENOSYS);
}

/*
 * The secret by which the processes of a job on several hosts authenticate each other: info owns a copy, freed with it.
 */
static inline int pgas_open_key(struct fi_info *info, const void *key, size_t key_len)
{
	if (!key_len)
		return 0;
	info->domain_attr->auth_key = (uint8_t *)malloc(key_len);
	if (!info->domain_attr->auth_key)
		return -FI_ENOMEM;
	__builtin_memcpy(info->domain_attr->auth_key, key, key_len);
	info->domain_attr->auth_key_size = key_len;
	return 0;
}

/*
 * Opens fabric and domain for endpoints of type FI_EP_RDM with manual progress. 0, or -FI_E* with nothing left open.
 * caps contain FI_LOCAL_COMM alone, or FI_REMOTE_COMM too when there are processes on other hosts; key: see fi_pgas(7),
 * 0 bytes: none.
 */
static inline int pgas_open(struct pgas_opened *o, uint64_t caps, enum fi_threading threading, const void *key,
			    size_t key_len, pgas_open_report report)
{
	struct fi_provider *const provider = pgas_provider();
	struct fi_info *const hints = pgas_info_dup(NULL);
	int rc;
	o->info = NULL;
	o->fabric = NULL;
	o->domain = NULL;
	o->ops = NULL;
	if (!hints)
		return pgas_open_check(report, "fi_allocinfo", -FI_ENOMEM);
	hints->caps = caps;
	hints->fabric_attr->prov_name = __builtin_strdup(provider->name); /* FI_HMEM requires naming us */
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = threading;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->domain_attr->mr_mode = caps & FI_HMEM ? FI_MR_HMEM : 0;
	rc = pgas_open_check(report, "fi_getinfo",
			     provider->getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &o->info));
	pgas_info_free(hints);
	if (rc == 0)
		rc = pgas_open_check(report, "fi_dupinfo", pgas_open_key(o->info, key, key_len));
	if (rc == 0)
		rc = pgas_open_check(report, "fi_fabric", provider->fabric(o->info->fabric_attr, &o->fabric, NULL));
	if (rc == 0)
		rc = pgas_open_check(report, "fi_domain", fi_domain(o->fabric, o->info, &o->domain, NULL));
	if (rc == 0)
		rc = pgas_open_ops(o, report);
	if (rc != 0)
		pgas_close(o);
	return rc;
}

/* Opens and enables an endpoint with its own address vector. 0, or -FI_E* with nothing left open. */
static inline int pgas_open_ep(const struct pgas_opened *o, const struct pgas_ep_wish *wish, struct pgas_opened_ep *e,
			       pgas_open_report report)
{
	struct fi_info *const info = pgas_info_dup(o->info);
	struct fi_av_attr attr;
	int rc;
	e->av = NULL;
	e->ep = NULL;
	if (!info)
		return pgas_open_check(report, "fi_dupinfo", -FI_ENOMEM);
	info->caps = wish->caps ? wish->caps : info->caps & ~FI_HMEM;
	__builtin_memset(&attr, 0, sizeof attr);
	attr.type = FI_AV_TABLE;
	attr.count = wish->peers;
	rc = pgas_open_check(report, "fi_av_open", fi_av_open(o->domain, &attr, &e->av, NULL));
	if (rc == 0)
		rc = pgas_open_check(report, "fi_endpoint", fi_endpoint(o->domain, info, &e->ep, NULL));
	pgas_info_free(info);
	if (rc == 0)
		rc = pgas_open_check(report, "fi_ep_bind", fi_ep_bind(e->ep, &e->av->fid, 0));
	if (rc == 0)
		rc = pgas_open_check(report, "fi_ep_bind", fi_ep_bind(e->ep, wish->events, wish->flags));
	if (rc == 0)
		rc = pgas_open_check(report, "fi_enable", fi_enable(e->ep));
	if (rc != 0)
		pgas_close_ep(e);
	return rc;
}

#ifdef __cplusplus
}
#endif

#endif /* PGAS_OPEN_H */
