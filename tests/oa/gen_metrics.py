#!/usr/bin/env python3
"""gen_metrics.py FOLDER: writes metric files of all platforms, FOLDER/i915/oa-*.xml and
FOLDER/xe/oa-*.xml, in the format of the public files of IGT GPU Tools. The sets, their counters,
guids and registers are invented; the equations have each operator of the language. The output
depends on nothing but this file. SPDX-License-Identifier: MIT"""
import os
import random
import sys
import uuid
from xml.sax.saxutils import quoteattr

PLAIN, GENERIC, MEDIA, PEC = "", "256B_GENERIC_NOA16", "128B_MPEC8_NOA16", "576B_PEC64LL"
FILES = {f"i915/{name}": PLAIN for name in (
    "adl bdw bxt cflgt2 cflgt3 chv cnl dg1 ehl glk hsw icl kblgt2 kblgt3 rkl sklgt2 sklgt3 sklgt4 tglgt1 tglgt2").split()}
FILES.update({f"xe/{name}": PLAIN for name in "acmgt1 acmgt2 acmgt3 adl dg1 pvc rkl tglgt1 tglgt2".split()})
FILES.update({name: GENERIC for name in ("i915/mtlgt2", "i915/mtlgt3", "xe/mtlgt2", "xe/mtlgt3")})
FILES.update({name: PEC for name in ("xe/bmg", "xe/lnl", "xe/ptl")})
SETS = "RenderBasic ComputeBasic Threads Pixels Memory Arrays Waits Bits".split()
OLD = ("$SliceMask 1 AND", "$SubsliceMask 2 AND", "$SubsliceMask 0x10 AND", "true $QueryMode &&", "$SliceMask 0x02 AND",
       "$SubsliceMask 1 2 << AND")
NEW = ("$GtSlice0XeCore1", "$GtSlice0XeCore3", "$XeCoreTotalCount 4 UGTE", "true $QueryMode &&", "$XeCoreTotalCount 2 ULT")
PEC_ONLY = ("$GtXeCore1", "$GtXeCore11", "$XeCoreTotalCount 4 UGTE", "true $QueryMode &&", "$XeCoreTotalCount 9 ULTE")

# (type, unit, equation, maximum): {a}, {b} and {c} are reads of a counter.
FORMS = (
    ("uint64", "threads", "{a}", None), ("uint64", "events", "{a} {b} UADD", None), ("uint64", "events", "{a} {b} USUB", None),
    ("uint64", "bytes", "{a} 64 UMUL", "$GpuTime 100 UMUL"), ("uint64", "events", "{a} {b} UMIN", None),
    ("uint64", "number", "{a} 0xffff AND", "0xffff"), ("uint64", "bytes", "{a} 6 <<", None), ("uint64", "cycles", "{a} 3 >>", None),
    ("uint64", "messages", "{a} {b} UADD {c} UADD 3 UDIV", None), ("uint64", "number", "{a} {b} UGT", "1"),
    ("uint64", "number", "{a} {b} ULTE {b} {c} UGTE &&", "1"), ("uint64", "number", "{a} {b} ULT 5 UMUL", None),
    ("uint64", "pixels", "{a} {b} FADD 4 UMUL", None), ("uint64", "texels", "$Part0 $Part1 UADD {a} UMIN", None),
    ("float", "percent", "{a} $EuCoresTotalCount UDIV 100 UMUL $GpuCoreClocks FDIV", "100"),
    ("float", "number", "{a} {b} FMAX {c} FDIV", None), ("float", "number", "{a} {b} FSUB 7 FDIV", None),
    ("float", "number", "{a} 3 FMUL {b} FADD $GpuTime FDIV", "$GpuTime 2 FDIV"), ("float", "number", "{a} {b} FDIV", None),
    ("float", "percent", "{a} {b} {c} FADD UDIV 100 UMUL $EuSubslicesTotalCount FDIV", None),
    ("uint64", "bytes", "{a} {b} FDIV $GpuTime UMUL", None), ("uint64", "cycles", "$GpuCoreClocks {a} UMIN $Part0 UADD", None),
)
# Percentages that do not exceed 100 with any values of the counters of a real device.
SHARES = "A 0 READ 100 UMUL $GpuCoreClocks FDIV", "A 7 READ 100 UMUL $EuCoresTotalCount FDIV $GpuCoreClocks FDIV", \
    "A 8 READ $EuCoresTotalCount UDIV 100 UMUL $GpuCoreClocks FDIV"
MARK = " of a device that does not exist, which a test counts during the measurement of a recording."


