"""The same architectures in the names of their authors' code, small: what rules look at, no more."""
from shapes import Net


def flux(d=32, text=16, channels=64, guidance=True, chroma=False, head=16, pooled=16):
    n = Net()
    n.linear("img_in", d, channels)
    n.linear("txt_in", d, text)
    if chroma:
        n.linear("distilled_guidance_layer.in_proj", 48, 16)
        n.add("distilled_guidance_layer.norms.0.scale", 48)
    else:
        n.mlp2("time_in", 256, d, first="in_layer", second="out_layer")
        n.mlp2("vector_in", pooled, d, first="in_layer", second="out_layer")
        if guidance:
            n.mlp2("guidance_in", 256, d, first="in_layer", second="out_layer")
    flux_blocks(n, d, head, modulated=not chroma)
    n.linear("final_layer.linear", 64, d)
    return n


def flux_blocks(n, d, head, modulated, mlp=("0", "2")):
    for part in ("img", "txt"):
        b = "double_blocks.0." + part
        if modulated:
            n.linear(f"{b}_mod.lin", 6 * d, d)
        n.linear(f"{b}_attn.qkv", 3 * d, d)
        n.add(f"{b}_attn.norm.query_norm.scale", head)
        n.add(f"{b}_attn.norm.key_norm.scale", head)
        n.linear(f"{b}_attn.proj", d, d)
        n.linear(f"{b}_mlp.{mlp[0]}", 4 * d, d)
        n.linear(f"{b}_mlp.{mlp[1]}", d, 4 * d)
    b = "single_blocks.0"
    n.linear(f"{b}.linear1", 7 * d, d)
    n.linear(f"{b}.linear2", d, 5 * d)
    n.add(f"{b}.norm.key_norm.scale", head)
    if modulated:
        n.linear(f"{b}.modulation.lin", 3 * d, d)


def flux2(d=32, text=48):
    n = Net()
    n.linear("img_in", d, 128, False)
    n.linear("txt_in", d, text, False)
    for part in ("double_stream_modulation_img", "double_stream_modulation_txt"):
        n.linear(f"{part}.lin", 6 * d, d, False)
    n.linear("single_stream_modulation.lin", 3 * d, d, False)
    for part in ("img", "txt"):
        b = "double_blocks.0." + part
        n.linear(f"{b}_attn.qkv", 3 * d, d, False)
        n.add(f"{b}_attn.norm.key_norm.scale", 16)
        n.linear(f"{b}_mlp.0", 6 * d, d, False)
        n.linear(f"{b}_mlp.2", d, 3 * d, False)
    n.linear("single_blocks.0.linear1", 9 * d, d, False)
    n.linear("final_layer.linear", 128, d, False)
    return n


def hunyuan_video(d=128, text=16, channels=16):
    n = Net()
    n.conv("img_in.proj", d, channels, 1, 2, 2)
    n.linear("txt_in.input_embedder", d, text)
    n.norm("txt_in.individual_token_refiner.blocks.0.norm1", d)
    n.linear("txt_in.individual_token_refiner.blocks.0.adaLN_modulation.1", 2 * d, d)
    n.mlp2("vector_in", 16, d, first="in_layer", second="out_layer")
    n.linear("guidance_in.mlp.0", d, 256)
    flux_blocks(n, d, 16, True, ("fc1", "fc2"))
    n.linear("final_layer.linear", 64, d)
    return n


def auraflow(d=256):
    n = Net()
    n.add("register_tokens", 1, 8, d)
    n.add("positional_encoding", 1, 16, d)
    n.linear("init_x_linear", d, 16)
    n.linear("cond_seq_linear", d, 24, False)
    for part in ("w1q", "w1k", "w1v", "w2q", "w2k", "w2v"):
        n.linear(f"double_layers.0.attn.{part}", d, d, False)
    n.linear("double_layers.0.mlpX.c_fc1", 2 * d, d, False)
    n.linear("single_layers.0.attn.w1q", d, d, False)
    n.linear("final_linear", 16, d, False)
    return n


def sd3(d=128, text=16, dual=False):
    n = Net()
    n.add("pos_embed", 1, 16, d)
    n.conv("x_embedder.proj", d, 16, 2, 2)
    n.linear("context_embedder", d, text)
    n.linear("y_embedder.mlp.0", d, 24)
    for part in ("x_block", "context_block"):
        b = f"joint_blocks.0.{part}"
        n.linear(f"{b}.attn.qkv", 3 * d, d)
        n.linear(f"{b}.mlp.fc1", 4 * d, d)
        n.linear(f"{b}.adaLN_modulation.1", 6 * d, d)
    if dual:
        n.linear("joint_blocks.0.x_block.attn2.qkv", 3 * d, d)
    n.linear("final_layer.linear", 64, d)
    return n


