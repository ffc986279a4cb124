"""Image denoisers in diffusers' names. Defaults are those of the release; tests shrink them."""
from shapes import Net


def flux(d=3072, layers=19, single=38, text=4096, channels=64, pooled=768, guidance=True, head=128):
    n = Net()
    n.mlp2("time_text_embed.timestep_embedder", 256, d)
    if guidance:
        n.mlp2("time_text_embed.guidance_embedder", 256, d)
    n.mlp2("time_text_embed.text_embedder", pooled, d)
    n.linear("context_embedder", d, text)
    n.linear("x_embedder", d, channels)
    flux_blocks(n, d, layers, single, head, modulated=True)
    n.linear("norm_out.linear", 2 * d, d)
    n.linear("proj_out", 64, d)
    return n


def flux_blocks(n, d, layers, single, head, modulated):
    for i in range(layers):
        b = f"transformer_blocks.{i}"
        if modulated:
            n.linear(f"{b}.norm1.linear", 6 * d, d)
            n.linear(f"{b}.norm1_context.linear", 6 * d, d)
        n.attention(f"{b}.attn", d, head=head, text=d)
        n.ff(f"{b}.ff", d, 4 * d)
        n.ff(f"{b}.ff_context", d, 4 * d)
    for i in range(single):
        b = f"single_transformer_blocks.{i}"
        if modulated:
            n.linear(f"{b}.norm.linear", 3 * d, d)
        n.linear(f"{b}.proj_mlp", 4 * d, d)
        n.linear(f"{b}.proj_out", d, 5 * d)
        for part in ("to_q", "to_k", "to_v"):
            n.linear(f"{b}.attn.{part}", d, d)
        n.scales(head, f"{b}.attn.norm_q", f"{b}.attn.norm_k")


def chroma(d=3072, layers=19, single=38, text=4096, inner=5120, head=128):
    n = Net()
    n.linear("distilled_guidance_layer.in_proj", inner, 64)
    for i in range(5):
        n.mlp2(f"distilled_guidance_layer.layers.{i}", inner, inner)
        n.scales(inner, f"distilled_guidance_layer.norms.{i}")
    n.linear("distilled_guidance_layer.out_proj", d, inner)
    n.linear("context_embedder", d, text)
    n.linear("x_embedder", d, 64)
    flux_blocks(n, d, layers, single, head, modulated=False)
    n.linear("proj_out", 64, d)
    return n


def flux2(d=6144, layers=8, single=48, text=15360, guidance=True, head=128):
    n = Net()
    n.mlp2("time_guidance_embed.timestep_embedder", 256, d, bias=False)
    if guidance:
        n.mlp2("time_guidance_embed.guidance_embedder", 256, d, bias=False)
    n.linear("double_stream_modulation_img.linear", 6 * d, d, False)
    n.linear("double_stream_modulation_txt.linear", 6 * d, d, False)
    n.linear("single_stream_modulation.linear", 3 * d, d, False)
    n.linear("x_embedder", d, 128, False)
    n.linear("context_embedder", d, text, False)
    for i in range(layers):
        b = f"transformer_blocks.{i}"
        n.attention(f"{b}.attn", d, bias=False, head=head, text=d)
        for part in ("ff", "ff_context"):
            n.linear(f"{b}.{part}.linear_in", 6 * d, d, False)
            n.linear(f"{b}.{part}.linear_out", d, 3 * d, False)
    for i in range(single):
        b = f"single_transformer_blocks.{i}.attn"
        n.linear(f"{b}.to_qkv_mlp_proj", 9 * d, d, False)
        n.scales(head, f"{b}.norm_q", f"{b}.norm_k")
        n.linear(f"{b}.to_out", d, 4 * d, False)
    n.linear("norm_out.linear", 2 * d, d, False)
    n.linear("proj_out", 128, d, False)
    return n


