/* device.h - interface of sources/device: GPU devices, their sysfs files and their device nodes.
 * Functions that are not declared here are static. SPDX-License-Identifier: MIT */
#ifndef DEVICE_H
#define DEVICE_H

#include "base.h"
#include "counters.h"
#include "parse.h"

/* --- sources/device/sysfs.c: devices and the values in their sysfs files --------------------- */

extern const struct source src_sysfs;
enum { DEVICE_LEFT_OUT = 1, DEVICE_BY_DRIVER = 2 /* -d driver:NAME */ };

/* These settings say what is read of devices. */
extern struct sensing {
	bool listing; /* read limits too, and find the reasons for missing values */
	/* Returns whether records show this counter. Counters that are only shown are not read if
	 * hidden. NULL: all are read. */
	bool (*filter)(u8 desc);
	/* Returns how options select a device: DEVICE_* bits. NULL: they do not. */
	u8 (*choice)(u32 device);
} sensing;

/* Some drivers count for clients only while their profiling knob is on. profiling_start() switches
 * it on until profiling_restore(), which a signal handler may call. denied() is called for a device
 * whose knob could not be set. */
void profiling_start(void (*denied)(const char *dev, long err));
void profiling_restore(void);
/* The knob's value that switches all profiling on; NULL: the driver has no such knob. */
const char *profiling_value(const struct device *d);
u32 sysfs_device(unsigned maj, unsigned min);
u32 sysfs_device_at_slot(struct str pdev);
u32 sysfs_device_by(struct str pdev, struct str driver);
bool sysfs_node(struct str name, unsigned *maj, unsigned *min);
/* The text of a file in a device's folder, until the next file is read; empty if there is none. */
struct str sysfs_text(u32 device, const char *leaf);
bool sysfs_readable(void); /* /sys can be read: a device that it does not list does not exist */
/* Adds the increase of fileio.transient since the last call to registry.dropped and
 * registry.transient. */
void transient_errors_count(void);

/* --- files with values: rows of sources/device/sysfs.c and boards.c -------------------------- */

/* The format of a file's text. */
enum filetype {
	T_NUMBER, T_ADD, T_DPM, T_LINK, T_V3D, T_TRANS, T_METRICS, T_REASONS, T_PSTATE,
	T_BOARD /* a form of boards.c */
};

/* The source of an instance's name, or the name itself. */
enum {
	NO_INST,
	FROM_DIR,  /* the folder that the last '*' matched */
	FROM_LEAF, /* the part of the file's name that '*' matched */
	FROM_CHAN, /* hwmon: the channel's label, else the channel */
	FROM_ZONE, /* the thermal zone's type, if that is a GPU or an NPU */
	IS_MEM, IS_VCN, IS_SCLK, IS_MCLK, IS_SOCCLK, IS_FCLK, IS_VCLK, IS_DCLK, IS_DCEFCLK,
	IS_MEDIA, IS_GT0, IS_MEMORY, IS_NPU, IS_GPU
};

enum {
	A_ASLEEP = 1, /* reading it cannot wake the device */
	A_LIMIT = 2,  /* for `list` only */
	A_SLOW = 4,   /* at least a second between two reads: its ABI page says so, or it waits */
	A_FIXED = 8,  /* constant while the driver is bound: read once */
	A_ON = 16,    /* reading it powers the device on: read only while its state is "active" */
};

/* A file, or several files, and its counter. */
struct attr {
	u8 folder; /* in folders[] of sysfs.c; T_BOARD: enum form of boards.c */
	u8 format, desc, flags; /* flags: A_* */
	u8 zeros; /* zeros to append: the power of ten from the file's unit to the registry's */
	u8 inst;
	const char *leaf;
};

/* A folder whose files are opened for a device. */
struct probe {
	const struct attr *first, *end; /* rows of the same folder */
	u32 device;
	int root; /* roots.sys or roots.proc */
	bool asleep;
};

/* The last value of a device's file that could not be read, for --verbose. */
extern struct failed {
	const char *dev, *leaf; /* leaf: NULL if there is none */
	long error;             /* -errno; 0: the text is invalid */
} sysfs_failed;

typedef void folder_fn(void *arg, const char *path, struct str star);

