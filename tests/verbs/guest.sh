# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# guest.sh: QEMU guests with a Soft-RoCE device, rxe0, for tests/verbs/run, which sources it and sets
#	$arch, $root	the architecture of the programs in the guest, and the root folder that it sees
#	$cache		where kernel and initrd are kept
#	$work		a folder of this run; $work/share is /run/verbs in every guest
# and defines the functions say and cannot.
# shellcheck disable=SC2154  # these
#
#	guest_prepare				kernel and initrd into $cache, unless they are there
#	guest_start NAME SECONDS PREFIX LINE	boots a guest that runs the line of bash; the lines that it prints get
#						the prefix. g2 needs a running g1, and one wire joins the two.
#	guest_wait NAME				waits until it is off; returns the status of its line, or 125 if there
#						is no status
#	guest_end				ends all running guests

declare -A guest_pid=() guest_filter=()
guest_cpus=2 guest_memory=3072 guest_wire=''
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# pauth-impdef: the architected algorithm for pointer authentication is slow to emulate
case $arch in
x86_64) debian=amd64 qemu_package=qemu-system-x86 console=ttyS0 machine=(-M q35 -cpu max) ;;
aarch64)
	debian=arm64 qemu_package=qemu-system-arm console=ttyAMA0
	machine=(-M "virt,gic-version=3" -cpu "max,pauth-impdef=on")
	;;
*) cannot "there is no guest for $arch: only for x86_64 and aarch64" ;;
esac

# --- packages ---------------------------------------------------------------------------------------------------------

there() { [ -e "$1" ]; }
# Prints the packages that are missing on this machine; files that belong in the guest's root are searched for there.
missing_here() {
	local tool
	for tool in "qemu-system-$arch:$qemu_package" depmod:kmod cpio:cpio xz:xz-utils setpriv:util-linux; do
		command -v "${tool%%:*}" >/dev/null || echo "${tool#*:}"
	done
}
missing_in_root() {
	there "$root"/usr/bin/rdma || there "$root"/bin/rdma || there "$root"/usr/sbin/rdma || echo iproute2
	there "$root"/usr/lib/*/libibverbs/librxe-rdmav*.so || echo ibverbs-providers
	there "$root"/usr/lib/*/librdmacm.so.1 || echo librdmacm1
}

install_packages() { # names
	local sudo=()
	command -v apt-get >/dev/null || cannot "no $*, and no apt-get to install it: install these packages by hand"
	if [ "$(id -u)" != 0 ]; then
		sudo -n true 2>/dev/null ||
			cannot "no $*, and no right to install it: apt-get install --no-install-recommends $*"
		sudo=(sudo -n)
	fi
	say "installing $*"
	local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive timeout 240 apt-get -o DPkg::Lock::Timeout=120)
	"${apt[@]}" -q update >"$work/apt" 2>&1 </dev/null || true # the lists that are there may do
	"${apt[@]}" -q install -y --no-install-recommends "$@" >>"$work/apt" 2>&1 </dev/null ||
		cannot "apt-get cannot install $*: $(grep '^E:' "$work/apt" | head -n 1)"
	hash -r
}

