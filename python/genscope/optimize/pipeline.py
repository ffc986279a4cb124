"""A diffusers pipeline that threads and tasks may share, and that does no work twice.

    pipe = gs.optimize.wrap(pipe, cache="2GB")
    image = pipe("a cat", generator=torch.Generator().manual_seed(7)).images[0]   # from any thread
    image = (await pipe.acall("a cat", generator=seeded)).images[0]               # from any task
    pipe.genscope.stats()

Calls take turns on the device's lane: a pipeline's scheduler holds the state of one call. Prompt
embeddings are kept under everything that goes into them. Two calls with the same inputs, generator
state and settings run once. Images are the same bytes as without.

What cannot be keyed with certainty is run and not kept, and is counted with its reason. A generator
that was given is afterwards where a run would have left it.
"""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Optional

from ._pipeline_run import Runner

# Methods that leave what a call makes as it was. After any other, nothing is served from before.
_HARMLESS = frozenset((
    "check_inputs", "decode_latents", "encode_image", "encode_prompt", "get_active_adapters",
    "get_guidance_scale_embedding", "get_list_adapters", "get_timesteps", "maybe_free_model_hooks",
    "numpy_to_pil", "prepare_extra_step_kwargs", "prepare_latents", "progress_bar", "save_pretrained",
    "set_progress_bar_config"))


def wrap(pipe: Any, cache: Any = "2GB", *, lane: Any = None, embeddings: bool = True,
         results: bool = True, name: str = "pipeline") -> Any:
    """The pipeline behind a lane and a cache; every attribute of it is there as before.

    cache: bytes in host memory ("2GB", a number), a Cache to share with others, or None for lanes
    alone. lane: a Lane to wait in; by default the one of the pipeline's device, which all wrapped
    pipelines of the process share. embeddings, results: what is kept. name: of its counters in a run.
    Anything that is no diffusers pipeline gets the lane alone: what decides its results is not known.
    """
    if type(pipe) is Pipeline:
        return pipe
    if isinstance(cache, (str, int)):
        from .cache import Cache
        cache = Cache(capacity=cache)
    return Pipeline(Runner(pipe, cache, lane, embeddings, results, name))


class Controls:
    """`pipe.genscope`: what the wrapper itself offers, apart from the pipeline's own names."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.cache = runner.cache

    @property
    def raw(self) -> Any:
        """The pipeline itself. Use it while nobody calls the wrapped one."""
        return self._runner.pipe

    @property
    def lane(self) -> Any:
        """Where calls take turns now."""
        return self._runner.lane()

    def stats(self) -> "dict[str, Any]":
        """calls, runs, hits (results from the cache), shared (with a call that ran at the time),
        embeddings {hits, misses}, seconds_saved, bypassed {reason: count}, cache (its own figures)."""
        return self._runner.stats()

    def changed(self) -> None:
        """Nothing from before is served any more. For a change that cannot be seen: weights that were
        written through `.data`, a module whose behaviour hangs on a global."""
        self._runner.changed()

    def hold(self, function: Callable[[], Any]) -> Any:
        """function(), while no call runs: for work with the pipeline's parts that changes nothing."""
        return self._runner.exclusively(function, changes=False)

    def run(self, *args: Any, deadline: Optional[float] = None, priority: Any = None,
            tenant: Optional[str] = None, **kwargs: Any) -> Any:
        """A call with a place in the lane: deadline (of time.monotonic()), priority, tenant."""
        return self._runner.call(args, kwargs, _place(deadline, priority, tenant))

    async def arun(self, *args: Any, deadline: Optional[float] = None, priority: Any = None,
                   tenant: Optional[str] = None, **kwargs: Any) -> Any:
        return await self._runner.acall(args, kwargs, _place(deadline, priority, tenant))


def _place(deadline: Optional[float], priority: Any, tenant: Optional[str]) -> "dict[str, Any]":
    given = {"deadline": deadline, "priority": priority, "tenant": tenant}
    return {name: value for name, value in given.items() if value is not None}


class Pipeline:
    """Stands for the pipeline: isinstance, attributes and methods are the pipeline's."""

    def __init__(self, runner: Runner) -> None:
        object.__setattr__(self, "_genscope_runner", runner)
        object.__setattr__(self, "genscope", Controls(runner))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._genscope_runner.call(args, kwargs, {})

    async def acall(self, *args: Any, **kwargs: Any) -> Any:
        """The same for tasks: the loop goes on. Cancelled, it leaves the lane, or stops the denoising
        at its next step if nobody else waits for the same result."""
        return await self._genscope_runner.acall(args, kwargs, {})

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        return type(self._genscope_runner.pipe)

    def __getattr__(self, name: str) -> Any:
        runner = self._genscope_runner
        value = getattr(runner.pipe, name)
        if inspect.ismethod(value) and value.__self__ is runner.pipe:
            return _in_lane(self, runner, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        self._genscope_runner.exclusively(lambda: setattr(self._genscope_runner.pipe, name, value),
                                          changes=True)

    def __delattr__(self, name: str) -> None:
        self._genscope_runner.exclusively(lambda: delattr(self._genscope_runner.pipe, name), changes=True)

    def __dir__(self) -> "list[str]":
        return sorted({*dir(self._genscope_runner.pipe), "acall", "genscope"})

    def __repr__(self) -> str:
        return f"genscope.optimize.wrap({self._genscope_runner.pipe!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a wrapped pipeline has threads' state: pickle pipe.genscope.raw")


def _in_lane(wrapped: Pipeline, runner: Runner, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, in turn with the calls; `to()` gives the wrapper back."""
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = runner.exclusively(lambda: method(*args, **kwargs), changes=name not in _HARMLESS)
        return wrapped if result is runner.pipe else result
    return call
