#!/usr/bin/env python3
"""oa_eval.py FILE - a second evaluator of OA equations, for comparison: integers and floats,
without compilation. FILE has lines, as tests/oa/t_oametrics.c writes them:
  F xml                 metric file
  V name value          a variable of the device; one without a line is unknown
  S number              set of the file
  D value...            what each slot counted: time, clock, 64 A, 8 B, 8 C
  C name value max      a counter's value and maximum as 16 hex digits; value may be unknown, max may be -
  E                     no more counters
SPDX-License-Identifier: MIT"""
import struct
import sys
import xml.etree.ElementTree as ET

GROUPS = {"GPU_TIME": (0, 1), "GPU_CLOCK": (1, 1), "A": (2, 64), "PEC": (2, 64), "B": (66, 8), "C": (74, 8)}
MASK = (1 << 64) - 1


class Absent(Exception):
    """A number of the GPU that this device does not have."""


class Unknown(Exception):
    """A value that depends on an unknown variable."""


class Counters(dict):
    """The counters so far; any other name is that of an unknown variable or counter."""

    def __missing__(self, name):
        raise Unknown(name)


class Product(int):
    """A product of two integers, one of which is not a constant: modulo 2^64, but exact in a division."""
    whole = 0


def u64(v):
    """Converts a float by rounding towards 0, within the limits of 64 bits."""
    if isinstance(v, int):
        return v
    return 0 if v != v or v <= 0 else MASK if v >= 2.0 ** 64 else int(v)


def total(op, a, b):
    """Adds or subtracts two integers modulo 2^64; a difference that becomes a float is at least 0."""
    if isinstance(a, int) and isinstance(b, int):
        v = a + b if op.endswith("ADD") else a * b if op.endswith("MUL") else a - b
        return max(v, 0) & MASK if op == "FSUB" else v & MASK
    a, b = float(a), float(b)
    return a + b if op.endswith("ADD") else a * b if op.endswith("MUL") else a - b


def product(a, b):
    v = Product(a * b & MASK)
    v.whole = a * b
    return v


def quotient(a, b):
    return min(getattr(a, "whole", a) // b, MASK) if b else 0


def apply(op, a, b):
    if op == "UMUL" and isinstance(a, int) and isinstance(b, int):
        return product(a, b)
    if op in ("UADD", "USUB", "UMUL"):
        return u64(total(op, a, b))
    if op in ("FADD", "FSUB", "FMUL"):
        return float(total(op, a, b))
    if op == "FDIV":
        return float(a) / float(b) if float(b) else 0.0
    if op == "FMAX":
        return max(float(a), float(b))
    a, b = u64(a), u64(b)
    return {
        "UDIV": lambda: quotient(a, b), "UMIN": lambda: min(a, b), "AND": lambda: a & b,
        "&&": lambda: int(a != 0 and b != 0), "<<": lambda: a << b & MASK if b < 64 else 0,
        ">>": lambda: a >> b if b < 64 else 0, "UGT": lambda: int(a > b), "UGTE": lambda: int(a >= b),
        "ULT": lambda: int(a < b), "ULTE": lambda: int(a <= b),
    }[op]()


def value(equation, var, slots, counters):
    stack = []
    for w in equation.split():
        if w in GROUPS or w == "PERFCNT":
            stack.append(w)
        elif w == "READ":
            i, group = stack.pop(), stack.pop()
            if group == "PERFCNT":
                raise Absent
            assert i < GROUPS[group][1]
            stack.append(slots[GROUPS[group][0] + i])
        elif w[0] == "$":
            name = w[1:]
            if name in var:
                stack.append(var[name])
            elif counters[name] is None:
                raise Absent
            else:
                stack.append(counters[name])
        elif w[0].isdigit():
            stack.append(int(w, 0))
        elif w == "true":
            stack.append(1)
        else:
            b, a = stack.pop(), stack.pop()
            stack.append(apply(w, a, b))
    assert len(stack) == 1
    return stack[0]


def bits(v, is_float):
    """Returns the value in the type of the counter, and its bits as 16 digits."""
    v = float(v) if is_float else u64(v)
    return v, "%016x" % (struct.unpack("<Q", struct.pack("<d", v))[0] if is_float else v)


def evaluate(node, var, slots):
    """Returns the expected lines."""
    counters, lines = Counters(), []
    for c in node.findall("counter"):
        name, is_float = c.get("symbol_name"), c.get("data_type") == "float"
        counters[name] = None
        try:
            if u64(value(c.get("availability") or "1", var, None, {})) == 0:
                continue
            counters[name], shown = bits(value(c.get("equation"), var, slots, counters), is_float)
        except Absent:
            continue
        except Unknown:
            del counters[name]
            shown = "unknown"
        limit, most = c.get("max_equation"), "-"
        try:
            most = bits(value(limit, var, slots, counters), is_float)[1] if limit else "-"
        except Unknown:
            pass
        lines.append("%s %s %s" % (name, shown, most))
    return lines


def main():
    var, got, sets, node, slots, path = {}, [], [], None, [], ""
    compared = wrong = 0
    for line in open(sys.argv[1], encoding="ascii"):
        kind, _, rest = line.rstrip("\n").partition(" ")
        if kind == "F":
            path, sets, var = rest, ET.parse(rest).getroot().findall("set"), {}
        elif kind == "V":
            var[rest.split()[0]] = int(rest.split()[1])
        elif kind == "S":
            node = sets[int(rest)]
        elif kind == "D":
            slots, got = [int(v) for v in rest.split()], []
        elif kind == "C":
            got.append(rest)
        elif kind == "E":
            want = evaluate(node, var, slots)
            compared += len(want)
            if got != want:
                wrong += 1
                bad = [p for p in zip(got + ["-"], want + ["-"]) if p[0] != p[1]][0]
                print("%s %s: got %s, want %s" % (path, node.get("symbol_name"), *bad))
    print("%d values" % compared)
    return wrong != 0 or compared == 0


if __name__ == "__main__":
    sys.exit(main())
