"""UNets of Stable Diffusion and the KL autoencoder, in diffusers' names."""
from shapes import Net


def resnet(n, name, inp, out, time=0):
    n.norm(f"{name}.norm1", inp)
    n.conv(f"{name}.conv1", out, inp, 3, 3)
    if time:
        n.linear(f"{name}.time_emb_proj", out, time)
    n.norm(f"{name}.norm2", out)
    n.conv(f"{name}.conv2", out, out, 3, 3)
    if inp != out:
        n.conv(f"{name}.conv_shortcut", out, inp, 1, 1)


def transformer(n, name, c, depth, text, linear):
    n.norm(f"{name}.norm", c)
    for part in ("proj_in", "proj_out"):
        if linear:
            n.linear(f"{name}.{part}", c, c)
        else:
            n.conv(f"{name}.{part}", c, c, 1, 1)
    for i in range(depth):
        b = f"{name}.transformer_blocks.{i}"
        for part in ("norm1", "norm2", "norm3"):
            n.norm(f"{b}.{part}", c)
        for part, source in (("attn1", c), ("attn2", text)):
            n.linear(f"{b}.{part}.to_q", c, c, False)
            n.linear(f"{b}.{part}.to_k", c, source, False)
            n.linear(f"{b}.{part}.to_v", c, source, False)
            n.linear(f"{b}.{part}.to_out.0", c, c)
        n.ff(f"{b}.ff", c, 4 * c, gated=True)


def unet(levels=(320, 640, 1280, 1280), depths=(1, 1, 1, 0), text=768, channels=4, linear=False,
         added=0):
    """`depths`: transformer blocks of each attention of a level; 0: the level has none."""
    n = Net()
    first, last = levels[0], levels[-1]
    time = 4 * first
    n.conv("conv_in", first, channels, 3, 3)
    n.linear("time_embedding.linear_1", time, first)
    n.linear("time_embedding.linear_2", time, time)
    if added:
        n.linear("add_embedding.linear_1", time, added)
        n.linear("add_embedding.linear_2", time, time)
    skips = [first]
    c = first
    for i, out in enumerate(levels):
        for j in range(2):
            resnet(n, f"down_blocks.{i}.resnets.{j}", c, out, time)
            c = out
            if depths[i]:
                transformer(n, f"down_blocks.{i}.attentions.{j}", c, depths[i], text, linear)
            skips.append(c)
        if i < len(levels) - 1:
            n.conv(f"down_blocks.{i}.downsamplers.0.conv", c, c, 3, 3)
            skips.append(c)
    resnet(n, "mid_block.resnets.0", last, last, time)
    transformer(n, "mid_block.attentions.0", last, depths[-1] or 1, text, linear)
    resnet(n, "mid_block.resnets.1", last, last, time)
    for i, out in enumerate(reversed(levels)):
        depth = depths[len(levels) - 1 - i]
        for j in range(3):
            resnet(n, f"up_blocks.{i}.resnets.{j}", c + skips.pop(), out, time)
            c = out
            if depth:
                transformer(n, f"up_blocks.{i}.attentions.{j}", c, depth, text, linear)
        if i < len(levels) - 1:
            n.conv(f"up_blocks.{i}.upsamplers.0.conv", c, c, 3, 3)
    n.norm("conv_norm_out", first)
    n.conv("conv_out", 4, first, 3, 3)
    return n


def sdxl(c=320, depths=(0, 2, 10), text=2048, channels=4, added=2816):
    return unet((c, 2 * c, 4 * c), depths, text, channels, True, added)


def kl(levels=(128, 256, 512, 512), latent=4, quant=True):
    """AutoencoderKL."""
    n = Net()
    last = levels[-1]

    def middle(name):
        resnet(n, f"{name}.mid_block.resnets.0", last, last)
        a = f"{name}.mid_block.attentions.0"
        n.norm(f"{a}.group_norm", last)
        n.attention(a, last)
        resnet(n, f"{name}.mid_block.resnets.1", last, last)

    n.conv("encoder.conv_in", levels[0], 3, 3, 3)
    c = levels[0]
    for i, out in enumerate(levels):
        for j in range(2):
            resnet(n, f"encoder.down_blocks.{i}.resnets.{j}", c, out)
            c = out
        if i < len(levels) - 1:
            n.conv(f"encoder.down_blocks.{i}.downsamplers.0.conv", c, c, 3, 3)
    middle("encoder")
    n.norm("encoder.conv_norm_out", last)
    n.conv("encoder.conv_out", 2 * latent, last, 3, 3)
    n.conv("decoder.conv_in", last, latent, 3, 3)
    middle("decoder")
    c = last
    for i, out in enumerate(reversed(levels)):
        for j in range(3):
            resnet(n, f"decoder.up_blocks.{i}.resnets.{j}", c, out)
            c = out
        if i < len(levels) - 1:
            n.conv(f"decoder.up_blocks.{i}.upsamplers.0.conv", c, c, 3, 3)
    n.norm("decoder.conv_norm_out", levels[0])
    n.conv("decoder.conv_out", 3, levels[0], 3, 3)
    if quant:
        n.conv("quant_conv", 2 * latent, 2 * latent, 1, 1)
        n.conv("post_quant_conv", latent, latent, 1, 1)
    return n
