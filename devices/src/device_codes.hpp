// SPDX-License-Identifier: BSD-3-Clause
//
// Return codes of the CUDA driver. HIP uses the same numbers.
#pragma once

#include <cerrno>

namespace pgas::devices {

enum cuda_code : int {
	kCudaInvalidValue = 1,
	kCudaOutOfMemory = 2,
	kCudaNotInitialized = 3,
	kCudaDeinitialized = 4,
	kCudaStubLibrary = 34,
	kCudaNoDevice = 100,
	kCudaInvalidDevice = 101,
	kCudaInvalidContext = 201,
	kCudaMapFailed = 205,
	kCudaAlreadyMapped = 208,
	kCudaNoPeerAccess = 217,
	kCudaInvalidText = 218, // a kernel's text is for a later driver or a later device
	kCudaInvalidHandle = 400,
	kCudaNotFound = 500,
	kCudaIllegalAddress = 700,
	kCudaTooManyPeers = 711,
	kCudaNotPermitted = 800,
	kCudaNotSupported = 801,
	kCudaNotReady = 802,
	kCudaVersionMismatch = 803,
};

inline int errno_of_cuda(int code)
{
	switch (code) {
	case kCudaOutOfMemory:
		return -ENOMEM;
	case kCudaInvalidValue:
	case kCudaInvalidContext:
	case kCudaInvalidHandle:
	case kCudaMapFailed:
	case kCudaAlreadyMapped:
		return -EINVAL;
	case kCudaNotInitialized:
	case kCudaDeinitialized:
	case kCudaStubLibrary:
	case kCudaNoDevice:
	case kCudaInvalidDevice:
	case kCudaNotReady:
	case kCudaVersionMismatch:
		return -ENODEV;
	case kCudaIllegalAddress:
		return -EFAULT;
	case kCudaNotPermitted:
		return -EPERM;
	case kCudaInvalidText:
	case kCudaNotSupported:
	case kCudaNoPeerAccess:
	case kCudaTooManyPeers:
		return -EOPNOTSUPP;
	default:
		return -EIO;
	}
}

} // namespace pgas::devices