bool path_join(char *out, size_t cap, const char *a, const char *b);
void match_folders(int root, const char *path, struct str pattern, struct str star,
		   folder_fn *each, void *arg);
void probe_dir(void *arg, const char *path, struct str star); /* arg: a struct probe */
u32 device_by_ino(const struct stat *st);
u32 device_in_folder(int root, const char *path);
void device_missing(const char *path);
void device_identify(u32 n);
void device_end(u32 n);

/* --- sources/device/boards.c: devices of vendor drivers, an optional feature ------------------ */

void boards_start(void);
void boards_probe(u32 device, bool asleep);
bool board_store(const struct attr *a, struct entity *e, struct str inst, struct str text, i64 t);

/* --- sources/device/hwmon.c: channels of hwmon chips --------------------------------------- */

#define HWMON_DIR "class/hwmon"

/* A kind of channel of hwmon chips. A chip's folder is class/hwmon/DIR; the kernel's values are in
 * raw_unit, a thousandth or a millionth of unit, or unit itself. */
struct channel {
	char prefix[9], unit[4], raw_unit[9];
	u8 point, rule; /* enum rule */
	const char *what;
};

const struct channel *channel_find(struct str name);
const char *hwmon_path(const char *dir, struct str leaf, const char *tail);
int channel_open(const char *dir, struct str name);
bool channel_read(int fd, int state, u64 *value);

/* --- sources/device/vcio.c: values of a Raspberry Pi's firmware, an optional feature --------- */

#define VCIO_REQUEST _IOWR(100, 0, char *) /* drivers/char/broadcom/vcio.c */

extern const struct source src_vcio; /* samples the devices of src_sysfs, after it */
/* Must be called before the sandbox is entered, which allows this descriptor VCIO_REQUEST. */
i32 vcio_fd(void);
bool vcio_asked(void); /* there was a device with such values */
/* The reason why a device lacks values of the firmware, until the next call; NULL: it lacks none,
 * or there is no /dev/vcio. */
const char *vcio_reason(void);

/* --- sources/device/nodes.c: notices of opened, new and removed device nodes ----------------- */

void nodes_start(void);
void nodes_stop(void);
bool nodes_changed(void); /* the caller has to search for new and removed devices */
bool nodes_vendors(void); /* this search includes the devices of vendors' drivers */
bool nodes_nvidia(void);  /* this search includes the GPUs of NVIDIA's driver */
bool nodes_opened(void);  /* a process opened one since the last call */
i32 nodes_fd(void);       /* becomes readable when one is opened, created or removed; -1: none */
extern u32 nodes_opens;   /* opens so far, at least: the kernel combines equal ones */
/* The folder whose nodes are watched for opens; *why: -errno if they cannot be watched, else 0. */
const char *nodes_folder(long *why);

/* --- sources/device/names.c: names of devices, an optional feature ---------------------------- */

/* Without it, the name of a device is what its driver's /proc file says, or VENDOR:DEVICE. */
/* Finds the names of devices that have none yet. folder: that of pci.ids and amdgpu.ids; NULL: that
 * where systems have them. */
void names_find(const char *folder);
bool name_has(u32 device, struct str part); /* in upper or lower case */
/* Returns the node, driver or PCI slot of a device that s may be a misspelling of. It is valid
 * until the next call. */
struct nearest name_nearest(struct str s);

/* --- sources/device/drivers.c: driver behaviour that the DRM standard leaves open ------------- */

enum { Z_RESIDENT = 1, Z_PURGEABLE = 2, Z_ACTIVE = 4, Z_ALL = 7 };

struct driver {
	struct str name; /* a pattern with '*': sysfs and DRM do not always use the same name */
	bool quiet; /* reading its fdinfo takes no runtime reference: a suspended device stays so */
	/* Reading the fdinfo of a client can crash the kernel: it is read only if the user names
	 * the driver. */
	bool crashes;
	u8 zero;    /* Z_*: a missing key of a region means 0 (drm_show_memory_stats, Linux 6.13) */
	const char *engines, *memory; /* why the driver does not report them; NULL: it does */
};

const struct driver *driver_find(struct str name); /* an empty row if the driver is not known */
void put_drivers(struct buf *b); /* appends as many names as b has room for */