def qwen_image(d=3072, layers=60, text=3584, head=128, channels=64):
    n = Net()
    n.mlp2("time_text_embed.timestep_embedder", 256, d)
    n.scales(text, "txt_norm")
    n.linear("img_in", d, channels)
    n.linear("txt_in", d, text)
    for i in range(layers):
        b = f"transformer_blocks.{i}"
        n.attention(f"{b}.attn", d, head=head, text=d)
        for part in ("img", "txt"):
            n.linear(f"{b}.{part}_mod.1", 6 * d, d)
            n.ff(f"{b}.{part}_mlp", d, 4 * d)
    n.linear("norm_out.linear", 2 * d, d)
    n.linear("proj_out", 64, d)
    return n


def sd3(d=1536, layers=24, side=192, dual=0, norms=False, text=4096, pooled=2048):
    n = Net()
    head = 64 if norms else 0
    n.add("pos_embed.pos_embed", 1, side * side, d)
    n.conv("pos_embed.proj", d, 16, 2, 2)
    n.mlp2("time_text_embed.timestep_embedder", 256, d)
    n.mlp2("time_text_embed.text_embedder", pooled, d)
    n.linear("context_embedder", d, text)
    for i in range(layers):
        b = f"transformer_blocks.{i}"
        last = i == layers - 1
        n.linear(f"{b}.norm1.linear", (9 if i < dual else 6) * d, d)
        n.linear(f"{b}.norm1_context.linear", (2 if last else 6) * d, d)
        n.attention(f"{b}.attn", d, head=head, text=d, text_out=not last)
        if i < dual:
            n.attention(f"{b}.attn2", d, head=head)
        n.ff(f"{b}.ff", d, 4 * d)
        if not last:
            n.ff(f"{b}.ff_context", d, 4 * d)
    n.linear("norm_out.linear", 2 * d, d)
    n.linear("proj_out", 64, d)
    return n


def auraflow(d=3072, joint=4, single=32, text=2048, inner=8192, positions=1024):
    n = Net()
    n.add("register_tokens", 1, 8, d)
    n.add("pos_embed.pos_embed", 1, positions, d)
    n.linear("pos_embed.proj", d, 16)
    n.linear("context_embedder", d, text, False)
    n.mlp2("time_step_proj", 256, d)

    def ff(name):
        n.linear(f"{name}.linear_1", inner, d, False)
        n.linear(f"{name}.linear_2", inner, d, False)
        n.linear(f"{name}.out_projection", d, inner, False)

    for i in range(joint):
        b = f"joint_transformer_blocks.{i}"
        n.linear(f"{b}.norm1.linear", 6 * d, d, False)
        n.linear(f"{b}.norm1_context.linear", 6 * d, d, False)
        n.attention(f"{b}.attn", d, bias=False, text=d)
        ff(f"{b}.ff")
        ff(f"{b}.ff_context")
    for i in range(single):
        b = f"single_transformer_blocks.{i}"
        n.linear(f"{b}.norm1.linear", 6 * d, d, False)
        n.attention(f"{b}.attn", d, bias=False)
        ff(f"{b}.ff")
    n.linear("norm_out.linear", 2 * d, d, False)
    n.linear("proj_out", 16, d, False)
    return n


def lumina2(d=2304, layers=26, refiners=2, text=2304, kv=768, head=96, inner=9216, time=1024):
    n = Net()
    n.linear("x_embedder", d, 64)
    n.mlp2("time_caption_embed.timestep_embedder", 256, time)
    n.scales(text, "time_caption_embed.caption_embedder.0")
    n.linear("time_caption_embed.caption_embedder.1", d, text)

    def block(b, modulated):
        n.attention(f"{b}.attn", d, bias=False, head=head, kv=kv)
        n.linear(f"{b}.feed_forward.linear_1", inner, d, False)
        n.linear(f"{b}.feed_forward.linear_2", d, inner, False)
        n.linear(f"{b}.feed_forward.linear_3", inner, d, False)
        if modulated:
            n.linear(f"{b}.norm1.linear", 4 * d, time)
            n.scales(d, f"{b}.norm1.norm")
        else:
            n.scales(d, f"{b}.norm1")
        n.scales(d, f"{b}.ffn_norm1", f"{b}.norm2", f"{b}.ffn_norm2")

    for i in range(refiners):
        block(f"noise_refiner.{i}", True)
        block(f"context_refiner.{i}", False)
    for i in range(layers):
        block(f"layers.{i}", True)
    n.linear("norm_out.linear_1", d, time)
    n.linear("norm_out.linear_2", 64, d)
    return n


