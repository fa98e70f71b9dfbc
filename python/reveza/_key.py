"""Keys of calls: a hash of what the result of a call depends on, equal in each process.

A key covers the arguments, the code of the function, its default values, attributes and closure, and the
values of the globals that the code names. Functions and classes among these are covered in the same way,
unless they belong to a library. Sets and dictionaries count without their order, which for sets differs
between processes.
"""

from __future__ import annotations

import collections
import copyreg
import dis
import enum
import functools
import hashlib
import os
import pickle
import sys
import sysconfig
import threading
import types
import warnings
from typing import Any, Callable, Iterator, Optional

_ATOMS = (type(None), bool, int, float, complex, str, type(...), type(NotImplemented))
_PARTS_OF_FUNCTION = (types.FunctionType, staticmethod, classmethod, property)
# They have no state that a result depends on.
_WITHOUT_STATE = (type(threading.Lock()), type(threading.RLock()), threading.local)
_MISSING = object()


class _NoKeyError(TypeError):
    """A value cannot be pickled, so nothing says whether it is the same in another process."""


def main_script() -> Optional[str]:
    """Returns the file in which functions of `__main__` are; None if it has none."""
    main = sys.modules["__main__"]
    if getattr(main, "__spec__", None) is not None:  # python -m
        return None
    path = getattr(main, "__file__", None)
    return os.path.abspath(path) if path and os.path.isfile(path) else None


def _hash(*parts: str | bytes) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()


@functools.lru_cache(maxsize=None)
def _is_library(module: str) -> bool:
    """Returns whether a module is Python's own, this package's, or installed."""
    root = module.partition(".")[0]
    if root in (*sys.builtin_module_names, *getattr(sys, "stdlib_module_names", ()), "reveza"):
        return True
    path = getattr(sys.modules.get(module) or sys.modules.get(root), "__file__", None)
    if not path:
        return False
    parts = os.path.abspath(path).split(os.sep)
    if "site-packages" in parts or "dist-packages" in parts:
        return True
    return sys.version_info < (3, 10) and path.startswith(sysconfig.get_path("stdlib") + os.sep)


def _module_of(value: object) -> str:
    return str(getattr(value, "__module__", None) or "builtins")


def _name_of(value: object) -> str:
    """Returns the full name of a function or class. Scripts, which are all `__main__`, by their paths."""
    module = _module_of(value)
    if module == "__main__":
        main = sys.modules["__main__"]
        module = main_script() or getattr(getattr(main, "__spec__", None), "name", None) or module
    return f"{module}:{getattr(value, '__qualname__', type(value).__qualname__)}"


def _is_importable(value: Any) -> bool:
    """Returns whether the module and the name of a function or class lead to it."""
    found: object = sys.modules.get(_module_of(value))
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


def _globals_named(code: types.CodeType) -> set[tuple[str, ...]]:
    """Returns the globals that code reads, each with the attributes that it takes from it."""
    found = set()
    chain: tuple[str, ...] = ()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("EXTENDED_ARG", "CACHE"):
            continue
        if chain and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            chain += (instruction.argval,)
            continue
        found.add(chain)
        is_global = instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
        chain = (instruction.argval,) if is_global else ()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _globals_named(constant)
    return found - {()}