/* --- sources/device/dmem.c: values of cgroup files, an optional feature ----------------------- */

void dmem_read(void); /* the video memory of devices */
void cgroups_read(bool asked, bool (*shows)(u8 desc));

/* --- sources/device/gpumetrics.c: the values in amdgpu's gpu_metrics ------------------------- */

/* One value of amdgpu's gpu_metrics blob, with the descriptor and the instance of the registry. */
struct metric {
	u8 desc;
	const char *inst;
	u64 v;
};

bool metrics_next(struct str blob, size_t *row, struct metric *m);
bool metrics_is_apu(struct str blob);
bool metrics_throttle(struct str blob, size_t *bit, const char **reason, bool *on);

enum { NVIDIA_CTL = 255 }; /* the number of the node of NVIDIA's driver that is not of a GPU */

/* --- sources/device/nvidia.c: NVIDIA's driver, an optional feature ---------------------------- */

/* Returns whether NVIDIA's driver is asked about a device: its processes are the clients then. */
bool nvidia_covers(u32 device);

/* Returns the number of a device's node, asked of the control node, which wakes no GPU. NVIDIA_CTL:
 * unknown. */
i32 nvidia_minor(u32 device);

/* Reads NVIDIA's GPUs that are awake. Returns whether their processes are others now. */
bool nvidia_sample(void);
void nvidia_rest(void);
/* Opens the driver's node, and admits its ioctl requests, also if the driver is loaded later. A
 * command that samples devices calls it before sandbox_enter(). */
void nvidia_admit(void);
bool nvidia_asked(u32 device); /* the driver was asked about it, and it is awake */
/* Returns why the driver does not tell the utilisation of such a device; NULL: it does. denied: for
 * lack of permission. */
const char *nvidia_reason(u32 device, bool *denied);
/* Calls found() for each process that uses a GPU; slot: NV_SLOT and the device. False: there is no
 * such GPU. */
bool nvidia_scan(void (*found)(u32 pid, u32 device, u32 slot));
enum { NV_SLOT = 64 }; /* kfd.c has those below */
/* Takes a reading of a process, whose pid is the key of c. False: it uses the GPU no more, or the
 * GPU sleeps or does not answer. */
bool nvidia_read(struct client *c, i64 t);

/* --- sources/device/nvidiadecode.c: answers of NVIDIA's driver, an optional feature ----------- */

enum { NV_MEMORY, NV_GR, NV_NVENC, NV_NVDEC, NV_NVJPG, NV_NVOFA, NV_ENGINES };
enum {
	NV_RINGS = 4, NV_ECCS = 7,
	NV_NO_PSTATE = 255,
	NV_ANSWER = 55888, /* bytes of the largest answer */
	NV_SENSORS = 5, NV_SENSOR_BYTES = 1432,
	NV_PID_BYTES = 72, /* of an entry of the memory of processes */
	NV_ANY = 0, /* of struct nvquery: all processes, and work of none */
};

/* A layout of the ring of samples. */
struct nvring {
	u16 bytes, count, sample; /* of the whole answer; samples; bytes of a sample */
	u16 engine[NV_ENGINES];   /* offset in a sample; 0: the release has none */
};
extern const struct nvring nvrings[NV_RINGS];
extern const u16 nveccs[NV_ECCS];

/* The samples that are summed: of one engine, after `since` if it is known. */
struct nvquery {
	u64 since; /* the driver's time, ns */
	u32 pid;
	u8 engine;
	bool known;
	bool inner; /* pid is one of an inner pid namespace */
};
struct nvsum {
	u64 work, time; /* ns */
};

bool nvring_newest(const char *answer, const struct nvring *r, u64 *t);
bool nvring_sum(const char *answer, const struct nvring *r, const struct nvquery *q,
		struct nvsum *s);
bool nvecc_sum(const char *answer, size_t n, u64 *corrected, u64 *uncorrected);
bool nvmemory(const char *list, u64 *total, u64 *used);
u8 nvpstate(u32 mask);
bool nvprocess(const char *entry, u32 *pid, u64 *resident, u64 *shared);
void nvsensors_ask(char *request);
bool nvsensor(const char *answer, u32 sensor, const char **name, i64 *v);

#endif
