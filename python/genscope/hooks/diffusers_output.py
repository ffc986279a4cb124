"""What a pipeline call made, by the shapes of its result alone: pictures, clips, sound.

What the result does not show (latents that are packed, embeddings, a call that failed) is taken from
the call's arguments, then from the configuration, else it is absent.
"""
from __future__ import annotations

from typing import Any, NamedTuple, Optional

from .diffusers_models import config_value

_PICTURES = ("images", "frames", "videos", "prediction", "nsfw")
_SOUND = ("audios", "audio")


class Made(NamedTuple):
    images: Optional[int] = None  # pictures or clips
    width: Optional[int] = None
    height: Optional[int] = None
    frames: Optional[int] = None
    audio_seconds: Optional[float] = None


def made(pipeline: Any, result: Any, said: "dict[str, Any]") -> Made:
    """Of a call that returned `result`; all None for what is no picture and no sound."""
    picture, sound = _parts(pipeline, result)
    latent = said.get("output_type") == "latent"
    found = _latents(pipeline, picture) if latent else _pictures(picture)
    return found._replace(audio_seconds=_seconds(pipeline, sound))


def _parts(pipeline: Any, result: Any) -> "tuple[Any, Any]":
    if hasattr(result, "keys"):
        keys = list(result.keys())
        picture = next((result[k] for k in (*_PICTURES, *keys) if k in keys and k not in _SOUND
                        and "embed" not in k), None)
        return picture, next((result[k] for k in _SOUND if k in keys), None)
    if isinstance(result, tuple) and result:
        if _makes_sound_alone(pipeline):
            return None, result[0]
        return result[0], result[1] if len(result) > 1 and hasattr(pipeline, "audio_vae") else None
    return result, None


def _makes_sound_alone(pipeline: Any) -> bool:
    return "Audio" in type(pipeline).__name__ or "MusicLDM" in type(pipeline).__name__


def _shape(value: Any) -> "tuple[int, ...]":
    shape = getattr(value, "shape", None)
    return tuple(int(n) for n in shape) if shape is not None else ()


def _is_torch(value: Any) -> bool:
    return hasattr(value, "data_ptr")  # channels come before height and width


def _pictures(value: Any) -> Made:
    if isinstance(value, (list, tuple)):
        if not value:
            return Made()
        one = _one(value[0])
        return one._replace(images=len(value)) if one.width is not None else Made()
    shape = _shape(value)
    if len(shape) not in (4, 5):
        return Made()
    one = _one(value[0])
    return one._replace(images=shape[0]) if one.width is not None else Made()


def _one(value: Any) -> Made:
    """A picture, or the frames of a clip."""
    size = getattr(value, "size", None)
    if isinstance(size, tuple) and len(size) == 2 and not hasattr(value, "shape"):  # PIL
        return Made(width=size[0], height=size[1])
    if isinstance(value, (list, tuple)):
        first = _one(value[0]) if value else Made()
        return first._replace(frames=len(value)) if first.width is not None else Made()
    shape = _shape(value)
    if len(shape) == 4:
        width, height = _plane(value[0])
        return Made(width=width, height=height, frames=_frames(value))
    width, height = _plane(value)
    return Made(width=width, height=height)


def _frames(value: Any) -> int:
    """Of [frames, C, H, W], or [C, frames, H, W] of older pipelines, or [frames, H, W, C]."""
    shape = _shape(value)
    return shape[1] if _is_torch(value) and shape[0] in (1, 3, 4) and shape[1] not in (1, 3, 4) \
        else shape[0]


def _plane(value: Any) -> "tuple[Optional[int], Optional[int]]":
    shape = _shape(value)
    if len(shape) == 2:
        return shape[1], shape[0]
    if len(shape) != 3:
        return None, None
    if _is_torch(value) and not (shape[-1] in (1, 3, 4) and shape[0] not in (1, 3, 4)):
        return shape[2], shape[1]
    return shape[1], shape[0]


def _latents(pipeline: Any, value: Any) -> Made:
    """Latents [batch, C, h, w] or [batch, C, frames, h, w]; packed ones show the batch alone."""
    shape = _shape(value)
    scale = scale_of(pipeline)
    if len(shape) not in (4, 5) or scale is None:
        return Made(images=shape[0]) if len(shape) >= 3 else Made()
    frames = None
    if len(shape) == 5:
        frames = (shape[2] - 1) * (temporal_scale_of(pipeline) or 1) + 1
    return Made(shape[0], shape[-1] * scale, shape[-2] * scale, frames)


def _whole(value: Any) -> Optional[int]:
    return value if type(value) is int and value > 0 else None


def scale_of(pipeline: Any) -> Optional[int]:
    """Pixels of a latent's side."""
    for key in ("vae_scale_factor", "vae_scale_factor_spatial", "vae_spatial_compression_ratio",
                "vae_spatial_scale_factor"):
        found = _whole(getattr(pipeline, key, None))
        if found is not None:
            return found
    return None


def temporal_scale_of(pipeline: Any) -> Optional[int]:
    for key in ("vae_scale_factor_temporal", "vae_temporal_compression_ratio",
                "vae_temporal_scale_factor"):
        found = _whole(getattr(pipeline, key, None))
        if found is not None:
            return found
    return None


def _seconds(pipeline: Any, sound: Any) -> Optional[float]:
    if isinstance(sound, (list, tuple)) and sound:
        sound = sound[0]
    shape = _shape(sound)
    rate = next((r for part in ("vocoder", "vae", "audio_vae") for key in (
        "output_sampling_rate", "sampling_rate", "sample_rate")
        if (r := _whole(config_value(getattr(pipeline, part, None), key))) is not None), None)
    return shape[-1] / rate if shape and rate else None


def said_size(pipeline: Any, parts: "dict[str, Any]", said: "dict[str, Any]") -> "tuple[Any, Any]":
    """(width, height) as the call or the configuration has them, before anything ran."""
    width, height = _whole(said.get("width")), _whole(said.get("height"))
    if width or height or not {"width", "height"} <= said.keys():
        return width, height
    unit = getattr(pipeline, "default_sample_size", None)
    if unit is None:
        unit = next((config_value(parts[name], "sample_size") for name in ("unet", "transformer")
                     if name in parts), None)
    scale = scale_of(pipeline)
    sides = unit if isinstance(unit, (list, tuple)) and len(unit) == 2 else (unit, unit)
    sides = [_whole(side) for side in sides]
    if scale is None or None in sides:
        return None, None
    return sides[1] * scale, sides[0] * scale
