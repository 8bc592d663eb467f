# SPDX-License-Identifier: BSD-3-Clause
# A build of GASNet makes its libraries and makefile fragments when a client asks; here all of them are made.
all seq par parsync smp-seq.mak smp-par.mak smp-parsync.mak clean:

# A client that is installed installs its build of GASNet beside itself, and looks for the fragments there: those name
# the real ones.
here := $(patsubst %/,%,$(dir $(realpath $(lastword $(MAKEFILE_LIST)))))
client_maks = $(DESTDIR)$(prefix)/include/smp-conduit
install:
	@test -n "$(prefix)" || { echo "make install prefix=FOLDER: of the client" >&2; exit 1; }
	@mkdir -p "$(client_maks)"
	@! test "$(client_maks)" -ef "$(here)/include/smp-conduit" || { echo "$(here) is installed" >&2; exit 1; }
	for real in $(wildcard $(here)/include/smp-conduit/*.mak); do \
	  echo "include $$real" >"$(client_maks)/$${real##*/}" || exit 1; done
.PHONY: all seq par parsync smp-seq.mak smp-par.mak smp-parsync.mak clean install
