/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FABRIC_DIRECT file of the pgas provider: nothing here is hot, so libfabric's own inline functions stay (domain,
 * memory and address vector calls). libfabric includes this file inside extern "C".
 */
#ifndef FI_DIRECT_DOMAIN_H
#define FI_DIRECT_DOMAIN_H

#endif /* FI_DIRECT_DOMAIN_H */
