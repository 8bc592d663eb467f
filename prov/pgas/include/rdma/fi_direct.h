/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FABRIC_DIRECT entry of the pgas provider. libfabric's headers include this and its eleven siblings, inside extern
 * "C", when a program is compiled with -DFABRIC_DIRECT and our include folder. struct fi_context keeps libfabric's
 * definition.
 *
 * A program built this way has the data path of pgas_hot.h in its own code; it links libpgas.so. A magic word that
 * contains the layout version (pgas_types.h) decides per object whether it may take that path: everything else,
 * including objects of other providers, goes through the ops table. See fi_pgas_direct(7).
 */
#ifndef FI_DIRECT_H
#define FI_DIRECT_H

#define FI_PGAS_DIRECT 1

#endif /* FI_DIRECT_H */
