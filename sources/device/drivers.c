/* drivers.c - table of drivers: behaviour that the DRM standard leaves open. A driver that follows
 * the standard needs no row. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "sources/device/device.h"

#define NVIDIA     "NVIDIA's driver has no file for it"
#define NO_CLIENTS "the driver has no DRM clients"
#define NO_STATS   "the driver prints no client statistics"
#define CRASHES    "reading its fdinfo crashes some kernels; -d driver:pvrsrvkm reads it"

static const struct driver drivers[] = {
	{ STR("amdgpu"), true, false, 0, NULL, NULL },
	{ STR("i915"), true, false, 0, NULL, NULL },
	{ STR("msm*"), true, false, Z_ALL, NULL, NULL },
	{ STR("panfrost"), true, false, Z_ALL, NULL, NULL },
	{ STR("panthor"), true, false, Z_ALL, NULL, NULL },
	{ STR("v3d"), true, false, Z_ALL, NULL, NULL },
	{ STR("etnaviv"), true, false, Z_RESIDENT | Z_ACTIVE, "the driver counts no engine time",
	  NULL },
	{ STR("intel_vpu"), true, false, Z_ALL, "the driver counts no engine time per client",
	  NULL },
	{ STR("amdxdna*"), true, false, Z_ALL, "the driver counts no engine time", NULL },
	/* xe's show_run_ticks(), which prints fdinfo, resumes a suspended GPU */
	{ STR("xe"), false, false, 0, NULL, NULL },
	/* pvr_show_fdinfo() of Imagination's driver (24.2 for Linux 6.6, and others) crashes the
	 * kernel: it dereferences the private data of an open file, which are NULL until the
	 * client's first ioctl. No file in /sys has the version of the driver. */
	{ STR("pvrsrvkm*"), false, true, 0, CRASHES, CRASHES },
	{ STR("nvidia"), false, false, 0, NVIDIA, NVIDIA },
	{ STR("galcore"), false, false, 0, "its file `load` is read only while runtime_status is "
	  "active: a read powers the GPU on", NO_CLIENTS },
};

/* Name patterns of DRM drivers that report no statistics of clients in fdinfo, separated by
 * blanks. */
static const struct str silent = STR("nouveau radeon virtio* vmwgfx lima rocket ethosu "
	"imagination powervr qaic habanalabs nova* tyr vc4* rknpu RKNPU simpledrm "
	"simple-framebuffer ast mgag200 bochs* rockchip-drm imx-drm sun4i-drm "
	"mediatek-drm meson-drm starfive");

/* Name patterns of vendors' drivers that have no DRM clients, separated by blanks. */
static const struct str clientless = STR("nvgpu mali kgsl ged apex hailo neuron");

/* Appends a blank and the name of a driver to b. False if b has no room for them. */
static bool put_driver(struct buf *b, struct str name)
{
	if (b->cap - b->n <= str_len(name))
		return false;
	put_c(b, ' ');
	put_str(b, name);
	return true;
}

void put_drivers(struct buf *b)
{
	struct str names[] = { silent, clientless }, name;

	for (size_t i = 0; i < LEN(drivers); i++)
		if (!put_driver(b, drivers[i].name))
			return;
	for (size_t i = 0; i < LEN(names); i++)
		while (str_word(&names[i], &name) && put_driver(b, name))
			;
}

static bool is_among(struct str names, struct str name)
{
	struct str pattern;

	while (str_word(&names, &pattern))
		if (glob_match(pattern, name, NULL))
			return true;
	return false;
}

const struct driver *driver_find(struct str name)
{
	static const struct driver unknown = { .zero = 0 };
	static const struct driver no_stats = { .engines = NO_STATS, .memory = NO_STATS };
	static const struct driver no_clients = { .engines = NO_CLIENTS, .memory = NO_CLIENTS };

	for (size_t i = 0; i < LEN(drivers); i++)
		if (glob_match(drivers[i].name, name, NULL))
			return &drivers[i];
	return is_among(silent, name) ? &no_stats :
	       is_among(clientless, name) ? &no_clients : &unknown;
}