def wan(d=128, channels=16, text=16, image=False):
    n = Net()
    n.conv("patch_embedding", d, channels, 1, 2, 2)
    n.linear("text_embedding.0", d, text)
    n.linear("text_embedding.2", d, d)
    n.linear("time_projection.1", 6 * d, d)
    for part in ("self_attn", "cross_attn"):
        for piece in "qkvo":
            n.linear(f"blocks.0.{part}.{piece}", d, d)
        n.scales(d, f"blocks.0.{part}.norm_q", f"blocks.0.{part}.norm_k")
    n.add("blocks.0.modulation", 1, 6, d)
    n.linear("blocks.0.ffn.0", 3 * d, d)
    n.linear("blocks.0.ffn.2", d, 3 * d)
    n.linear("head.head", 64, d)
    n.add("head.modulation", 1, 2, d)
    if image:
        n.norm("img_emb.proj.0", 16)
    return n


def nextdit(d=48, text=32, kv=0, place=1):
    """Lumina2 and Z-Image: `place` is where the modulation stands in its block."""
    n = Net()
    n.linear("x_embedder", d, 64)
    n.scales(text, "cap_embedder.0")
    n.linear("cap_embedder.1", d, text)
    n.linear("t_embedder.mlp.0", 64, 256)
    for b in ("layers.0", "noise_refiner.0", "noise_refiner.1"):
        n.linear(f"{b}.attention.qkv", d + 2 * (kv or d), d, False)
        n.linear(f"{b}.attention.out", d, d, False)
        n.scales(16, f"{b}.attention.q_norm", f"{b}.attention.k_norm")
        n.linear(f"{b}.feed_forward.w1", 2 * d, d, False)
        n.linear(f"{b}.adaLN_modulation.{place}", 4 * d, 64)
    n.linear("final_layer.linear", 64, d)
    return n


def mochi(d=32, text=24):
    n = Net()
    n.conv("x_embedder.proj", d, 12, 2, 2)
    n.linear("t5_yproj", 16, text)
    n.linear("blocks.0.attn.qkv_x", 3 * d, d, False)
    n.scales(16, "blocks.0.attn.q_norm_x")
    n.linear("blocks.0.mlp_x.w1", 8 * d, d, False)
    n.linear("blocks.0.mlp_x.w2", d, 4 * d, False)
    n.linear("final_layer.linear", 48, d)
    return n


