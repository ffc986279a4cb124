"""ComfyUI's nodes, through a progress handler of our own in each registry of a prompt."""
from __future__ import annotations

from typing import Any, Optional

from .. import _core
from ._patch import around
from ._report import problem

NAME = "genscope"
# Node id -> span. Prompts run one after the other; the handler of a new one closes what was left.
_open: "dict[str, int]" = {}


def patch(module: Any) -> None:
    registry = getattr(module, "ProgressRegistry", None)
    base = getattr(module, "ProgressHandler", None)
    if registry is None or base is None:
        problem("comfyui", "comfy_execution.progress has no ProgressRegistry or no ProgressHandler")
        return
    handler = _handler_class(base)

    def made(token: Any, self: Any, result: Any, error: Optional[BaseException]) -> None:
        if error is None:
            self.register_handler(handler(self))
    around(registry, "__init__", lambda self, args, kwargs: True, made, "comfyui")


def close_open(failed: bool) -> None:
    """Nodes that were not told to be finished: those that failed, or that wait for others."""
    while _open:
        _core.end(_open.popitem()[1], failed)


def _handler_class(base: type) -> type:
    class Handler(base):  # type: ignore[misc,valid-type]
        def __init__(self, registry: Any) -> None:
            super().__init__(NAME)
            self._registry = registry

        def start_handler(self, node_id: Any, state: Any, prompt_id: Any) -> None:
            try:
                previous = _open.pop(node_id, 0)
                if previous:  # a node that first had to wait for a lazy input
                    _core.end(previous)
                _open[node_id] = _core.begin(_class_of(self._registry, node_id), "task",
                                             node=str(node_id))
            except Exception as error:
                problem("comfyui", f"at the begin of a node: {error!r}")

        def finish_handler(self, node_id: Any, state: Any, prompt_id: Any) -> None:
            try:
                span = _open.pop(node_id, 0)  # 0: its result was cached
                if span:
                    _core.end(span)
            except Exception as error:
                problem("comfyui", f"at the end of a node: {error!r}")

        def reset(self) -> None:
            close_open(False)
    return Handler


def _class_of(registry: Any, node_id: Any) -> str:
    try:
        return str(registry.dynprompt.get_node(node_id)["class_type"])
    except Exception:
        return "node"
