################################################################################
#
# gpustat
#
################################################################################

GPUSTAT_VERSION = 0.2.0
GPUSTAT_SITE = $(GPUSTAT_PKGDIR)/dist
GPUSTAT_SITE_METHOD = file
GPUSTAT_SOURCE = gpustat-$(GPUSTAT_VERSION).tar.gz
GPUSTAT_LICENSE = MIT
GPUSTAT_LICENSE_FILES = LICENSE

# Engine time needs only DRM and /proc; stat and sample need perf events.
define GPUSTAT_LINUX_CONFIG_FIXUPS
	$(call KCONFIG_ENABLE_OPT,CONFIG_PERF_EVENTS)
endef

# Members of this group may run the program if it is given capabilities.
define GPUSTAT_USERS
	- - gpustat -1 - - - - -
endef

GPUSTAT_FEATURES = SMALL=$(if $(BR2_PACKAGE_GPUSTAT_SMALL),1) WITHOUT=$(BR2_PACKAGE_GPUSTAT_WITHOUT)

define GPUSTAT_BUILD_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) $(TARGET_CONFIGURE_OPTS) $(GPUSTAT_FEATURES) UAPI=$(STAGING_DIR)/usr/include -C $(@D)
endef

define GPUSTAT_INSTALL_TARGET_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) $(TARGET_CONFIGURE_OPTS) $(GPUSTAT_FEATURES) UAPI=$(STAGING_DIR)/usr/include -C $(@D) \
		PREFIX=/usr DESTDIR=$(TARGET_DIR) install
endef

$(eval $(generic-package))
