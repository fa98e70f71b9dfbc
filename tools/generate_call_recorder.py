#!/usr/bin/env python3
"""Generates the parts of libreveza_calls.so that exist once per driver call.

Reads the same table and prototypes as generate_driver_calls.py, and writes to a directory of the
build tree:

  driver_entries.inc   all entries, for the resolver; those that are recorded are wrapped
  recorded_calls.h     tables of types and calls (reveza/gpu/calls/format.h)
  recorded_calls.cc    the tables, and the exported functions

Which calls are recorded, and how their parameters are, follows from the prototypes and from the
tables below.
"""

import argparse
import pathlib
import re
import subprocess

import generate_driver_calls as calls

# Calls that change nothing and whose results a program does not pass back to the driver.
QUERY = re.compile(r"Get(?!Proc)|Query|Is[A-Z]|Occupancy|CanAccess|TotalMem|ComputeCapability"
                   r"|DebugDotPrint|TensorMap|Coredump|Logs|Checkpoint")
# Queries that are recorded all the same: they return handles, addresses, or that work is complete.
RECORDED_QUERY = re.compile(
    r"cu(ModuleGet(Function|Global|TexRef|SurfRef)|Library(Get(Module|Global|Managed|Kernel|"
    r"UnifiedFunction))|KernelGetFunction|DeviceGet(Default)?MemPool|MemGet(Default)?MemPool|"
    r"MemHostGetDevicePointer|IpcGet\w+|GraphChildGraphNodeGetGraph|MipmappedArrayGetLevel|"
    r"ArrayGetPlane|GraphicsResourceGetMapped\w+|EventQuery|StreamQuery)")
# Recorded only if they succeed: the work is complete.
COMPLETION = re.compile(r"cu(Event|Stream)Query")
# Return when something is complete, so their place in the order is where they return.
WAITS = re.compile(r"cu(\w+Synchronize|(Event|Stream)Query|Memcpy(2D|3D|DtoH|AtoH)?)")

HANDLES_OF_64_BITS = {"CUmemGenericAllocationHandle", "CUtexObject", "CUsurfObject",
                      "CUgraphConditionalHandle"}
# Names of array parameters, with those of their counts in order of preference.
COUNTS = {
    "dependencies": ("numDependencies",), "from": ("numDependencies", "count"),
    "to": ("numDependencies", "count"), "edgeData": ("numDependencies",),
    "dependencyData": ("numDependencies",), "desc": ("count",), "map": ("count",),
    "paramArray": ("count",), "dsts": ("count",), "srcs": ("count",), "sizes": ("count",),
    "dptrs": ("count",), "prefetchLocs": ("numPrefetchLocs",),
    "prefetchLocIdxs": ("numPrefetchLocs",), "attrs": ("numAttrs",), "attrsIdxs": ("numAttrs",),
    "opList": ("numOps",), "paramsArray": ("numExtSems", "numParams", "count"),
    "extSemArray": ("numExtSems",), "resources": ("count",), "mapInfoList": ("count",),
}
# Array parameters that are read although they are not const.
READ_ARRAYS = {"dsts", "srcs", "sizes", "dptrs", "prefetchLocs", "prefetchLocIdxs", "attrs",
               "attrsIdxs", "opList", "paramArray", "paramsArray", "resources", "mapInfoList"}
# Pointers in structs to arrays of structs, with the members that count them.
MEMBER_COUNTS = {
    ("CUlaunchConfig", "attrs"): "numAttrs",
    ("CUDA_MEM_ALLOC_NODE_PARAMS", "accessDescs"): "accessDescCount",
    ("CUDA_BATCH_MEM_OP_NODE_PARAMS", "paramArray"): "count",
}
# Addresses in unions.
UNION_MEMBERS = {"CUstreamBatchMemOpParams": [("waitValue.address", "CUdeviceptr")]}


