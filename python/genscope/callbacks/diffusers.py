"""Steps of a diffusers pipeline without hooks: a callback for `callback_on_step_end`.

    from genscope.callbacks.diffusers import StepCallback

    with gs.session("flux"):
        pipe(prompt, callback_on_step_end=StepCallback())
        pipe(prompt, callback_on_step_end=StepCallback(my_callback))

The pipeline calls it after each step, so that the begin of the first step is not seen: step 0 is the
span from the end of the first step to that of the second, and so on. `index` is the pipeline's own
number of the step that ends. For all steps, stages and passes use the hooks: genscope run, or
genscope.hooks.install(["diffusers"]). Where these record the call, the callback adds nothing.
"""
from __future__ import annotations

from typing import Any, Callable, Optional

from .. import _core
from ._guard import tell


class StepCallback:
    """One object for one call of one pipeline at a time; it may be used again after that call."""

    def __init__(self, then: Optional[Callable[..., Any]] = None) -> None:
        self._then = then
        self._span: Any = None
        # diffusers asks a callback object which tensors it wants.
        self.tensor_inputs = list(getattr(then, "tensor_inputs", None) or ())

    def __call__(self, pipeline: Any, index: int, timestep: Any, kwargs: "dict[str, Any]") -> Any:
        self._next(pipeline, index)
        return kwargs if self._then is None else self._then(pipeline, index, timestep, kwargs)

    def _next(self, pipeline: Any, index: int) -> None:
        try:
            self._end()
            last = getattr(pipeline, "_num_timesteps", None)
            if _hooked(pipeline) or (type(last) is int and index + 1 >= last):
                return
            self._span = _core.step(index + 1)
            self._span.__enter__()
        except Exception as error:
            self._span = None
            tell("callbacks.diffusers", error)

    def _end(self) -> None:
        span, self._span = self._span, None
        if span is not None:
            span.__exit__(None, None, None)

    def close(self) -> None:
        """Ends a step that is open: after a call that was left by an exception."""
        try:
            self._end()
        except Exception as error:
            tell("callbacks.diffusers", error)


def _hooked(pipeline: Any) -> bool:
    import sys
    calls = sys.modules.get("genscope.hooks.diffusers_calls")
    call = calls.current() if calls is not None else None
    return call is not None and call.pipeline is pipeline
