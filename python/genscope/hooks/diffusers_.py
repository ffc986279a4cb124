"""diffusers: every pipeline call as a request with its stages, steps and forward passes.

Classes are wrapped when a pipeline object first shows them: the pipeline's own when it registers its
components, those of the components at the begin of each call, since they may have been replaced.
"""
from __future__ import annotations

from types import ModuleType
from typing import Any, Optional

from .._imports import when_imported
from ._patch import around, wrap
from ._report import done, problem
from .diffusers_attention import Watch
from .diffusers_calls import Call, current
from .diffusers_components import parts_of, prepare, step_caches, wrap_encoders
from .diffusers_load import wrap_loaders, wrap_lora
from .diffusers_own import watch_models
from .diffusers_traffic import install as watch_traffic

_known: "set[type]" = set()


def install() -> None:
    def failed(name: str, error: BaseException) -> None:
        problem("diffusers", f"after import of {name}: {error!r}")
    when_imported("diffusers.pipelines.pipeline_utils", _pipelines_are_there, failed)
    when_imported("diffusers.modular_pipelines.modular_pipeline", _modular_is_there, failed)
    when_imported("diffusers.models.modeling_utils", _models_are_there, failed)
    when_imported("diffusers.configuration_utils", watch_models, failed)
    watch_traffic()
    for module, name in (("single_file", "FromSingleFileMixin"),
                         ("single_file_model", "FromOriginalModelMixin")):
        when_imported(f"diffusers.loaders.{module}",
                      lambda found, name=name: wrap_loaders(getattr(found, name)), failed)


def _pipelines_are_there(module: ModuleType) -> None:
    base = getattr(module, "DiffusionPipeline", None)
    if base is None:
        problem("diffusers", "pipeline_utils has no DiffusionPipeline: another version?")
        return
    wrap_loaders(base)
    if wrap(base, "register_modules", _see_pipeline, "diffusers.DiffusionPipeline"):
        done("diffusers")
        for kind in _below(base):  # made before this hook was installed
            wrap_pipeline(kind)


def _modular_is_there(module: ModuleType) -> None:
    base = getattr(module, "ModularPipeline", None)
    if base is None:
        problem("diffusers", "modular_pipeline has no ModularPipeline")
        return
    wrap_pipeline(base)  # its subclasses have no __call__ of their own


def _below(base: type) -> "list[type]":
    return [each for kind in base.__subclasses__() for each in (kind, *_below(kind))]


def _models_are_there(module: ModuleType) -> None:
    base = getattr(module, "ModelMixin", None)
    if base is None:
        problem("diffusers", "modeling_utils has no ModelMixin: loads of models are not recorded")
        return
    wrap_loaders(base)


def _see_pipeline(original: Any) -> Any:
    def register_modules(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        if type(self) not in _known:
            wrap_pipeline(type(self))
        return result
    return register_modules


def wrap_pipeline(kind: type) -> None:
    """Wraps a pipeline class, once. Never raises."""
    if kind in _known:
        return
    _known.add(kind)
    target = f"diffusers.{kind.__name__}"
    try:
        if not callable(getattr(kind, "__call__", None)):
            return  # a base, or a pipeline that is only a bag of parts
        if around(kind, "__call__", _begin_call, _end_call, target):
            done(target)
        wrap_encoders(kind)
        wrap_lora(kind)
    except Exception as error:
        problem(target, f"wrapping it failed: {error!r}")


def _begin_call(self: Any, args: tuple, kwargs: dict) -> Optional[Call]:
    call = current()
    if call is not None and call.pipeline is self:
        return None  # a subclass that calls its base
    parts = parts_of(self)
    names = prepare(self, parts)
    said: "dict[str, Any]" = {}
    labels: "dict[str, Any]" = {}
    look = False
    try:
        from .diffusers_facts import tell
        said, labels, look = tell(self, parts, args, kwargs, call is None)
    except Exception as error:
        problem(f"diffusers.{type(self).__name__}", f"its settings could not be read: {error!r}")
    call = Call(self, names, said, **labels)
    call.caches = step_caches(self, parts)
    call.attention = Watch() if look else None
    return call


def _end_call(call: Call, _self: Any, result: Any, error: Optional[BaseException]) -> None:
    call.close(error)
    seen: "dict[str, Any]" = {}
    try:
        from .diffusers_facts import observed
        seen = observed(call, result if error is None else None)
    except Exception as ours:
        problem(f"diffusers.{type(call.pipeline).__name__}", f"its result could not be read: {ours!r}")
    call.leave(error, **seen)
    from .diffusers_later import call_ended
    call_ended(call)


__all__ = ["install", "wrap_pipeline"]