def preprocess(compiler, folders):
    return subprocess.run(
        [*compiler, "-E", "-P", "-x", "c", "-D__CUDA_API_VERSION_INTERNAL",
         *(f"-I{folder}" for folder in folders), "-"],
        check=True, input="#include <cuda.h>\n", stdout=subprocess.PIPE, text=True).stdout


class Types:
    """The types of cuda.h, and the table of those that parameters use."""

    def __init__(self, text):
        self.handles = set(re.findall(r"typedef struct \w+\s*\*\s*(\w+);", text))
        self.handles |= HANDLES_OF_64_BITS
        self.aliases = dict((new, old) for old, new in
                            re.findall(r"typedef (CU\w+) (CU\w+);", text))
        self.unions = set()
        self.bodies = dict(self._structs(text))
        defined = set(re.findall(r"struct (\w+)\s*\{", text))
        # Structs newer than the headers.
        self.opaque = {name for tag, name in re.findall(r"typedef struct (\w+) (\w+);", text)
                       if tag not in defined and name not in self.bodies}
        self.table = {}  # name: (class, members)

    def _structs(self, text):
        for match in re.finditer(r"typedef (struct|union)(?: \w+)?\s*\{", text):
            depth, end = 1, match.end()
            while depth > 0:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            name = re.match(r"\s*(\w+)", text[end:])
            if name and match.group(1) == "union":
                self.unions.add(name.group(1))
            if name:
                yield name.group(1), text[match.end():end - 1]

    def resolve(self, name):
        while name in self.aliases and name not in self.handles and name != "CUdeviceptr":
            name = self.aliases[name]
        return name

    def kind(self, name):
        name = self.resolve(name)
        if name in ("CUdeviceptr", "CUdeviceptr_v2"):
            return "kAddress"
        if name in self.handles:
            return "kHandle"
        if name in self.bodies:
            return "kStruct"
        if name == "float":
            return "kFloat"
        if name.endswith("*") or name.endswith(("Fn", "Callback")):
            return "kPointer"
        return "kInteger"

    def index(self, name):
        """Returns the place of a type in the table, where it is added with those of its members."""
        name = self.resolve(name)
        if name not in self.table:
            members = []
            kind = self.kind(name)
            if kind == "kStruct":
                members = [(path, type_, self.index(type_), count)
                           for path, type_, count in self.members(name)]
            self.table[name] = (kind, members)
        return list(self.table).index(name)

    def members(self, name, prefix=""):
        """Yields the members that are no plain numbers: path, type, member that counts."""
        body = "" if name in self.unions else self.bodies[name]
        plain = name.removesuffix("_v1")
        flat = re.sub(r"(struct|union)[^{};]*\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}[^;]*;", "",
                      body)
        for path, type_ in UNION_MEMBERS.get(plain, []):
            yield prefix + path, type_, None
        for declaration in flat.split(";"):
            match = re.fullmatch(r"\s*(.*?[\s*])(\w+)\s*", declaration, re.S)
            if not match:
                continue
            type_ = re.sub(r"\s*\*\s*", "*", match.group(1).replace("const ", "").strip())
            path = prefix + match.group(2)
            count = MEMBER_COUNTS.get((plain, match.group(2)))
            if count:
                yield path, type_.rstrip("*"), prefix + count
            elif self.kind(type_) == "kStruct":
                yield from self.members(self.resolve(type_), path + ".")
            elif self.kind(type_) in ("kAddress", "kHandle", "kPointer"):
                yield path, "void*" if type_.endswith("*") else type_, None


def is_recorded(entry):
    if entry.policy in ("resolver", "extern"):
        return False
    if any(calls.NARROW_TYPES.search(kind) for kind, _ in entry.parameters):
        return False
    if "32-bit" in entry.row.reason:
        return False
    return not QUERY.search(entry.base) or bool(RECORDED_QUERY.fullmatch(entry.base))


def counted_by(entry, name):
    """Returns the place of the parameter that counts the elements of an array, or -1."""
    names = [other for _, other in entry.parameters]
    for candidate in COUNTS.get(name, ()):
        if candidate in names and not entry.parameters[names.index(candidate)][0].endswith("*"):
            return names.index(candidate)
    return -1


