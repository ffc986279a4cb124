"""Video denoisers in diffusers' names."""
from image_denoisers import flux_blocks
from shapes import Net


def wan(d=5120, layers=40, inner=13824, channels=16, out=None, text=4096, image=0):
    n = Net()
    out = out or (channels if channels != 36 else 16)
    n.add("scale_shift_table", 1, 2, d)
    n.conv("patch_embedding", d, channels, 1, 2, 2)
    n.mlp2("condition_embedder.time_embedder", 256, d)
    n.linear("condition_embedder.time_proj", 6 * d, d)
    n.mlp2("condition_embedder.text_embedder", text, d)
    if image:
        e = "condition_embedder.image_embedder"
        n.norm(f"{e}.norm1", image)
        n.linear(f"{e}.ff.net.0.proj", image, image)
        n.linear(f"{e}.ff.net.2", d, image)
        n.norm(f"{e}.norm2", d)
    for i in range(layers):
        b = f"blocks.{i}"
        n.add(f"{b}.scale_shift_table", 1, 6, d)
        n.attention(f"{b}.attn1", d, head=d)
        n.attention(f"{b}.attn2", d, head=d)
        if image:
            n.linear(f"{b}.attn2.add_k_proj", d, d)
            n.linear(f"{b}.attn2.add_v_proj", d, d)
            n.scales(d, f"{b}.attn2.norm_added_k")
        n.norm(f"{b}.norm2", d)
        n.ff(f"{b}.ffn", d, inner)
    n.linear("proj_out", 4 * out, d)
    return n


def hunyuan_video(d=3072, layers=20, single=40, text=4096, channels=16, pooled=768, head=128):
    n = Net()
    n.conv("x_embedder.proj", d, channels, 1, 2, 2)
    c = "context_embedder"
    n.mlp2(f"{c}.time_text_embed.timestep_embedder", 256, d)
    n.mlp2(f"{c}.time_text_embed.text_embedder", text, d)
    n.linear(f"{c}.proj_in", d, text)
    for i in range(2):
        b = f"{c}.token_refiner.refiner_blocks.{i}"
        n.norm(f"{b}.norm1", d)
        n.attention(f"{b}.attn", d)
        n.norm(f"{b}.norm2", d)
        n.ff(f"{b}.ff", d, 4 * d)
        n.linear(f"{b}.norm_out.linear", 2 * d, d)
    n.mlp2("time_text_embed.timestep_embedder", 256, d)
    n.mlp2("time_text_embed.text_embedder", pooled, d)
    n.mlp2("time_text_embed.guidance_embedder", 256, d)
    flux_blocks(n, d, layers, single, head, modulated=True)
    n.linear("norm_out.linear", 2 * d, d)
    n.linear("proj_out", 64, d)
    return n


def mochi(d=3072, layers=48, text=4096, y=1536, heads=24, head=128, inner=8192):
    n = Net()
    n.add("pos_frequencies", 3, heads, head // 2)
    n.conv("patch_embed.proj", d, 12, 2, 2)
    n.mlp2("time_embed.timestep_embedder", 256, d)
    n.linear("time_embed.pooler.to_kv", 2 * text, text)
    n.linear("time_embed.pooler.to_q", text, text)
    n.linear("time_embed.pooler.to_out", d, text)
    n.linear("time_embed.caption_proj", y, text)
    for i in range(layers):
        b = f"transformer_blocks.{i}"
        last = i == layers - 1
        n.linear(f"{b}.norm1.linear", 4 * d, d)
        if last:
            n.linear(f"{b}.norm1_context.linear_1", y, d)
        else:
            n.linear(f"{b}.norm1_context.linear", 4 * y, d)
        n.attention(f"{b}.attn1", d, bias=False, out_bias=True, head=head, text=y,
                    text_out=not last)
        n.ff(f"{b}.ff", d, inner, bias=False, gated=True)
        if not last:
            n.ff(f"{b}.ff_context", y, inner // 2, bias=False, gated=True)
    n.linear("norm_out.linear", 2 * d, d)
    n.linear("proj_out", 48, d)
    return n


def ltx(d=2048, layers=28, text=4096):
    n = Net()
    n.add("scale_shift_table", 2, d)
    n.linear("proj_in", d, 128)
    n.mlp2("time_embed.emb.timestep_embedder", 256, d)
    n.linear("time_embed.linear", 6 * d, d)
    n.mlp2("caption_projection", text, d)
    for i in range(layers):
        b = f"transformer_blocks.{i}"
        n.add(f"{b}.scale_shift_table", 6, d)
        n.attention(f"{b}.attn1", d, head=d)
        n.attention(f"{b}.attn2", d, head=d)
        n.ff(f"{b}.ff", d, 4 * d)
    n.linear("proj_out", 128, d)
    return n


def cogvideox(d=1920, layers=30, text=4096, time=512, head=64, channels=16):
    n = Net()
    n.conv("patch_embed.proj", d, channels, 2, 2)
    n.linear("patch_embed.text_proj", d, text)
    n.linear("time_embedding.linear_1", time, d)
    n.linear("time_embedding.linear_2", time, time)
    for i in range(layers):
        b = f"transformer_blocks.{i}"
        for part in ("norm1", "norm2"):
            n.linear(f"{b}.{part}.linear", 6 * d, time)
            n.norm(f"{b}.{part}.norm", d)
        n.attention(f"{b}.attn1", d)
        n.norm(f"{b}.attn1.norm_q", head)
        n.norm(f"{b}.attn1.norm_k", head)
        n.ff(f"{b}.ff", d, 4 * d)
    n.norm("norm_final", d)
    n.linear("norm_out.linear", 2 * d, time)
    n.norm("norm_out.norm", d)
    n.linear("proj_out", 64, d)
    return n
