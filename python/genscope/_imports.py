"""Calls a function when a module has been imported, and leaves the import itself as it is.

A finder at the head of sys.meta_path asks the others for the module's spec and gives its loader a
last step. What the function raises goes to `report`, never to who imports.
"""
from __future__ import annotations

import importlib.abc
import importlib.util
import sys
import threading
from types import ModuleType
from typing import Callable, Optional

from . import _core

Then = Callable[[ModuleType], None]
Report = Callable[[str, BaseException], None]

_waiting: "dict[str, list[tuple[Then, Optional[Report]]]]" = {}
_timed: "set[str]" = set()
_busy = threading.local()


def _call(then: Then, report: Optional[Report], module: ModuleType) -> None:
    try:
        then(module)
    except Exception as error:
        if report is not None:
            report(module.__name__, error)


def _run(module: ModuleType) -> None:
    for then, report in _waiting.pop(module.__name__, ()):
        _call(then, report, module)


class _Loader(importlib.abc.Loader):
    """The module's own loader, and then ours. Everything else is its own loader's."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def create_module(self, spec):
        return self._inner.create_module(spec)

    def exec_module(self, module):
        # Nobody should see our loader: pickling and importlib.resources ask for it.
        module.__loader__ = self._inner
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        if module.__name__ in _timed:
            with _core.stage("import " + module.__name__):
                self._inner.exec_module(module)
        else:
            self._inner.exec_module(module)
        _run(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name not in _waiting or getattr(_busy, "name", None) == name:
            return None
        _busy.name = name
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, AttributeError, ValueError):
            return None
        finally:
            _busy.name = None
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        spec.loader = _Loader(spec.loader)
        return spec


_finder = _Finder()


def when_imported(name: str, then: Then, report: Optional[Report] = None) -> None:
    """Calls `then(module)` now if `name` is imported already, else right after its import."""
    module = sys.modules.get(name)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        _call(then, report, module)
        return
    _waiting.setdefault(name, []).append((then, report))
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def time_import(name: str) -> None:
    """Makes the import of `name` a span, "import <name>", unless it is imported already."""
    if name not in sys.modules:
        _timed.add(name)
        when_imported(name, lambda module: None)
