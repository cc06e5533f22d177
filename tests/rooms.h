/* rooms.h - for tests: the headers of all folders of sources/, and of views/.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_ROOMS_H
#define TESTS_ROOMS_H

#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sources/drm/drm.h"
#include "sources/perf/perf.h"
#include "sources/oa/oa.h"
#include "sources/host/host.h"
#include "sources/catalog/catalog.h"
#include "views/views.h"

#endif
