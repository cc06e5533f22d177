/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of perffake.c that gpufake.c calls. */
#ifndef PERFFAKE_H
#define PERFFAKE_H

struct drm_device;
struct drm_driver;

void perffake_driver(struct drm_driver *driver);
int perffake_start(struct drm_device *drm);

#endif
