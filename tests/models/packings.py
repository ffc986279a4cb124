"""How quantisers store a layer "X.weight" of [out, in]: name -> (shape, dtype) of what stands for it.

gptq        AutoGPTQ: qweight [in*bits/32, out], qzeros [in/group, out*bits/32], scales, g_idx
            (AutoGPTQ/AutoGPTQ, auto_gptq/nn_modules/qlinear)
awq         AutoAWQ: qweight [in, out*bits/32] (casper-hansen/AutoAWQ, awq/modules/linear/gemm.py)
mlx         uint32 [out, in*bits/32], scales and biases [out, in/group] (ml-explore/mlx, quantize)
quanto      weight._data, weight._scale; below 8 bits weight._data._data of groups, weight._shift
            (huggingface/optimum-quanto, optimum/quanto/tensor/weights/qbits.py)
torchao     _weight_qdata, _weight_scale (pytorch/ao, torchao/prototype/safetensors)
nunchaku    int8 [out, in/2] with a low-rank branch; of modulations int32 [out/4, in/2]
            (nunchaku-tech/nunchaku, nunchaku/models/linear.py; older files say lora_down, lora_up)
compressed  weight_packed int32 [out, in*bits/32] (vllm-project/compressed-tensors)
"""
GROUP = 128


def gptq(out, inp, bits=4):
    return {"qweight": ([inp * bits // 32, out], "I32"), "scales": ([inp // GROUP, out], "F16"),
            "qzeros": ([inp // GROUP, out * bits // 32], "I32"), "g_idx": ([inp], "I32")}


def awq(out, inp):
    return {"qweight": ([inp, out // 8], "I32"), "scales": ([inp // GROUP, out], "F16"),
            "qzeros": ([inp // GROUP, out // 8], "I32")}


def mlx(out, inp, bits=4, group=64):
    return {"weight": ([out, inp * bits // 32], "U32"), "scales": ([out, inp // group], "BF16"),
            "biases": ([out, inp // group], "BF16")}


def quanto(out, inp, dtype="I8"):
    return {"weight._data": ([out, inp], dtype), "weight._scale": ([out, 1], "BF16"),
            "input_scale": ([], "BF16"), "output_scale": ([], "BF16")}


def quanto_bits(out, inp, bits=4):
    groups = out * inp // GROUP
    return {"weight._data._data": ([GROUP * bits // 8, groups], "U8"),
            "weight._scale": ([1, groups], "BF16"), "weight._shift": ([1, groups], "BF16")}


def torchao(out, inp, dtype="I8"):
    packed = 2 if dtype == "U8" else 1
    return {"_weight_qdata": ([out, inp // packed], dtype), "_weight_scale": ([out, 1], "BF16")}


def nunchaku(out, inp):
    return {"qweight": ([out, inp // 2], "I8"), "wscales": ([inp // 64, out], "BF16"),
            "smooth": ([inp], "BF16"), "smooth_orig": ([inp], "BF16"),
            "lora_down": ([inp, 32], "BF16"), "lora_up": ([out, 32], "BF16")}


def nunchaku_modulation(out, inp):
    return {"qweight": ([out // 4, inp // 2], "I32"), "wscales": ([inp // 64, out], "BF16"),
            "wzeros": ([inp // 64, out], "BF16")}


def compressed(out, inp):
    return {"weight_packed": ([out, inp // 8], "I32"), "weight_shape": ([2], "I64"),
            "weight_scale": ([out, inp // GROUP], "BF16")}


def pack(tensors, layer_of):
    """`layer_of(name)`: the packing of a weight, or None. Gives shapes and dtypes."""
    shapes, dtypes = {}, {}
    for name, shape in tensors.items():
        packing = layer_of(name) if name.endswith(".weight") and len(shape) == 2 else None
        if packing is None:
            shapes[name] = shape
            continue
        for end, (size, dtype) in packing(*shape).items():
            full = name.removesuffix("weight") + end
            shapes[full], dtypes[full] = size, dtype
    return shapes, dtypes
