/* SPDX-License-Identifier: BSD-3-Clause */
/* The file by which configure scripts of clients recognise a conduit. */
#include <gasnet.h>