def element(tag, **attributes):
    return "<" + tag + "".join(f"\n             {k}={quoteattr(str(v))}" for k, v in attributes.items() if v is not None)


class Writer:
    def __init__(self, path, fmt):
        # the files of i915 and xe for one GPU have the same sets
        self.name, self.fmt = os.path.basename(path), fmt
        self.rng = random.Random(self.name)
        self.group = "PEC" if fmt == PEC else "A"
        self.most = {PEC: 64, MEDIA: 8, GENERIC: 38}.get(fmt, 45 if self.name == "hsw" else 36)
        self.lines = []

    def read(self):
        """Returns a read of a random counter of A or PEC, and sometimes of B or C."""
        n = self.rng.getrandbits(16)
        if self.fmt != PEC and n % 5 == 0:
            return f"{'BC'[n // 5 % 2]} {n // 10 % 8} READ"
        return f"{self.group} {n % self.most} READ"

    def counter(self, name, is_float, unit, equation, most=None, availability=None):
        kind = "ratio" if unit == "percent" else "event"
        self.lines.append(element(
            "counter", name=name, symbol_name=name, underscore_name=name.lower(), description=f"The number of {name}" + MARK,
            data_type="float" if is_float else "uint64", max_equation=most, units=unit, semantic_type=kind, equation=equation,
            availability=availability, mdapi_group="Tests", mdapi_usage_flags="Overview System Frame Batch Draw",
            mdapi_supported_apis="VK OGL OCL IO", mdapi_hw_unit_type="gpu") + "/>")

    def basics(self):
        """Returns the first lines of each set of the public files."""
        hsw = self.name == "hsw"
        self.counter("GpuTime", False, "ns", "GPU_TIME 0 READ 1000000000 UMUL $GpuTimestampFrequency UDIV")
        self.counter("GpuCoreClocks", False, "cycles", "C 2 READ" if hsw else "GPU_CLOCK 0 READ")
        self.counter("AvgGpuCoreFrequency", False, "hz", "$GpuCoreClocks 1000000000 UMUL $GpuTime UDIV", "$GpuMaxFrequency")
        self.counter("VsThreads", False, "threads", self.group + " 1 READ")
        self.counter("EuActive", True, "percent", SHARES[1].replace("A ", self.group + " "), "100")
        self.counter("Part0", False, "events", self.read())
        self.counter("Part1", False, "events", self.read() + " 2 UMUL")

    def set(self, name, fmt):
        self.fmt, self.most = fmt, 8 if fmt == MEDIA else self.most
        self.lines.append(element("set", name=name + " of a test", chipset=self.name.upper(), symbol_name=name,
                                  underscore_name=name.lower(), mdapi_supported_apis="VK OGL OCL IO", oa_format=fmt or None,
                                  hw_config_guid=uuid.UUID(int=self.rng.getrandbits(128), version=4)) + ">")
        self.basics()
        if self.fmt in (PLAIN, GENERIC):
            for i in range(10):
                self.counter(f"Share{i}", True, "percent", SHARES[i % 3], "100")
        masks = PEC_ONLY if self.group == "PEC" else NEW if fmt in (GENERIC, MEDIA) or self.name.startswith("acm") else OLD
        for i in range(2 * len(FORMS)):
            kind, unit, equation, most = FORMS[i % len(FORMS)]
            self.counter(f"{name}{i}", kind == "float", unit, equation.format(a=self.read(), b=self.read(), c=self.read()), most,
                         masks[i % len(masks)] if i % 4 == 3 else None)
        for kind, base in ("NOA", 0x9800), ("OA", 0xd900), ("FLEX", 0xe458):
            self.lines.append(element("register_config", type=kind) + ">")
            for i in range(5):
                self.lines.append(f'<register type="{kind}" address="0x{base + 4 * i:08X}" value="0x{self.rng.getrandbits(32):08X}" />')
            self.lines.append("</register_config>")
        self.lines.append("</set>")

    def text(self):
        fmt = self.fmt
        for name in SETS:
            self.set(name, fmt)
        if fmt in (GENERIC, PEC):
            self.group = "A"
            self.set("Media", MEDIA)
        return '<?xml version="1.0"?>\n<metrics version="1" merge_md5="">\n' + "\n".join(self.lines) + "\n</metrics>\n"


def main(folder):
    for path, fmt in FILES.items():
        where, name = os.path.split(path)
        os.makedirs(os.path.join(folder, where), exist_ok=True)
        with open(os.path.join(folder, where, f"oa-{name}.xml"), "w", encoding="ascii") as f:
            f.write(Writer(path, fmt).text())


if __name__ == "__main__":
    main(sys.argv[1])
