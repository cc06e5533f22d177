/* gpustat/version.h - the version of libgpustat and libperfmon2, for #if.
 * SPDX-License-Identifier: MIT */
#ifndef GPUSTAT_VERSION_H
#define GPUSTAT_VERSION_H

#define GPUSTAT_VERSION_MAJOR 0
#define GPUSTAT_VERSION_MINOR 2
#define GPUSTAT_VERSION_PATCH 0
/* The version as one number, for example 0x000200 for 0.2.0. A later version has a greater
 * number. */
#define GPUSTAT_VERSION \
	(GPUSTAT_VERSION_MAJOR << 16 | GPUSTAT_VERSION_MINOR << 8 | GPUSTAT_VERSION_PATCH)

#endif
