/* device.h - interface of sources/device: GPU devices, their sysfs files and their device nodes.
 * Functions that are not declared here are static. SPDX-License-Identifier: MIT */
#ifndef DEVICE_H
#define DEVICE_H

#include "base.h"
#include "counters.h"
#include "parse.h"

/* --- sources/device/sysfs.c: devices and the values in their sysfs files --------------------- */

extern const struct source src_sysfs;
enum { DEVICE_LEFT_OUT = 1, DEVICE_BY_DRIVER = 2 /* by -d driver:NAME */ };

/* Settings of sources/device that a command of gpustat makes: the devices and values to read. */
extern struct sensing {
	/* true for the command `list`: limits are read too, and a missing value gets a reason */
	bool listing;
	/* Returns true if the output shows the quantity `desc` (D_*). The files of a quantity that
	 * is not shown are read only if other values are computed from it. If filter is NULL, all
	 * files are read. */
	bool (*filter)(u8 desc);
	/* Returns DEVICE_* bits: how the command's options, such as -d, select the device. The
	 * member is NULL if no option selects devices. */
	u8 (*choice)(u32 device);
} sensing;

/* panfrost and panthor count the engine time of clients only while the sysfs file `profiling` of
 * the device is not 0. profiling_start() sets this file, and calls denied() for each device whose
 * file could not be set; err is -errno. profiling_restore() restores the old value; a signal
 * handler may call it. */
void profiling_start(void (*denied)(const char *dev, long err));
void profiling_restore(void);
/* Returns the text to write into the sysfs file `profiling` of the device, so that the driver
 * counts both times and cycles of clients; NULL if the driver has no such file. */
const char *profiling_value(const struct device *d);
u32 sysfs_device(unsigned maj, unsigned min);
u32 sysfs_device_at_slot(struct str pdev);
u32 sysfs_device_by(struct str pdev, struct str driver);
bool sysfs_node(struct str name, unsigned *maj, unsigned *min);
/* Returns the text of the file `leaf` in the device's sysfs folder; empty if it cannot be read. The
 * text is valid until the next file is read. */
struct str sysfs_text(u32 device, const char *leaf);
/* Returns true if /sys can be read. If so, each device of the machine is in /sys. */
bool sysfs_readable(void);
/* Adds to registry.dropped and to registry.transient the number of transient errors of files since
 * the last call. */
void transient_errors_count(void);

/* --- files with values: rows of sources/device/sysfs.c and boards.c -------------------------- */

/* Format of the text in a device's file: value of struct attr's `format`. */
enum filetype {
	T_NUMBER, T_ADD, T_DPM, T_LINK, T_V3D, T_TRANS, T_METRICS, T_REASONS, T_PSTATE,
	T_BOARD /* text in a file of a vendor's driver; enum form of boards.c is its format */
};

/* Values of struct attr.inst, which says how the instance of a counter is named: after a part of
 * the file's path or the file's content (FROM_*), or with a fixed name (IS_*). */
enum {
	NO_INST,
	/* The instance is named after the folder that matched the last '*' in the path. */
	FROM_DIR,
	FROM_LEAF, /* The instance's name is the part of the file's name that matched '*'. */
	/* The instance is named after the hwmon channel: its label, else its name, such as
	 * temp1. */
	FROM_CHAN,
	/* The instance is named after the type of the thermal zone, if the zone is that of a GPU or
	 * an NPU. */
	FROM_ZONE,
	IS_MEM, IS_VCN, IS_SCLK, IS_MCLK, IS_SOCCLK, IS_FCLK, IS_VCLK, IS_DCLK, IS_DCEFCLK,
	IS_MEDIA, IS_GT0, IS_MEMORY, IS_NPU, IS_GPU
};

enum {
	A_ASLEEP = 1, /* reading the file cannot wake the device */
	A_LIMIT = 2,  /* only the command `list` reads the file, for example a limit */
	/* at most one read per second, because the ABI page of the file asks for that, or because a
	 * read takes long */
	A_SLOW = 4,
	A_FIXED = 8,  /* the value is constant while the driver is bound: the file is read once */
	/* reading the file powers the device on: it is read only while runtime_status is
	 * "active" */
	A_ON = 16,
};