def parameter_row(entry, types, kind, name):
    """Returns (mode, type, count) of a parameter."""
    names = [other for _, other in entry.parameters]
    if entry.base == "cuMemExportToShareableHandle" and name == "shareableHandle":
        return "kWritten", "int", -1  # a file descriptor, except of other types
    if name == "kernelParams":
        return "kLaunch", "void*", names.index("extra") if "extra" in names else -1
    if kind in ("void*", "const void*"):
        return "kValue", "void*", -1
    if kind == "const char*":
        return "kText", "char", -1
    if not kind.endswith("*"):
        type_ = kind
        large = type_.startswith("CUipc") or types.kind(type_) == "kStruct" and type_ != "CUmemLocation"
        if large:
            return "kRead", type_, -1
        return "kValue", ("unsigned long long" if type_ == "CUmemLocation" else type_), -1
    inner = kind.removeprefix("const ").removesuffix("*").strip()
    if inner == "void*":
        # Addresses that host memory is allocated at; the others point to options.
        written = name in ("pp", "p") or entry.base.startswith("cuGraphicsResource")
        return ("kWritten", "void*", -1) if written else ("kIgnored", "void*", -1)
    if inner.endswith("*") or inner in ("char", "void") or inner in types.opaque:
        return "kIgnored", "void*", -1
    count = counted_by(entry, name)
    if name in COUNTS and count < 0 and name in READ_ARRAYS:
        return "kIgnored", "void*", -1
    read = kind.startswith("const ") or name in READ_ARRAYS or types.kind(inner) == "kStruct"
    return ("kRead" if read else "kWritten"), inner, count


def recorded_rows(entries, types):
    """Returns (entry, parameter rows, at_return) of each recorded entry."""
    rows = []
    for entry in calls.ordered(entries):
        if not is_recorded(entry):
            continue
        parameters = [parameter_row(entry, types, kind, name) for kind, name in entry.parameters]
        makes = any(mode == "kWritten" and types.kind(type_) in ("kHandle", "kAddress", "kPointer")
                    for mode, type_, _ in parameters)
        rows.append((entry, parameters, makes or bool(WAITS.fullmatch(entry.base))))
    return rows


def header(rows):
    lines = [calls.NOTICE, """#pragma once

#include <span>

#include "reveza/gpu/calls/format.h"

namespace reveza::calls {

enum RecordedCall : unsigned {
"""]
    lines += [f"  k_{entry.name},\n" for entry, _, _ in rows]
    lines.append("""  k_unknown,  // a call that is newer than the table; its parameter is the name
};

std::span<const TypeRow> TypeRows();
std::span<const CallRow> CallRows();

}  // namespace reveza::calls
""")
    return "".join(lines)


def type_rows(types):
    lines = []
    for name, (kind, members) in types.table.items():
        if members:
            fields = "".join(
                f"    {{offsetof({name}, {path}), {index}, "
                + (f"offsetof({name}, {count})}},\n" if count else "kNoCount},\n")
                for path, _, index, count in members)
            lines.append(f"constexpr FieldRow kFields_{name}[] = {{\n{fields}}};\n")
    lines.append("constexpr TypeRow kTypeRows[] = {\n")
    for name, (kind, members) in types.table.items():
        fields = f"kFields_{name}" if members else "{}"
        lines.append(f'    {{"{name}", Class::{kind}, sizeof({name}), {fields}}},\n')
    lines.append("};\n\n")
    return lines


