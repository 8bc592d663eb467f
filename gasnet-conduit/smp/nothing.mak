# SPDX-License-Identifier: BSD-3-Clause
# A build of GASNet makes its libraries and makefile fragments when a client asks; here all of them are made.
all seq par parsync smp-seq.mak smp-par.mak smp-parsync.mak:
.PHONY: all seq par parsync smp-seq.mak smp-par.mak smp-parsync.mak