/* A sysfs file, or all files whose names match a pattern, and the quantity that it contains. */
struct attr {
	/* index in folders[] of sysfs.c; if `format` is T_BOARD: format of the text, enum form of
	 * boards.c */
	u8 folder;
	u8 format, desc, flags; /* flags: A_* bits */
	/* power of ten that converts the number in the file to the unit of the registry */
	u8 zeros;
	u8 inst;
	const char *leaf;
};

/* The argument of probe_dir(): a device, and the rows of attrs[] or places[] that name the files to
 * open in a folder of the device. */
struct probe {
	/* rows from `first` up to, not including, `end`; all of them name files of the same
	 * folder */
	const struct attr *first, *end;
	u32 device;
	/* descriptor of /sys or /proc (roots.sys or roots.proc), to which the folder's path is
	 * relative */
	int root;
	/* true: opens only files that can be read without waking the device (A_ASLEEP); false: only
	 * the other files */
	bool asleep;
	u8 place; /* for files of places[]: 1 + the index of the row; 0 for those of attrs[] */
};

/* The last device file that could not be read or parsed, for --verbose. */
extern struct failed {
	/* leaf: name of the file; NULL if every file could be read and parsed */
	const char *dev, *leaf;
	long error; /* -errno of the read; 0 if the file was read but its text is invalid */
} sysfs_failed;

typedef void folder_fn(void *arg, const char *path, struct str star);

bool path_join(char *out, size_t cap, const char *a, const char *b);
void match_folders(int root, const char *path, struct str pattern, struct str star,
		   folder_fn *each, void *arg);
/* Opens the files of a device that are in the folder `path`. arg points to a struct probe. */
void probe_dir(void *arg, const char *path, struct str star);
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

/* A kind of channel of hwmon chips, such as temp. The kernel's files class/hwmon/DIR/PREFIX* have
 * values in raw_unit, which is `unit` or a thousandth or a millionth of it. */
struct channel {
	char prefix[9], unit[4], raw_unit[9];
	/* point: number of decimals that convert a value in raw_unit to `unit`, for example 3 from
	 * millivolts to V; rule: enum rule of the counter */
	u8 point, rule;
	u8 range; /* enum sensor_range: the range of plausible readings of a channel of this kind */
	const char *what;
};

const struct channel *channel_find(struct str name);
/* An open hwmon channel, whose value can be read. */
struct channel_file {
	/* fd: descriptor of the file with the value; state: descriptor of runtime_status of the
	 * device, or -1 */
	int fd, state;
	u8 range;      /* enum sensor_range: the range of plausible readings of the channel */
	char name[28]; /* chip folder and channel, such as hwmon3/temp1, for messages */
	/* highest limit that the driver has for the channel, in the unit of the channel's file; 0
	 * if there is none */
	u64 limit;
	struct energy energy;
};

const char *hwmon_path(const char *dir, struct str leaf, const char *tail);
/* Opens an hwmon channel. Returns 0, or -errno. */
long channel_open(struct channel_file *f, const char *dir, struct str name);
/* Stores the value of an hwmon channel: a negative temperature, voltage or current as two's
 * complement, energy as the sum of its plausible increases. Returns false if there is no value, or
 * if the device is suspended: reading the channel would resume it. */
bool channel_read(struct channel_file *f, u64 *value);
void channel_close(struct channel_file *f);
/* Returns the highest limit that the driver has for an hwmon channel; 0 if there is none. path: the
 * chip's folder, relative to /sys; file: a file of the channel, such as temp1_input. */
u64 channel_limit(const char *path, struct str file);

/* --- sources/device/vcio.c: values of a Raspberry Pi's firmware, an optional feature --------- */

#define VCIO_REQUEST _IOWR(100, 0, char *) /* IOCTL_MBOX_PROPERTY of drivers/char/broadcom/vcio.c */

