#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A program that requests device memory is offered this provider if there is a device, but not if only a driver's
# library is installed: tested with libraries that the loader finds by name (the fakes), and device files in a folder
# that stands for /.
. "$(dirname "$0")/../../../tests/harness.sh"
unset PGAS_CUDA_DRIVER PGAS_HIP_DRIVER PGAS_ZE_DRIVER
export TEST_CASES='*installed_driver_needs_a_device'

# The machine may have real drivers of the other kinds, so there are files of one kind only.
lib() { # NAME FILE: a driver of that name
	name=$1
	rm -rf "$work/lib"
	mkdir "$work/lib"
	ln -s "$top/devices/tests/.libs/$2" "$work/lib/$name"
}
here() { # yes|no FILE...: with these files, we are offered
	want=$1
	shift
	rm -rf "$work/root"
	mkdir "$work/root"
	for file; do
		mkdir -p "$work/root/${file%/*}"
		: >"$work/root/$file"
	done
	by env LD_LIBRARY_PATH="$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" PGAS_DEVICE_ROOT="$work/root" \
		TEST_HMEM_HERE="$want" "$top/prov/pgas/tests/test_prov_hmem"
	[ $rc -eq 0 ] && grep -q 'PASSED.*1 test' "$work/out"
	check "$name, files: ${*:-none}: offered: $want"
}

lib libcuda.so.1 fake_cuda.so
here no
here no dev/dri/card0
here yes dev/nvidiactl
here yes dev/nvidia0
here yes proc/driver/nvidia/gpus/0000:01:00.0/information
lib libamdhip64.so fake_hip.so
here no dev/dri/card0
here yes dev/kfd
lib libze_loader.so.1 fake_ze.so
here no dev/dri/card0
here yes dev/dri/renderD128
finish