need_packages() {
	local names
	mapfile -t names < <(missing_here)
	if [ "$root" = / ]; then
		mapfile -t -O ${#names[@]} names < <(missing_in_root)
	elif [ -n "$(missing_in_root)" ]; then
		cannot "install in $root first: $(missing_in_root | tr '\n' ' ')"
	fi
	[ ${#names[@]} = 0 ] || install_packages "${names[@]}"
}

# --- kernel and initrd ------------------------------------------------------------------------------------------------

# Runs apt for the guest's architecture. If that is not this machine's, apt gets folders of its own, so that nothing
# changes here.
apt_for_guest() {
	local own=()
	if [ "$(dpkg --print-architecture)" != "$debian" ]; then
		mkdir -p "$work/lists/partial" "$work/archives/partial"
		: >>"$work/status"
		own=(-o "APT::Architecture=$debian" -o "APT::Architectures=$debian" -o "Dir::State::Lists=$work/lists"
			-o "Dir::State::Status=$work/status" -o "Dir::Cache=$work/archives")
	fi
	timeout 240 "$1" -q "${own[@]}" -o APT::Sandbox::User=root "${@:2}" 2>>"$work/apt" </dev/null
}

# The packages are only unpacked, never installed.
fetch_kernel() {
	local image try
	for image in apt-get apt-cache dpkg-deb; do
		command -v $image >/dev/null || cannot "no $image: the kernel comes from a Debian package"
	done
	for try in 1 2; do
		image=$(apt_for_guest apt-cache depends "linux-image-$debian" |
			awk '/Depends: linux-image-/ && !n++ { print $2 }')
		if [ -n "$image" ] &&
			(cd "$work" && apt_for_guest apt-get download "${image%:*}" busybox-static >>"$work/apt"); then
			break
		fi
		[ $try = 1 ] || cannot "cannot download linux-image-$debian and busybox-static:" \
			"$(grep '^E:' "$work/apt" | tail -n 1)"
		# the lists may be old, and name a kernel that the server no longer has
		apt_for_guest apt-get update >>"$work/apt" || true
	done
	for image in "$work"/*.deb; do
		dpkg-deb -x "$image" "$work/unpacked"
	done
	[ -d "$work/unpacked/lib/modules" ] || mv "$work/unpacked/usr/lib/modules" "$work/unpacked/lib/"
}

# The modules in the order in which they are loaded: rdma_rxe does not declare crc32_generic, which it requests, as a
# dependency, nor does tls declare gcm and ghash_generic. The last three are for tests/hosts, whose hosts are namespaces
# on a bridge.
put_modules() { # version, folder
	local module file
	depmod -b "$work/unpacked" "$1"
	mkdir "$2/modules"
	for module in virtio_pci virtio_net virtio_console 9pnet_virtio 9p overlay \
		crc32_generic ib_uverbs rdma_ucm rdma_rxe tls aes_generic ctr ghash_generic gcm \
		veth bridge sch_netem; do
		modprobe -C /dev/null -d "$work/unpacked" -S "$1" --show-depends "$module" 2>/dev/null |
			awk '$1 == "insmod" { print $2 }'
	done | awk '!seen[$0]++' >"$work/order"
	while read -r file; do
		module=${file##*/}
		case $module in
		*.xz) xz -dc "$file" >"$2/modules/${module%.xz}" ;;
		*.zst) zstd -qdc "$file" >"$2/modules/${module%.zst}" ;;
		*) cp "$file" "$2/modules/" ;;
		esac
		echo "${module%%.ko*}.ko"
	done <"$work/order" >"$2/modules/order"
	grep -q '^rdma_rxe' "$2/modules/order" || cannot "the kernel $1 has no rdma_rxe"
}

# QEMU starts an x86_64 ELF kernel directly; from the compressed image, the emulated guest would have to unpack it.
put_kernel() { # image
	local at=''
	if [ "$arch" = x86_64 ]; then
		at=$(LC_ALL=C grep -aboP '\xFD7zXZ\0' "$1" | head -n 1 | cut -d: -f1) || true
	fi
	if [ -z "$at" ] || ! tail -c "+$((at + 1))" "$1" | xz -dc --single-stream >"$work/kernel" 2>/dev/null; then
		cp "$1" "$work/kernel"
	fi
}