/* The source vcio adds values to devices of src_sysfs, so it must be sampled after src_sysfs. */
extern const struct source src_vcio;
/* Returns the descriptor of /dev/vcio, or -errno. Must be called before the sandbox is entered,
 * which can allow VCIO_REQUEST on this descriptor. */
i32 vcio_fd(void);
/* true if there is a Raspberry Pi GPU about which the firmware can be asked */
bool vcio_asked(void);
/* Returns why the firmware's values of the Raspberry Pi's GPU are missing; NULL if all values are
 * known, or if there is no /dev/vcio. The text is valid until the next call. */
const char *vcio_reason(void);

/* sources/device/nodes.c: inotify events of opened, new and removed device nodes */

void nodes_start(void);
void nodes_stop(void);
bool nodes_changed(void); /* true if the caller has to search for new and removed devices */
/* true if the search for new devices has to include the devices of vendors' drivers (boards.c) */
bool nodes_vendors(void);
bool nodes_nvidia(void);  /* true if the search for new devices has to include NVIDIA's GPUs */
bool nodes_opened(void);  /* true if a process has opened a device node since the last call */
/* Returns the inotify descriptor, which is readable after a device node was opened, created or
 * removed; < 0 if there is none. */
i32 nodes_fd(void);
/* Number of opens of device nodes that inotify has reported. inotify merges equal events, so the
 * real number can be higher. */
extern u32 nodes_opens;
/* Returns the path of the folder whose device nodes are watched for opens. Stores 0 in *why, or
 * -errno if opens cannot be watched. */
const char *nodes_folder(long *why);

/* --- sources/device/names.c: names of devices, an optional feature ---------------------------- */

/* If gpustat is built without names.c, the name of a device is the one that its driver reports,
 * otherwise its PCI ID VENDOR:DEVICE. */
/* Finds a name for each device that has none. folder: the folder of pci.ids and amdgpu.ids; NULL:
 * the folders in which systems usually have these files. */
void names_find(const char *folder);
/* true if the device's name contains the text `part`; upper and lower case are equal */
bool name_has(u32 device, struct str part);
/* Returns the name of a device node, a driver or a PCI slot that is most similar to the misspelt
 * text s. The result is valid until the next call. */
struct nearest name_nearest(struct str s);

/* --- sources/device/drivers.c: driver behaviour that the DRM standard leaves open ------------- */

enum { Z_RESIDENT = 1, Z_PURGEABLE = 2, Z_ACTIVE = 4, Z_ALL = 7 };

struct driver {
	/* pattern of the driver's name ('*' matches any text), because sysfs and DRM can spell it
	 * differently */
	struct str name;
	/* true if reading fdinfo takes no runtime PM reference, so that a suspended device stays
	 * suspended */
	bool quiet;
	/* True if reading the fdinfo of a client can crash the kernel: such fdinfo is read only if
	 * the user names the driver (-d driver:NAME). */
	bool crashes;
	/* Z_* bits: memory keys that the driver's fdinfo omits if they are 0, as
	 * drm_show_memory_stats() of Linux 6.13 does */
	u8 zero;
	/* engines: reason why the driver does not report the engine time of clients; memory: reason
	 * why it does not report their memory; each is NULL if the driver reports it */
	const char *engines, *memory;
};

/* Returns the row about the DRM driver `name`; an empty row if the driver is unknown. */
const struct driver *driver_find(struct str name);
void put_drivers(struct buf *b); /* appends the names of all known drivers to b, as many as fit */

/* sources/device/dmem.c: video memory, main memory and pressure from cgroup files, an optional
 * feature */

/* stores the total and used video memory of devices that the cgroup controller dmem reports */
void dmem_read(void);
void cgroups_read(bool asked, bool (*shows)(u8 desc));

/* --- sources/device/gpumetrics.c: the values in amdgpu's gpu_metrics ------------------------- */

/* One value of amdgpu's file gpu_metrics, with its quantity (D_*) and instance in the registry. */
struct metric {
	u8 desc;
	const char *inst;
	u64 v;
};

bool metrics_next(struct str blob, size_t *row, struct metric *m);
bool metrics_is_apu(struct str blob);
bool metrics_throttle(struct str blob, size_t *bit, const char **reason, bool *on);

