# dumps.py - hand-written fdinfo dumps with the values that a decoder must read: (name, text,
# expected values). A line of the text is "key:TAB value"; the expected values were also written by
# hand, with the calculation if there is one.
# SPDX-License-Identifier: MIT
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def text(driver, client, *lines, pdev="0000:03:00.0"):
    head = ["pos:\t0", "flags:\t02100002", "mnt_id:\t26", "ino:\t415", f"drm-driver:\t{driver}", f"drm-client-id:\t{client}"]
    return "\n".join([*head, *([f"drm-pdev:\t{pdev}"] if pdev else []), *lines]) + "\n"


def want(driver, client, pdev="0000:03:00.0", name=None, engine=None, memory=None, other=None, skipped=0):
    head = {"driver": driver, "pdev": pdev, "client": client, "name": name}
    return {"head": {k: v for k, v in head.items() if v is not None}, "engine": engine or {}, "memory": memory or {},
            "other": other or {}, "skipped": skipped}


def busy(ns, capacity=1):
    return {"busy_ns": ns, "capacity": capacity}


DUMPS = (
    ("only a client", text("i915", 1), want("i915", 1)),
    ("a platform device has no pdev", text("msm", 2, "drm-engine-gpu:\t17 ns", pdev=None),
     want("msm", 2, None, engine={"gpu": busy(17)})),
    ("four engines, one of which occurs twice", text(
        "i915", 3, "drm-engine-render:\t1000000001 ns", "drm-engine-copy:\t0 ns", "drm-engine-video:\t5 ns",
        "drm-engine-capacity-video:\t2", "drm-engine-video-enhance:\t7 ns"),
     want("i915", 3, engine={"render": busy(1000000001), "copy": busy(0), "video": busy(5, 2), "video-enhance": busy(7)})),
    ("the capacity before the time", text("i915", 4, "drm-engine-capacity-vcs:\t4", "drm-engine-vcs:\t12 ns"),
     want("i915", 4, engine={"vcs": busy(12, 4)})),
    ("a capacity of 0 is 1", text("xe", 5, "drm-engine-capacity-rcs:\t0", "drm-engine-rcs:\t3 ns"),
     want("xe", 5, engine={"rcs": busy(3)})),
    ("cycles of xe", text("xe", 6, "drm-cycles-rcs:\t28257900", "drm-total-cycles-rcs:\t7655183225", "drm-engine-capacity-rcs:\t1"),
     want("xe", 6, engine={"rcs": {"cycles": 28257900, "total_cycles": 7655183225, "capacity": 1}})),
    ("frequencies in each unit", text(
        "panfrost", 7, "drm-engine-fragment:\t1846584880 ns", "drm-cycles-fragment:\t1424359409", "drm-maxfreq-fragment:\t799999987 Hz",
        "drm-curfreq-fragment:\t799 MHz", "drm-maxfreq-vertex:\t2 KHz", pdev=None),
     want("panfrost", 7, None, engine={
         "fragment": {"busy_ns": 1846584880, "cycles": 1424359409, "maxfreq": 799999987, "curfreq": 799 * 10**6, "capacity": 1},
         "vertex": {"maxfreq": 2000, "capacity": 1}})),
    ("regions in each unit", text("xe", 8, "drm-total-vram0:\t3 GiB", "drm-shared-vram0:\t5 MiB", "drm-resident-vram0:\t7 KiB",
                                  "drm-purgeable-vram0:\t9", "drm-active-vram0:\t0"),
     want("xe", 8, memory={"vram0": {"total": 3 * GIB, "shared": 5 * MIB, "resident": 7 * KIB, "purgeable": 9, "active": 0}})),
    ("a region of each kind of memory", text("i915", 9, "drm-total-system0:\t1 MiB", "drm-total-local0:\t2 MiB", "drm-total-stolen-local0:\t0",
                                             "drm-resident-system0:\t4 KiB"),
     want("i915", 9, memory={"system0": {"total": MIB, "resident": 4 * KIB}, "local0": {"total": 2 * MIB}, "stolen-local0": {"total": 0}})),
    ("drm-memory is resident", text("amdgpu", 10, "drm-memory-vram:\t2068 KiB", "drm-memory-gtt: 8192 KiB", "pasid:\t32784"),
     want("amdgpu", 10, memory={"vram": {"resident": 2068 * KIB}, "gtt": {"resident": 8192 * KIB}}, other={"pasid": "32784"})),
    ("drm-resident comes before its old spelling", text("amdgpu", 11, "drm-resident-vram:\t6 KiB", "drm-memory-vram:\t8 KiB"),
     want("amdgpu", 11, memory={"vram": {"resident": 6 * KIB}})),
    ("drm-resident comes after its old spelling", text("amdgpu", 11, "drm-memory-vram:\t8 KiB", "drm-resident-vram:\t6 KiB"),
     want("amdgpu", 11, memory={"vram": {"resident": 6 * KIB}})),
    ("keys of a driver", text("amdgpu", 12, "amd-evicted-vram:\t0 KiB", "amd-requested-gtt:\t20480 KiB"),
     want("amdgpu", 12, other={"amd-evicted-vram": "0 KiB", "amd-requested-gtt": "20480 KiB"})),
    ("a name with spaces", text("msm", 13, "drm-client-name:\tWeb Content", pdev=None), want("msm", 13, None, "Web Content")),
    ("spaces around values", text("v3d", 14, "drm-engine-bin:   \t 17 ns \t", pdev=None), want("v3d", 14, None, engine={"bin": busy(17)})),
    ("no space after the colon", text("v3d", 15, "drm-engine-bin:17 ns", pdev=None), want("v3d", 15, None, engine={"bin": busy(17)})),
    ("the largest time", text("i915", 16, f"drm-engine-render:\t{2**64 - 1} ns"), want("i915", 16, engine={"render": busy(2**64 - 1)})),
    ("a time of more than 64 bits", text("i915", 17, f"drm-engine-render:\t{2**64} ns"), want("i915", 17, skipped=1)),
    ("a size of more than 64 bits in bytes", text("i915", 18, f"drm-total-system0:\t{2**54} KiB", f"drm-total-local0:\t{2**42} KiB"),
     want("i915", 18, memory={"local0": {"total": 2**52}})),
    ("a size of more than 52 bits is unknown", text("i915", 18, f"drm-total-system0:\t{2**54 - 1} KiB", f"drm-total-local0:\t{2**52 + 1}"),
     want("i915", 18)),
    ("the old key after a size that is unknown",
     text("amdgpu", 18, "drm-resident-vram:\t18446744073709551615", "drm-memory-vram:\t4 KiB", "drm-resident-gtt:\t3 KiB",
          f"drm-memory-gtt:\t{2**54} KiB"), want("amdgpu", 18, memory={"gtt": {"resident": 3 * KIB}})),
    ("a time below 0", text("i915", 19, "drm-engine-render:\t-1 ns"), want("i915", 19, skipped=1)),
    ("a number with letters", text("i915", 20, "drm-engine-render:\t1a ns", "drm-engine-copy:\t2 ns"),
     want("i915", 20, engine={"copy": busy(2)}, skipped=1)),
    ("a unit that does not exist", text("xe", 21, "drm-total-vram0:\t1 KB", "drm-total-gtt:\t1 KiB"),
     want("xe", 21, memory={"gtt": {"total": KIB}}, skipped=1)),
    ("names that are empty", text("xe", 22, "drm-engine-:\t1 ns", "drm-total-:\t1 KiB"), want("xe", 22, skipped=2)),
    ("values that are empty", text("xe", 23, "drm-engine-rcs:", "drm-total-gtt:\t", "drm-engine-bcs:\t1 ns"),
     want("xe", 23, engine={"bcs": busy(1)}, skipped=2)),
    ("a line without a colon", text("xe", 24, "nothing"), want("xe", 24, skipped=1)),
    ("a key of a later standard", text("xe", 25, "drm-evicted-vram0:\t1 KiB"), want("xe", 25, other={"drm-evicted-vram0": "1 KiB"})),
    ("keys in capitals", text("xe", 26, "DRM-ENGINE-rcs:\t1 ns"), want("xe", 26, other={"DRM-ENGINE-rcs": "1 ns"})),
    ("the largest client id", text("xe", 2**32 - 1), want("xe", 2**32 - 1)),
    ("a last line without a newline is not read", text("xe", 28, "drm-engine-bcs:\t5 ns", "drm-engine-rcs:\t12 ns")[:-1],
     want("xe", 28, engine={"bcs": busy(5)})),
    ("an NPU", text("intel_vpu", 29, "drm-total-memory:\t8 MiB", "drm-resident-memory:\t6 MiB"),
     want("intel_vpu", 29, memory={"memory": {"total": 8 * MIB, "resident": 6 * MIB}})),
)