def source(rows, types):
    for _, parameters, _ in rows:
        for _, type_, _ in parameters:
            types.index(type_)
    text = types.index("char")
    lines = [calls.NOTICE, """#include "generated/calls/recorded_calls.h"

#include <cstddef>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/calls/recorder.h"
#include "reveza/gpu/interpose/real_driver.h"

// The members of structs that are unions are reached by offsetof.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace reveza::calls {
namespace {

"""]
    lines += type_rows(types)
    for entry, parameters, _ in rows:
        if not parameters:
            continue
        inside = ", ".join(f"{{Mode::{mode}, {types.index(type_)}, {count}}}"
                           for mode, type_, count in parameters)
        lines.append(f"constexpr ParameterRow kParameters_{entry.name}[] = {{{inside}}};\n")
    lines.append(f"constexpr ParameterRow kParameters_unknown[] = {{{{Mode::kText, {text}, -1}}}};\n")
    lines.append("\nconstexpr CallRow kCallRows[] = {\n")
    for entry, parameters, at_return in rows:
        given = f"kParameters_{entry.name}" if parameters else "{}"
        place = "Place::kReturn" if at_return else "Place::kEntry"
        only = "true" if COMPLETION.fullmatch(entry.base) else "false"
        lines.append(f'    {{"{entry.name}", {given}, {place}, {only}}},\n')
    lines.append('    {"unknown", kParameters_unknown, Place::kEntry, false},\n};\n')
    lines.append("""
}  // namespace

std::span<const TypeRow> TypeRows() { return kTypeRows; }
std::span<const CallRow> CallRows() { return kCallRows; }

}  // namespace reveza::calls

using reveza::calls::Recording;
using reveza::calls::Word;
using reveza::interpose::DriverCalls;
using reveza::interpose::IsDisabled;
using reveza::interpose::Real;

#define REVEZA_EXPORT extern "C" __attribute__((visibility("default")))

""")
    for entry, parameters, _ in rows:
        # Structs that are passed by value and exceed a word are recorded by their address.
        words = ", ".join(
            f"Word(&{name})" if mode == "kRead" and not kind.endswith("*") else f"Word({name})"
            for (kind, name), (mode, _, _) in zip(entry.parameters, parameters))
        lines.append(
            f"REVEZA_EXPORT CUresult CUDAAPI {entry.name}({entry.declared()}) {{\n"
            f"  const DriverCalls& real = Real();\n"
            f"  if (real.{entry.name} == nullptr) [[unlikely]] return CUDA_ERROR_NOT_FOUND;\n"
            f"  if (IsDisabled()) [[unlikely]] return real.{entry.name}({entry.passed()});\n"
            f"  const Recording recording(reveza::calls::k_{entry.name});\n"
            f"  return recording.End(real.{entry.name}({entry.passed()}), {{{words}}});\n}}\n\n")
    return "".join(lines)


def driver_entries(rows, entries, recorded):
    """Returns the X-macros of generate_driver_calls.driver_entries, with other wrapped calls."""
    lines = [calls.NOTICE]
    for entry in calls.ordered(entries):
        wrapped = entry.name in recorded or entry.policy == "resolver"
        macro = "REVEZA_WRAPPED" if wrapped else "REVEZA_PASSED"
        lines.append(f"{macro}({entry.name}, {entry.base}, {str(entry.per_thread).lower()})\n")
    lines += sorted(f"REVEZA_EXTERN({row.name})\n" for row in rows if row.policy == "extern")
    lines += [f"REVEZA_PASSED_FAMILY({row.name[:-1]})\n" for row in rows if row.is_family()]
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=pathlib.Path, required=True)
    parser.add_argument("--include", type=pathlib.Path, nargs="+", required=True,
                        help="folders in which to look for cuda.h")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", nargs="+", default=["c++"])
    options = parser.parse_args()
    rows = calls.read_table(options.table)
    entries = calls.read_prototypes(options.compiler, options.include)
    calls.match_rows(rows, entries, options.table)
    types = Types(preprocess(options.compiler, options.include))
    recorded = recorded_rows(entries, types)
    names = {entry.name for entry, _, _ in recorded}
    options.output.mkdir(parents=True, exist_ok=True)
    for name, text in (("driver_entries.inc", driver_entries(rows, entries, names)),
                       ("recorded_calls.h", header(recorded)),
                       ("recorded_calls.cc", source(recorded, types))):
        calls.write(options.output / name, text)


if __name__ == "__main__":
    main()