enum { NVIDIA_CTL = 255 }; /* minor number of /dev/nvidiactl, which belongs to no GPU */

/* --- sources/device/nvidia.c: NVIDIA's driver, an optional feature ---------------------------- */

/* True if this program reads the values of the device from NVIDIA's driver by ioctl. The clients of
 * such a device are processes, not open files. */
bool nvidia_covers(u32 device);

/* Returns the number N of a device's node /dev/nvidiaN; NVIDIA_CTL if it is unknown. The number is
 * read by an ioctl of the control node /dev/nvidiactl, which wakes no GPU. */
i32 nvidia_minor(u32 device);

/* Reads the values of NVIDIA's GPUs that are awake. True if the set of processes that use them has
 * changed. */
bool nvidia_sample(void);
void nvidia_rest(void);
/* Opens the control node of NVIDIA's driver, and makes the sandbox allow its ioctl requests, also
 * if the driver is loaded later. A command that samples devices calls this before
 * sandbox_enter(). */
void nvidia_admit(void);
/* true if NVIDIA's driver was asked about the device, and the device is awake */
bool nvidia_asked(u32 device);
/* Returns why NVIDIA's driver does not report the utilisation of a device for which nvidia_asked()
 * is true; NULL if it does. Sets *denied if a permission is missing. */
const char *nvidia_reason(u32 device, bool *denied);
/* Calls found() for each process that uses an NVIDIA GPU. slot: number of the GPU that is unique
 * among the GPUs of NVIDIA's and AMD's compute drivers: NV_SLOT + the GPU's index in devices[].
 * False if the machine has no NVIDIA GPU. */
bool nvidia_scan(void (*found)(u32 pid, u32 device, u32 slot));
/* lowest slot (number of a GPU in nvidia_scan() and kfd_scan()) of NVIDIA's GPUs; AMD's GPUs have
 * the slots below NV_SLOT */
enum { NV_SLOT = MAX_DEVICES };
/* Stores the current values of the process whose pid is the key of the client c, read at the time t
 * (ns). False if the process no longer uses the GPU, or if the GPU sleeps or does not answer. */
bool nvidia_read(struct client *c, i64 t);

/* --- sources/device/nvidiadecode.c: answers of NVIDIA's driver, an optional feature ----------- */

enum { NV_MEMORY, NV_GR, NV_NVENC, NV_NVDEC, NV_NVJPG, NV_NVOFA, NV_ENGINES };
enum {
	NV_RINGS = 4, NV_ECCS = 7,
	NV_NO_PSTATE = 255,
	NV_ANSWER = 55888, /* size in bytes of the largest answer of NVIDIA's driver */
	NV_SENSORS = 5, NV_SENSOR_BYTES = 1432,
	/* size in bytes of the entry of one process in the driver's list of memory by process */
	NV_PID_BYTES = 72,
	/* value of nvquery.pid for all processes, including work that belongs to no process */
	NV_ANY = 0,
};

/* A layout of the ring of utilisation samples in NVIDIA's driver, which differs between
 * releases. */
struct nvring {
	/* bytes: size of the driver's answer to the ioctl that reads the ring; count: number of
	 * samples in the answer; sample: size of a sample in bytes */
	u16 bytes, count, sample;
	/* offset of each engine's data in a sample; 0 if the driver's release has no such engine */
	u16 engine[NV_ENGINES];
};
extern const struct nvring nvrings[NV_RINGS];
extern const u16 nveccs[NV_ECCS];

/* Selects the utilisation samples that nvring_sum() adds up: those of one engine, and if `known` is
 * true only those taken after `since`. */
struct nvquery {
	/* only samples taken after this time are added, in ns of the clock of NVIDIA's driver */
	u64 since;
	u32 pid;
	u8 engine;
	bool known;
	/* true if pid belongs to a pid namespace other than the initial one of the machine */
	bool inner;
};
struct nvsum {
	u64 work, time; /* work: ns that the engine worked; time: ns that the added samples cover */
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
