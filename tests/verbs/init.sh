#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
#
# init.sh: the first program in a guest of tests/verbs/run. It switches from the initrd, which has this file, busybox
# and kernel modules, to the root of the machine that runs the guest. That root is read only; a layer in memory receives
# all writes. The kernel passes us the words of its command line that it does not know: guest_name and guest_ip.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
while read -r module; do
	insmod "/modules/$module" || echo "init: $module does not load"
done </modules/order

options=trans=virtio,version=9p2000.L,msize=262144
mount -t 9p -o $options,ro,cache=loose root /below || echo "init: no root"
mount -t tmpfs layer /layer
mkdir /layer/written /layer/work
mount -t overlay -o lowerdir=/below,upperdir=/layer/written,workdir=/layer/work root /top || echo "init: no layer"
for folder in proc sys dev; do
	mkdir -p /top/$folder
	mount --move /$folder /top/$folder
done
mkdir -p /top/run /top/dev/shm /top/dev/pts
ln -s /proc/self/fd /top/dev/fd # udev's, which nobody starts here
ln -s fd/0 /top/dev/stdin
ln -s fd/1 /top/dev/stdout
ln -s fd/2 /top/dev/stderr
mount -t tmpfs -o mode=755 run /top/run
mount -t tmpfs -o mode=1777 shm /top/dev/shm
mount -t devpts devpts /top/dev/pts
mkdir /top/run/verbs
mount -t 9p -o $options,cache=none share /top/run/verbs || echo "init: no shared folder"
cp /bin/busybox /top/run/busybox

# libfabric reads the names of all kernel functions, twice, when a process starts to use it: 3 s in an emulated guest.
mount --bind /top/dev/null /top/proc/kallsyms

# shellcheck disable=SC2154  # from the kernel's command line
echo "$guest_name" >/top/proc/sys/kernel/hostname
ip link set lo up
ip link set eth0 up
# shellcheck disable=SC2154
ip addr add "$guest_ip/24" dev eth0
exec switch_root /top /bin/bash "/run/verbs/$guest_name/first"
