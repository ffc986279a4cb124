"""Text encoders and language models in transformers' names."""
from shapes import Net


def clip(d=768, layers=12, projection=0, positions=77, words=49408):
    n = Net()
    n.add("text_model.embeddings.token_embedding.weight", words, d)
    n.add("text_model.embeddings.position_embedding.weight", positions, d)
    for i in range(layers):
        b = f"text_model.encoder.layers.{i}"
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            n.linear(f"{b}.self_attn.{part}", d, d)
        n.norm(f"{b}.layer_norm1", d)
        n.linear(f"{b}.mlp.fc1", 4 * d, d)
        n.linear(f"{b}.mlp.fc2", d, 4 * d)
        n.norm(f"{b}.layer_norm2", d)
    n.norm("text_model.final_layer_norm", d)
    if projection:
        n.linear("text_projection", projection, d, False)
    return n


def t5(d=4096, layers=24, inner=10240, heads=64, words=32128, biases=1):
    """`biases`: layers with a relative position bias; UMT5 has one in each."""
    n = Net()
    n.add("shared.weight", words, d)
    for i in range(layers):
        b = f"encoder.block.{i}"
        for part in ("q", "k", "v"):
            n.linear(f"{b}.layer.0.SelfAttention.{part}", 64 * heads, d, False)
        n.linear(f"{b}.layer.0.SelfAttention.o", d, 64 * heads, False)
        if i < biases:
            n.add(f"{b}.layer.0.SelfAttention.relative_attention_bias.weight", 32, heads)
        n.scales(d, f"{b}.layer.0.layer_norm", f"{b}.layer.1.layer_norm")
        n.linear(f"{b}.layer.1.DenseReluDense.wi_0", inner, d, False)
        n.linear(f"{b}.layer.1.DenseReluDense.wi_1", inner, d, False)
        n.linear(f"{b}.layer.1.DenseReluDense.wo", d, inner, False)
    n.scales(d, "encoder.final_layer_norm")
    return n


def language(d, layers, q, kv, inner, words, bias=False, head_norm=0, after=False, lm_head=False):
    """Llama and its kin. `bias`: of q, k, v (Qwen2); `head_norm` (Qwen3); `after`: norms after each
    part as well (Gemma)."""
    n = Net()
    n.add("model.embed_tokens.weight", words, d)
    for i in range(layers):
        b = f"model.layers.{i}"
        n.linear(f"{b}.self_attn.q_proj", q, d, bias)
        n.linear(f"{b}.self_attn.k_proj", kv, d, bias)
        n.linear(f"{b}.self_attn.v_proj", kv, d, bias)
        n.linear(f"{b}.self_attn.o_proj", d, q, False)
        if head_norm:
            n.scales(head_norm, f"{b}.self_attn.q_norm", f"{b}.self_attn.k_norm")
        n.linear(f"{b}.mlp.gate_proj", inner, d, False)
        n.linear(f"{b}.mlp.up_proj", inner, d, False)
        n.linear(f"{b}.mlp.down_proj", d, inner, False)
        n.scales(d, f"{b}.input_layernorm", f"{b}.post_attention_layernorm")
        if after:
            n.scales(d, f"{b}.pre_feedforward_layernorm", f"{b}.post_feedforward_layernorm")
    n.scales(d, "model.norm")
    if lm_head:
        n.linear("lm_head", words, d, False)
    return n


def qwen2_5_vl(d=3584, layers=28, kv=512, inner=18944, words=152064, v=1280, depth=32, v_inner=3420):
    n = language(d, layers, d, kv, inner, words, bias=True, lm_head=True)
    n.conv("visual.patch_embed.proj", v, 3, 2, 14, 14, bias=False)
    for i in range(depth):
        b = f"visual.blocks.{i}"
        n.scales(v, f"{b}.norm1", f"{b}.norm2")
        n.linear(f"{b}.attn.qkv", 3 * v, v)
        n.linear(f"{b}.attn.proj", v, v)
        n.linear(f"{b}.mlp.gate_proj", v_inner, v)
        n.linear(f"{b}.mlp.up_proj", v_inner, v)
        n.linear(f"{b}.mlp.down_proj", v, v_inner)
    n.scales(v, "visual.merger.ln_q")
    n.linear("visual.merger.mlp.0", 4 * v, 4 * v)
    n.linear("visual.merger.mlp.2", d, 4 * v)
    return n


def qwen3_vl(d=32, layers=1, v=16):
    n = language(d, layers, d, 16, 64, 100, head_norm=16)
    n.conv("visual.patch_embed.proj", v, 3, 2, 16, 16)
    n.linear("visual.deepstack_merger_list.0.linear_fc1", d, v)
    return n
