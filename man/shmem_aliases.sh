#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# shmem_aliases.sh LIST: prints which manual page describes each C name of LIST (shmem/tests/data/openshmem_api.txt), as
# lines "NAME PAGE", chosen by the section of the specification that defines the name. Names without a page of ours are
# left out. Then prints the names of shmemx.h, taken from the pages about them. make install writes a page with one .so
# line for each; check_shmem.sh checks the names that are left out.
set -eu
awk -F' [|] ' '
    function page(section) {
        if (section ~ /^9\.1\./) return "shmem_init"
        if (section ~ /^9\.2\./) return "shmem_init_thread"
        if (section ~ /^9\.3\./) return "shmem_malloc"
        if (section ~ /^9\.[59]\./) return "shmem_ctx_create"
        if (section ~ /^9\.6\.1\.[1256]$/) return "shmem_put"
        if (section ~ /^9\.6\.1\.[3478]$/) return "shmem_iput"
        if (section ~ /^9\.6\.2\./) return "shmem_put_nbi"
        if (section ~ /^9\.7\./) return "shmem_atomic_add"
        if (section ~ /^9\.8\./) return "shmem_put_signal"
        if (section ~ /^9\.4\.[67]$/ || section == "9.4.8") return "shmem_team_split_strided"
        if (section ~ /^9\.4\./) return "shmem_team_my_pe"
        if (section ~ /^9\.10\.[1-4]$/) return "shmem_barrier_all"
        if (section ~ /^9\.10\.[56]$/) return "shmem_alltoall"
        if (section == "9.10.7") return "shmem_broadcast"
        if (section == "9.10.8") return "shmem_collect"
        if (section == "9.10.9") return "shmem_reduce"
        if (section == "9.10.10") return "shmem_scan"
        if (section ~ /^9\.11\./) return "shmem_wait_until"
        if (section ~ /^9\.12\./) return "shmem_fence"
        if (section ~ /^9\.13\./) return "shmem_set_lock"
        if (section == "10.1") return "shmem_pcontrol"
        return ""
    }
    $1 == "C" || $1 == "generic" {
        p = $2 ~ /^_/ ? "shmem_init" : $3 == "Annex" ? "shmem_malloc" : page($3)
        if ($2 ~ /^shmem_(team_ptr|team_create_ctx|ctx_get_team)$/)
            p = "shmem_team_my_pe"
        if (p != "" && $2 != p && !seen[$2]++)
            print $2, p
    }' "$1"
for page in shmemx_broadcast_nb shmem_partition_malloc shmem_space_malloc shmemg_malloc; do
	sed -n '/^\.SH NAME/,/^\.SH SYNOPSIS/p' "$(dirname "$0")/man3/$page.3" | grep -o '^shmem[a-z_]*' |
		sed "/^$page\$/d; s/\$/ $page/"
done
echo "shmemx_wtime shmem_init"
echo "shmemx_get_uniqueid shmemx_init_uniqueid"
echo "shmemx_init_thread_uniqueid shmemx_init_uniqueid"