guest_prepare() {
	local version mark tree=$work/initrd
	need_packages
	mark=$({ declare -f put_modules put_kernel && cat "$here/init.sh"; } | cksum)
	if [ "$(cat "$cache/made" 2>/dev/null)" = "$mark" ]; then
		return
	fi
	say "making the guest's kernel and initrd in $cache"
	fetch_kernel
	version=$(basename "$work"/unpacked/lib/modules/*)
	mkdir -p "$tree"/{bin,below,dev,layer,proc,sys,top}
	cp "$(find "$work/unpacked" -path '*/bin/busybox' -type f | head -n 1)" "$tree/bin/busybox"
	cp "$here/init.sh" "$tree/init"
	chmod +x "$tree/init"
	put_modules "$version" "$tree"
	put_kernel "$work/unpacked/boot/vmlinuz-$version"
	(cd "$tree" && find . | cpio -o -H newc --quiet) | gzip -1 >"$work/initrd.gz"
	mkdir -p "$cache"
	rm -f "$cache/made"
	mv "$work/kernel" "$work/initrd.gz" "$cache/"
	echo "$mark" >"$cache/made"
	rm -rf "$work/unpacked" "$tree" "$work"/*.deb
	say "Linux $version for $arch"
}

# --- running ----------------------------------------------------------------------------------------------------------

# What the guest runs as its first process in the root: it has no init system. Output goes through a port of its own, to
# keep it apart from the kernel's messages.
# shellcheck disable=SC2016  # for the guest
print_first() { # name, line
	local name
	echo "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8"
	for name in $(compgen -e | grep -E '^(FI|SHMEM|GASNET|PGAS|TEST|IPATH|OMPI|UCX|OSHRUN|VERBS)_'); do
		printf 'export %s=%q\n' "$name" "${!name}"
	done
	printf 'mine=/run/verbs/%q line=%q folder=%q\n' "$1" "$2" "$PWD"
	cat <<-'FIRST'
		exec </dev/null >/dev/console 2>&1
		printf '%s\n' '127.0.0.1 localhost' '192.168.77.1 g1' '192.168.77.2 g2' >/etc/hosts
		rdma link add rxe0 type rxe netdev eth0 || echo "first: no rxe0"
		ulimit -l unlimited
		: >"$mine/up"
		(cd "$folder" 2>/dev/null || cd /; exec bash -c "$line") >"$(echo /dev/vport*p1)" 2>&1
		echo $? >"$mine/status.new"
		mv "$mine/status.new" "$mine/status"
		sync
		# the letter o switches the machine off without any program
		echo o >/proc/sysrq-trigger
		sleep 60
	FIRST
}

# The two ends of a wire are a Unix socket: over TCP a small packet takes 40 ms.
wire_of() { # name
	if [ -z "$guest_wire" ]; then
		echo user,restrict=on
	elif [ "$1" = g1 ]; then
		echo "stream,server=on,addr.type=unix,addr.path=$guest_wire"
	else
		echo "stream,server=off,addr.type=unix,addr.path=$guest_wire"
	fi
}

guest_start() { # name, seconds, prefix, line
	local name=$1 number=${1#g} output mine=$work/share/$1
	local words="console=$console panic=-1 mitigations=off loglevel=4 net.ifnames=0"
	words+=" guest_name=$name guest_ip=192.168.77.$number"
	mkdir -p "$mine"
	rm -f "$mine"/*
	print_first "$name" "$4" >"$mine/first"
	# The port is a file that QEMU opens by name. Each guest has a filter, which ends when QEMU does.
	exec {output}> >(exec sed -u "s/^/$3/")
	guest_filter[$name]=$!
	# shellcheck disable=SC2261  # >&N is stdout alone
	# setpriv: whatever ends this shell ends the guest; timeout passes the signal on
	setpriv --pdeathsig TERM timeout -k 5 "$2" "qemu-system-$arch" "${machine[@]}" \
		-accel tcg,thread=multi,tb-size=512 -smp "$guest_cpus" -m "$guest_memory" \
		-display none -nodefaults -no-reboot -serial "file:$mine/console" \
		-kernel "$cache/kernel" -initrd "$cache/initrd.gz" -append "$words" \
		-fsdev "local,id=root,path=$root,security_model=none,readonly=on,multidevs=remap" \
		-device virtio-9p-pci,fsdev=root,mount_tag=root \
		-fsdev "local,id=share,path=$work/share,security_model=none" \
		-device virtio-9p-pci,fsdev=share,mount_tag=share \
		-netdev "$(wire_of "$name"),id=wire" \
		-device "virtio-net-pci,netdev=wire,romfile=,mac=52:54:00:77:00:0$number" \
		-device virtio-serial-pci -chardev file,id=said,path=/proc/self/fd/1 \
		-device virtserialport,chardev=said,name=said \
		</dev/null >&"$output" 2>"$mine/qemu" &
	guest_pid[$name]=$!
	exec {output}>&-
}

guest_wait() { # name
	local name=$1 rc=0 mine=$work/share/$1
	wait "${guest_pid[$name]}" || rc=$?
	unset "guest_pid[$name]"
	for _ in {1..50}; do # what it has said is still on its way
		kill -0 "${guest_filter[$name]}" 2>/dev/null || break
		sleep 0.1
	done
	[ ! -s "$mine/status" ] || return "$(cat "$mine/status")"
	case $rc in
	124 | 137) say "the guest $name did not come to its end: time is up" ;;
	*) say "the guest $name did not come to its end; QEMU's status is $rc" ;;
	esac
	return 125
}

# Prints the last output of a guest that did not finish.
guest_console() { # name
	tail -q -n 15 "$work/share/$1/qemu" "$work/share/$1/console" 2>/dev/null | sed 's/^/    /'
}

guest_end() {
	local name
	for name in "${!guest_pid[@]}"; do
		kill "${guest_pid[$name]}" 2>/dev/null
	done
	for name in "${!guest_pid[@]}"; do
		wait "${guest_pid[$name]}" 2>/dev/null
	done
	guest_pid=()
}
