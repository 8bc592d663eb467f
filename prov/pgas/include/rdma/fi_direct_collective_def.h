/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FABRIC_DIRECT file of the pgas provider: nothing here is hot, so libfabric's own inline functions stay (the
 * collective enumerations). libfabric includes this file inside extern "C".
 */
#ifndef FI_DIRECT_COLLECTIVE_DEF_H
#define FI_DIRECT_COLLECTIVE_DEF_H

#endif /* FI_DIRECT_COLLECTIVE_DEF_H */