class _Walk:
    """Hashes a value, and collects the functions and classes in `named` that it refers to by name."""

    def __init__(self) -> None:
        self.named: dict[int, Any] = {}
        self._done: dict[int, bytes] = {}
        self._kept: list[object] = []  # so that no other object gets the id of one of _done
        self._path: dict[int, int] = {}

    def hash(self, value: Any) -> bytes:
        """Returns the hash of a value; _NoKeyError if it has none."""
        kind = type(value)
        if kind in _ATOMS:
            return _hash(kind.__name__, repr(value))
        if kind is bytes:
            return _hash("bytes", value)
        if id(value) in self._done:
            return self._done[id(value)]
        if id(value) in self._path:
            return _hash("cycle", str(len(self._path) - self._path[id(value)]))
        self._path[id(value)] = len(self._path)
        try:
            found = self._composite(value)
        finally:
            del self._path[id(value)]
        self._done[id(value)] = found
        self._kept.append(value)
        return found

    def body(self, value: Any) -> bytes:
        """Returns the hash of a function or class itself, not only of its name."""
        if isinstance(value, type):
            return _hash("class", _name_of(value), *self._parts_of_class(value))
        own = vars(value).get("__reveza_key__")
        if own is not None:
            return _hash("key", _name_of(value), self.hash(own))
        return _hash("function", _name_of(value), *self._parts_of_function(value))

    def _composite(self, value: Any) -> bytes:
        kind = type(value)
        if kind in (list, tuple):
            return _hash(kind.__name__, *map(self.hash, value))
        if kind in (set, frozenset):
            return _hash(kind.__name__, *sorted(map(self.hash, value)))
        if kind in (dict, types.MappingProxyType):
            pairs = (self.hash(key) + self.hash(item) for key, item in value.items())
            return _hash("dict", *sorted(pairs))
        if kind in (bytearray, memoryview):
            return _hash("buffer", memoryview(value).tobytes())
        if kind is pickle.PickleBuffer:
            with value.raw() as view:
                return _hash("buffer", view)
        if isinstance(value, types.ModuleType):
            return _hash("module", value.__name__)
        if isinstance(value, types.CodeType):
            return _hash("code", *self._parts_of_code(value))
        if isinstance(value, (type, types.FunctionType)):
            return self._reference(value)
        return self._parts_of_callable(value) or self._object(value)

    def _reference(self, value: Any) -> bytes:
        is_library = _is_library(_module_of(value))
        if is_library and isinstance(value, type) or _is_importable(value):
            if not is_library:
                self.named[id(value)] = value
            return _hash("name", _name_of(value))
        return self.body(value)

    def _parts_of_callable(self, value: Any) -> Optional[bytes]:
        """Returns the hash of what makes up a method or a descriptor; None for other objects."""
        if isinstance(value, types.MethodType):
            return _hash("method", self.hash(value.__func__), self.hash(value.__self__))
        if isinstance(value, types.BuiltinFunctionType):
            owner = value.__self__
            return _hash("builtin", self.hash(owner), value.__name__)
        if isinstance(value, (staticmethod, classmethod)):
            return _hash(type(value).__name__, self.hash(value.__func__))
        if isinstance(value, (property, types.DynamicClassAttribute)):
            parts = (value.fget, value.fset, value.fdel)
            return _hash("property", *map(self.hash, parts))
        if isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            return _hash("descriptor", value.__name__)
        return None

    def _object(self, value: Any) -> bytes:
        kind = type(value)
        if kind in _WITHOUT_STATE or value is os.environ:
            return _hash("instance", _name_of(kind))
        own = getattr(kind, "__reveza_key__", None)
        if own is not None:
            return _hash("key", _name_of(kind), self.hash(own(value)))
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None and _is_library(_module_of(kind)):  # by a decorator in C, or a compiler
            return _hash("wrapped", _name_of(kind), self.hash(wrapped))
        try:
            reducer = copyreg.dispatch_table.get(kind)
            reduced = reducer(value) if reducer is not None else value.__reduce_ex__(5)
        except Exception as error:  # pylint: disable=broad-exception-caught  # of the user's class
            if callable(value) and isinstance(getattr(value, "__name__", None), str):
                if _is_library(_module_of(value)):  # made by a tool that binds C++
                    return _hash("name", _module_of(value), value.__name__)
            raise _NoKeyError(f"an object of type {kind.__qualname__}: {error}") from error
        if isinstance(reduced, str):
            return _hash("global", _module_of(value), reduced)
        parts = [self.hash(kind), self.hash(reduced[0]), *map(self.hash, reduced[1])]
        for state in reduced[2:]:
            if isinstance(state, (type(None), bytes, dict, tuple)):
                parts.append(self.hash(state))
            elif hasattr(state, "__next__"):
                items = [self.hash(item) for item in state]
                is_ordered = not isinstance(value, dict) or isinstance(value, collections.OrderedDict)
                parts.append(_hash("items", *(items if is_ordered else sorted(items))))
            else:
                parts.append(self.hash(state))
        return _hash("object", *parts)

    def _parts_of_code(self, code: types.CodeType) -> Iterator[bytes]:
        yield code.co_code
        yield getattr(code, "co_exceptiontable", b"")
        sizes = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        yield repr((sizes, names)).encode("utf-8", "surrogatepass")
        for constant in code.co_consts:
            yield self.hash(constant)

    def _parts_of_function(self, function: types.FunctionType) -> Iterator[bytes]:
        yield from self._parts_of_code(function.__code__)
        name = _name_of(function)
        yield self._covered(function.__defaults__, f"default values of {name}")
        yield self._covered(function.__kwdefaults__, f"default values of {name}")
        for attribute, value in sorted(vars(function).items()):
            yield _hash(attribute)
            yield self._covered(value, f"attribute {attribute} of {name}")
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            yield self._covered(value, f"variable {variable} around {name}")
        if _is_library(str(function.__globals__.get("__name__"))):
            return
        for chain in sorted(_globals_named(function.__code__)):
            value = function.__globals__.get(chain[0], _MISSING)
            used = 1
            while used < len(chain) and isinstance(value, types.ModuleType):
                if _is_library(value.__name__):
                    break
                value = getattr(value, chain[used], _MISSING)
                used += 1
            if value is not _MISSING:
                label = ".".join(chain[:used])
                yield _hash(label)
                yield self._covered(value, f"global {label}, which {name} names")

    def _parts_of_class(self, kind: type) -> Iterator[bytes]:
        for base in (type(kind), *kind.__bases__):
            yield self.hash(base)
        for name, member in sorted(vars(kind).items()):
            is_special = name.startswith("__") and name.endswith("__")
            if is_special and not isinstance(member, _PARTS_OF_FUNCTION):
                continue
            if name == "_abc_impl" or (issubclass(kind, enum.Enum) and name.endswith("_")):
                continue
            yield _hash(name)
            yield self._covered(member, f"member {name} of {_name_of(kind)}")

    def _covered(self, value: Any, what: str) -> bytes:
        """Returns the hash of a value, or warns that the key does not cover it."""
        try:
            return self.hash(value)
        except _NoKeyError as error:
            warnings.warn(
                f"keys of calls do not cover the {what}, as it cannot be pickled: {error}; results are taken "
                "for the same whatever its value is: pass what matters as an argument, or define "
                "`__reveza_key__` (docs/jobs.md, From Python)",
                RuntimeWarning,
                stacklevel=2,
            )
            return _hash("not covered")