def sana(d=64, text=24):
    n = Net()
    n.conv("x_embedder.proj", d, 32, 1, 1)
    n.linear("t_block.1", 6 * d, d)
    n.linear("y_embedder.y_proj.fc1", d, text)
    n.scales(d, "attention_y_norm")
    n.linear("blocks.0.cross_attn.q_linear", d, d)
    n.conv("blocks.0.mlp.inverted_conv.conv", 5 * d, d, 1, 1)
    n.conv("blocks.0.mlp.point_conv.conv", d, 5 * d // 2, 1, 1)
    n.linear("final_layer.linear", 32, d)
    return n


def pixart(d=72, text=24, sizes=False):
    n = Net()
    n.add("pos_embed", 1, 16, d)
    n.conv("x_embedder.proj", d, 4, 2, 2)
    n.linear("t_block.1", 6 * d, d)
    n.linear("y_embedder.y_proj.fc1", d, text)
    n.linear("blocks.0.cross_attn.q_linear", d, d)
    n.linear("blocks.0.mlp.fc1", 4 * d, d)
    if sizes:
        n.linear("ar_embedder.mlp.0", 24, 256)
    n.linear("final_layer.linear", 32, d)
    return n


def ltx(d=2048, text=24):
    n = Net()
    n.linear("patchify_proj", d, 128)
    n.linear("adaln_single.linear", 6 * d, d)
    n.linear("adaln_single.emb.timestep_embedder.linear_1", d, 256)
    n.linear("caption_projection.linear_1", d, text)
    n.add("transformer_blocks.0.scale_shift_table", 6, d)
    n.linear("transformer_blocks.0.attn1.to_q", d, d)
    n.linear("transformer_blocks.0.ff.net.0.proj", 4 * d, d)
    n.linear("proj_out", 128, d)
    return n


def cosmos(d=128):
    n = Net()
    n.linear("x_embedder.proj.1", d, 68, False)
    n.linear("blocks.0.mlp.layer1", 4 * d, d, False)
    n.linear("blocks.0.cross_attn.k_proj", d, 24, False)
    for part in ("q_proj", "k_proj", "v_proj"):
        n.linear(f"blocks.0.self_attn.{part}", d, d, False)
    return n


def hidream(d=128):
    n = Net()
    n.linear("x_embedder.proj", d, 64)
    n.linear("p_embedder.pooled_embedder.linear_1", d, 16)
    for i in range(3):
        n.linear(f"caption_projection.{i}.linear", d, 24, False)
    n.linear("double_stream_blocks.0.block.adaLN_modulation.1", 12 * d, d)
    n.linear("double_stream_blocks.0.block.ff_t.w1", 2 * d, d, False)
    n.linear("single_stream_blocks.0.block.adaLN_modulation.1", 6 * d, d)
    n.linear("final_layer.linear", 64, d)
    return n


def hunyuan_dit(d=64):
    n = Net()
    n.conv("x_embedder.proj", d, 4, 2, 2)
    n.linear("mlp_t5.0", 96, 24)
    n.add("text_embedding_padding", 8, 16)
    n.linear("blocks.0.attn1.Wqkv", 3 * d, d)
    n.norm("blocks.0.attn1.q_norm", 16)
    n.linear("blocks.0.mlp.fc1", 4 * d, d)
    return n


def kandinsky5(d=1792):
    n = Net()
    n.linear("visual_embeddings.in_layer", d, 132)
    n.linear("text_embeddings.in_layer", d, 24)
    n.linear("pooled_text_embeddings.in_layer", 64, 16)
    b = "visual_transformer_blocks.0"
    for part in ("self_attention", "cross_attention"):
        n.scales(64, f"{b}.{part}.query_norm", f"{b}.{part}.key_norm")
        n.linear(f"{b}.{part}.to_query", d, d)
    n.linear(f"{b}.feed_forward.in_layer", 4 * d, d, False)
    n.linear("out_layer.out_layer", 64, d)
    return n


def cascade(stage="c"):
    n = Net()
    n.conv("embedding.1", 32, 16, 1, 1)
    n.conv("clf.1", 16, 32, 1, 1)
    n.linear("clip_txt_mapper" if stage == "c" else "effnet_mapper.0", 32, 16)
    n.conv("down_blocks.0.0.depthwise", 32, 1, 3, 3)
    return n


def unet(c=16, text=768, channels=4, xl=False):
    n = Net()
    n.conv("input_blocks.0.0", c, channels, 3, 3)
    n.linear("time_embed.0", 4 * c, c)
    n.linear("time_embed.2", 4 * c, 4 * c)
    if xl:
        n.linear("label_emb.0.0", 4 * c, 2816)
    b = "input_blocks.4.1" if xl else "input_blocks.1.1"
    n.norm(f"{b}.norm", c)
    n.linear(f"{b}.transformer_blocks.0.attn2.to_k", c, text, False)
    n.norm("middle_block.0.in_layers.0", c)
    n.norm("middle_block.1.norm", c)
    n.conv("out.2", 4, c, 3, 3)
    return n


def kl(latent=4, c=16):
    n = Net()
    n.conv("encoder.conv_in", c, 3, 3, 3)
    n.norm("encoder.mid.block_1.norm1", c)
    n.conv("decoder.conv_in", c, latent, 3, 3)
    n.norm("decoder.mid.block_1.norm1", c)
    n.conv("decoder.conv_out", 3, c, 3, 3)
    return n


def wan_vae(latent=16, c=16):
    n = Net()
    n.conv("decoder.conv1", c, latent, 3, 3, 3)
    n.add("decoder.middle.0.residual.0.gamma", c, 1, 1, 1)
    n.conv("decoder.head.2", 3, c, 3, 3, 3)
    n.conv("encoder.conv1", c, 3, 3, 3, 3)
    n.conv("conv2", latent, latent, 1, 1, 1)
    return n


def openclip(d=1024, words=100):
    n = Net()
    n.add("token_embedding.weight", words, d)
    n.add("positional_embedding", 77, d)
    b = "transformer.resblocks.0"
    n.add(f"{b}.attn.in_proj_weight", 3 * d, d)
    n.norm(f"{b}.ln_1", d)
    n.linear(f"{b}.mlp.c_fc", 4 * d, d)
    n.norm("ln_final", d)
    n.add("text_projection", d, d)
    return n


def controlnet(c=16, text=768):
    n = unet(c, text)
    n.conv("input_hint_block.0", 16, 3, 3, 3)
    n.conv("zero_convs.0.0", c, c, 1, 1)
    return n
