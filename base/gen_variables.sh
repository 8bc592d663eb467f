#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# gen_variables.sh SOURCE_FOLDER: prints pgas_variables.def, the names of all environment variables, with which
# pgas_variables.hpp detects misspelt ones. They are extracted from the code that reads them, so that base/ needs no
# list of the variables of the layers above it.
#
#   OURS(name)    a variable of this project; digits may follow it (SHMEM_SYMMETRIC_PARTITION0)
#   THEIRS(name)  a variable of another OpenSHMEM
set -eu
cd "$1"
# Assignments, not one pipeline: a table that cannot be read ends the script.
shmem=$(sed -n 's/^ENV_[A-Z]*([a-z_]*, \([A-Z_]*\),.*/SHMEM_\1/p' shmem/src/core/shmem_env.def)
old=$(grep -o '"SMA_[A-Z_]*"' shmem/src/core/shmem_env.def)
provider=$(sed -n 's/^PGAS_PARAM("\([a-z_]*\)".*/FI_PGAS_\1/p' prov/pgas/src/support/pgas_params.def)
text=$(sed -n 's/.*from_environment("\([a-z_]*\)").*/FI_PGAS_\1/p' prov/pgas/src/support/pgas_params.cpp)
boot=$(grep -hoE '"PGAS_[A-Z_]+"' boot/boot*.cpp boot/boot*.hpp devices/src/*.cpp)
python=$(grep -oE '"PGAS_[A-Z_]+"' python/pgas/_library.py)
others=$(sed -n 's/^OTHERS(\(.*\))$/THEIRS(\1)/p' shmem/src/core/shmem_env_others.def)
echo "// made by base/gen_variables.sh"
printf '%s\n' "$shmem" "$old" "$provider" "$text" "$boot" "$python" | tr -d '"' | tr '[:lower:]' '[:upper:]' |
	LC_ALL=C sort -u | sed 's/.*/OURS(&)/'
printf '%s\n' "$others"