def omnigen2(d=2520, layers=32, text=2048, kv=840, head=120, inner=10240, time=1024):
    """Lumina2's blocks and a second way in, for reference images."""
    n = lumina2(d, layers, 2, text, kv, head, inner, time)
    n.linear("ref_image_patch_embedder", d, 64)
    n.add("image_index_embedding", 5, d)
    return n


def z_image(d=3840, layers=30, refiners=2, text=2560, inner=10240, head=128):
    n = Net()
    n.add("x_pad_token", 1, d)
    n.add("cap_pad_token", 1, d)
    n.linear("all_x_embedder.2-1", d, 64)
    n.linear("all_final_layer.2-1.linear", 64, d)
    n.linear("all_final_layer.2-1.adaLN_modulation.1", d, 256)
    n.linear("t_embedder.mlp.0", 1024, 256)
    n.linear("t_embedder.mlp.2", 256, 1024)
    n.scales(text, "cap_embedder.0")
    n.linear("cap_embedder.1", d, text)

    def block(b, modulated):
        n.attention(f"{b}.attention", d, bias=False, head=head)
        n.linear(f"{b}.feed_forward.w1", inner, d, False)
        n.linear(f"{b}.feed_forward.w2", d, inner, False)
        n.linear(f"{b}.feed_forward.w3", inner, d, False)
        n.scales(d, f"{b}.attention_norm1", f"{b}.ffn_norm1", f"{b}.attention_norm2",
                 f"{b}.ffn_norm2")
        if modulated:
            n.linear(f"{b}.adaLN_modulation.0", 4 * d, 256)

    for i in range(refiners):
        block(f"noise_refiner.{i}", True)
        block(f"context_refiner.{i}", False)
    for i in range(layers):
        block(f"layers.{i}", True)
    return n


def pixart(d=1152, layers=28, text=4096, sizes=True):
    n = Net()
    n.add("scale_shift_table", 2, d)
    n.conv("pos_embed.proj", d, 4, 2, 2)
    for i in range(layers):
        b = f"transformer_blocks.{i}"
        n.add(f"{b}.scale_shift_table", 6, d)
        n.attention(f"{b}.attn1", d)
        n.attention(f"{b}.attn2", d)
        n.ff(f"{b}.ff", d, 4 * d)
    n.linear("proj_out", 32, d)
    n.mlp2("adaln_single.emb.timestep_embedder", 256, d)
    if sizes:
        n.mlp2("adaln_single.emb.resolution_embedder", 256, d // 3)
        n.mlp2("adaln_single.emb.aspect_ratio_embedder", 256, d // 3)
    n.linear("adaln_single.linear", 6 * d, d)
    n.mlp2("caption_projection", text, d)
    return n


def sana(d=2240, layers=20, text=2304):
    n = Net()
    inner = d * 5 // 2
    n.add("scale_shift_table", 2, d)
    n.conv("patch_embed.proj", d, 32, 1, 1)
    n.mlp2("time_embed.emb.timestep_embedder", 256, d)
    n.linear("time_embed.linear", 6 * d, d)
    n.mlp2("caption_projection", text, d)
    n.scales(d, "caption_norm")
    for i in range(layers):
        b = f"transformer_blocks.{i}"
        n.add(f"{b}.scale_shift_table", 6, d)
        n.attention(f"{b}.attn1", d, bias=False, out_bias=True)
        n.attention(f"{b}.attn2", d)
        n.conv(f"{b}.ff.conv_inverted", 2 * inner, d, 1, 1)
        n.conv(f"{b}.ff.conv_depth", 2 * inner, 1, 3, 3)
        n.conv(f"{b}.ff.conv_point", d, inner, 1, 1, bias=False)
    n.linear("proj_out", 32, d)
    return n
