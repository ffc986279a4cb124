"""What a component is: architecture, size, data type, place. Read from attributes; nothing is run."""
from __future__ import annotations

import sys
import weakref
from typing import Any, Optional

# Class of the denoiser -> architecture and family as `genscope inspect` calls them.
_ARCHITECTURES = {
    "FluxTransformer2DModel": ("flux", "mmdit"),
    "Flux2Transformer2DModel": ("flux2", "mmdit"),
    "ChromaTransformer2DModel": ("chroma", "mmdit"),
    "QwenImageTransformer2DModel": ("qwen_image", "mmdit"),
    "SD3Transformer2DModel": ("sd3", "mmdit"),
    "AuraFlowTransformer2DModel": ("auraflow", "mmdit"),
    "HunyuanVideoTransformer3DModel": ("hunyuan_video", "mmdit"),
    "HunyuanVideo15Transformer3DModel": ("hunyuan_video", "mmdit"),
    "HunyuanVideoFramepackTransformer3DModel": ("hunyuan_video", "mmdit"),
    "HiDreamImageTransformer2DModel": ("hidream", "mmdit"),
    "MochiTransformer3DModel": ("mochi", "mmdit"),
    "CogVideoXTransformer3DModel": ("cogvideox", "mmdit"),
    "WanTransformer3DModel": ("wan", "dit"),
    "WanVACETransformer3DModel": ("wan", "dit"),
    "WanAnimateTransformer3DModel": ("wan", "dit"),
    "LTXVideoTransformer3DModel": ("ltx", "dit"),
    "LTX2VideoTransformer3DModel": ("ltx", "dit"),
    "ZImageTransformer2DModel": ("z_image", "dit"),
    "Lumina2Transformer2DModel": ("lumina2", "dit"),
    "PixArtTransformer2DModel": ("pixart", "dit"),
    "SanaTransformer2DModel": ("sana", "dit"),
    "HunyuanDiT2DModel": ("hunyuan_dit", "dit"),
    "CosmosTransformer3DModel": ("cosmos", "dit"),
    "Kandinsky5Transformer3DModel": ("kandinsky5", "dit"),
    "SkyReelsV2Transformer3DModel": ("wan", "causal_video"),
    "StableCascadeUNet": ("cascade", "unet"),
    "UNetSpatioTemporalConditionModel": ("svd", "unet"),
}
_TEXT = {"T5EncoderModel": "t5", "UMT5EncoderModel": "umt5", "CLIPTextModel": "clip_text",
         "CLIPTextModelWithProjection": "clip_text", "LlamaForCausalLM": "llama",
         "LlamaModel": "llama", "Gemma2Model": "gemma2", "Gemma3ForConditionalGeneration": "gemma3",
         "Qwen2_5_VLForConditionalGeneration": "qwen2_5_vl",
         "Qwen2VLForConditionalGeneration": "qwen2_vl", "Qwen3Model": "qwen3",
         "Qwen3ForCausalLM": "qwen3", "Mistral3ForConditionalGeneration": "mistral3"}
_DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float8_e4m3fn": "fp8_e4m3",
           "float8_e5m2": "fp8_e5m2", "float64": "fp64", "uint8": "uint8", "int8": "int8"}


def architecture(module: Any, pipeline: Any) -> "tuple[Optional[str], Optional[str]]":
    """(architecture, family) of a denoiser; None for what we do not know."""
    name = type(module).__name__
    if name in _ARCHITECTURES:
        return _ARCHITECTURES[name]
    if name != "UNet2DConditionModel":
        return None, None
    cross = config_value(module, "cross_attention_dim")
    family = type(pipeline).__name__
    if family.startswith("StableDiffusionXL"):
        return ("sdxl_refiner" if cross == 1280 else "sdxl"), "unet"
    if family.startswith("StableDiffusion"):
        return {768: "sd1", 1024: "sd2"}.get(cross, "unet"), "unet"
    return "unet", "unet"


def text_architecture(module: Any) -> Optional[str]:
    return _TEXT.get(type(module).__name__)


def config_value(owner: Any, key: str) -> Any:
    config = getattr(owner, "config", None)
    if config is None:
        return None
    return config.get(key) if isinstance(config, dict) else getattr(config, key, None)


def dtype_name(dtype: Any) -> str:
    word = str(dtype).rsplit(".", 1)[-1]
    return _DTYPES.get(word, word)


def _bytes(tensor: Any) -> int:
    """As stored: what quantises by a tensor class (torchao, quanto) shows the elements it stands for,
    and holds others."""
    if not hasattr(type(tensor), "__tensor_flatten__"):
        return tensor.numel() * tensor.element_size()
    names, _ = tensor.__tensor_flatten__()
    return sum(_bytes(getattr(tensor, name)) for name in names)


class Size:
    """Sums over the parameters of a module."""

    def __init__(self, module: Any) -> None:
        self.parameters = self.bytes = self.off_gpu = 0
        self.conv3d = False
        self.channels_last: Optional[bool] = None  # of the first 2-D convolution
        by_dtype: "dict[Any, int]" = {}
        for parameter in module.parameters():
            count = parameter.numel()
            self.parameters += count
            self.bytes += _bytes(parameter)
            by_dtype[parameter.dtype] = by_dtype.get(parameter.dtype, 0) + count
            if parameter.device.type in ("cpu", "meta"):
                self.off_gpu += count
            if parameter.ndim == 5:
                self.conv3d = True
            elif parameter.ndim == 4 and self.channels_last is None and parameter.shape[-1] > 1 \
                    and parameter.shape[1] > 1:
                self.channels_last = not parameter.is_contiguous()
        self.dtype = dtype_name(max(by_dtype, key=by_dtype.__getitem__)) if by_dtype else None


_sizes: "weakref.WeakKeyDictionary[Any, tuple[Any, Size]]" = weakref.WeakKeyDictionary()


def size_of(module: Any) -> Optional[Size]:
    """None for what is no torch module. Kept until its first parameter changes type or place."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(module, torch.nn.Module):
        return None
    first = next(iter(module.parameters()), None)
    key = (first.dtype, first.device, first.is_contiguous()) if first is not None else None
    known = _sizes.get(module)
    if known is None or known[0] != key:
        known = (key, Size(module))
        _sizes[module] = known
    return known[1]


def quantisation(module: Any) -> str:
    """none, gguf, nf4, fp4, int8, or the library's own word."""
    config = config_value(module, "quantization_config")
    if config is None:
        config = getattr(getattr(module, "hf_quantizer", None), "quantization_config", None)
    if config is None:
        return "none"
    read = config.get if isinstance(config, dict) else lambda key: getattr(config, key, None)
    if read("load_in_4bit") or read("_load_in_4bit"):
        return str(read("bnb_4bit_quant_type") or "nf4")
    if read("load_in_8bit") or read("_load_in_8bit"):
        return "int8"
    method = read("quant_method")
    return str(getattr(method, "value", method) or "unknown")


def device_of(module: Any) -> Optional[str]:
    """gpu or cpu: where the weights are while they are used."""
    hook = getattr(module, "_hf_hook", None)
    device = getattr(hook, "execution_device", None)
    if device is None:
        first = next(iter(module.parameters()), None)
        device = first.device if first is not None else None
    if isinstance(device, int):
        return "gpu"
    kind = getattr(device, "type", device)
    if not isinstance(kind, str) or kind == "meta":
        return None
    return "cpu" if kind.startswith("cpu") else "gpu"
