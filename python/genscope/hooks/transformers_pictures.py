"""Pictures of vision-language models: processors, vision encoders, and tokens per picture."""
from __future__ import annotations

from typing import Any, Optional

from .. import _core
from ._patch import around

PICTURES = ("pixel_values", "pixel_values_videos", "pixel_values_images")
_seen: "set[type]" = set()


# --- processors

def patch_processors(module: Any) -> None:
    """Each processor class has a __call__ of its own, so it is wrapped when its first object is made."""
    mixin = module.ProcessorMixin
    around(mixin, "__init__", _see_processor, lambda token, self, result, error: None,
           "transformers.processors")


def _see_processor(processor: Any, args: tuple, kwargs: dict) -> None:
    cls = type(processor)
    if cls not in _seen:
        _seen.add(cls)
        around(cls, "__call__", _begin_processor, _end_processor, "transformers." + cls.__name__)


def _begin_processor(processor: Any, args: tuple, kwargs: dict) -> int:
    images = kwargs.get("images", args[0] if args and not isinstance(args[0], str) else None)
    if _count(images) == 0:
        return _core.begin("tokenize")
    return _core.begin("image_processing", "stage", images=_count(images))


def _count(images: Any) -> int:
    """How many pictures; lists of lists are counted to the end. A text is none."""
    if images is None or isinstance(images, str):
        return 0
    if isinstance(images, (list, tuple)):
        return sum(_count(image) for image in images)
    return 1


def _end_processor(span: int, processor: Any, result: Any, error: Optional[BaseException]) -> None:
    _core.end(span, error is not None)


# --- vision encoders

def watch_model(model: Any) -> None:
    """Wraps get_image_features of the classes of this model and of the model inside it."""
    for module in (model, getattr(model, "model", None)):
        cls = type(module)
        if module is None or cls in _seen:
            continue
        _seen.add(cls)
        if "get_image_features" in vars(cls):
            around(cls, "get_image_features", _begin_features, _end_features,
                   "transformers." + cls.__name__, traced=True)


_open = {"depth": 0}  # that of the outer class calls that of the inner


def _begin_features(model: Any, args: tuple, kwargs: dict) -> int:
    _open["depth"] += 1
    return _core.begin("vision_encode") if _open["depth"] == 1 else 0


def _end_features(span: int, model: Any, result: Any, error: Optional[BaseException]) -> None:
    _open["depth"] -= 1
    if _open["depth"] == 0:
        images, tokens = measure(result)
        if images:
            _core.args(span, images=images, image_tokens=tokens)
            _core.event("config", **{"vlm.tokens_per_image": tokens / images})
        _core.end(span, error is not None)


def measure(features: Any) -> "tuple[int, int]":
    """Pictures and their tokens in all, by the shapes alone; (0, 0) for a form that is not known.

    A list of [tokens, width], one for each picture, or a tensor [pictures, tokens, width]. A pair of
    such a list and further layers (Qwen3-VL) is known by its first part.
    """
    if isinstance(features, (list, tuple)):
        if features and isinstance(features[0], (list, tuple)):
            features = features[0]
        shapes = [tuple(getattr(f, "shape", ())) for f in features]
        if not shapes or any(len(s) not in (2, 3) for s in shapes):
            return 0, 0
        images = sum(1 if len(s) == 2 else s[0] for s in shapes)
        return images, sum(s[0] if len(s) == 2 else s[0] * s[1] for s in shapes)
    shape = tuple(getattr(features, "shape", ()))
    return (shape[0], shape[0] * shape[1]) if len(shape) == 3 else (0, 0)
