/* SPDX-License-Identifier: GPL-2.0 */
/* What gpufake.c needs of perffake.c. */
#ifndef PERFFAKE_H
#define PERFFAKE_H

struct drm_device;
struct drm_driver;

void perffake_driver(struct drm_driver *driver);
int perffake_start(struct drm_device *drm);

#endif