class Keys:
    """Names calls by what their results depend on. Reads each function and class once."""

    def __init__(self) -> None:
        self._bodies: dict[int, tuple[Any, bytes, dict[int, Any]]] = {}

    def of(self, function: Callable[..., Any], arguments: object, keywords: object) -> str:
        """Returns the key of a call: 32 hexadecimal digits. TypeError if an argument has no stable key."""
        walk = _Walk()
        try:
            root = walk.hash((function, arguments, keywords))
            bodies = self._bodies_of(walk.named)
        except (_NoKeyError, RecursionError) as error:
            name = getattr(function, "__qualname__", type(function).__qualname__)
            raise TypeError(
                f"cannot make a key of this call of {name}: {error}; give the class a method "
                "`__reveza_key__` that returns what distinguishes its objects, or pass other arguments"
            ) from error
        return _hash(root, *sorted(bodies)).hex()

    def _bodies_of(self, named: dict[int, Any]) -> list[bytes]:
        """Returns the hashes of functions and classes, and of all that these refer to."""
        waiting, found = dict(named), {}
        while waiting:
            name, value = waiting.popitem()
            if name in found:
                continue
            if name not in self._bodies:
                walk = _Walk()
                self._bodies[name] = (value, walk.body(value), walk.named)
            found[name] = self._bodies[name][1]
            waiting.update(self._bodies[name][2])
        return list(found.values())
