// Networks beside a denoiser. They have its names and a few more, so they are tried first.

#include "inspect/identify/rule.h"

namespace genscope::inspect {
namespace {

using D = Dimensions;

const Rule kControlNets[] = {
    {.architecture = "controlnet",
     .family = Family::controlnet,
     .title = "ControlNet",
     .namings =
         {{"diffusers",
           {"controlnet_cond_embedding.conv_in.weight"},
           {size(&D::width, "conv_in.weight", 0), size(&D::in_channels, "conv_in.weight", 1),
            size(&D::text_width,
                 "down_blocks.0.attentions.0.transformer_blocks.0.attn2.to_k.weight", 1),
            size(&D::text_width,
                 "down_blocks.1.attentions.0.transformer_blocks.0.attn2.to_k.weight", 1)}},
          {"original",
           {"input_hint_block.0.weight", "zero_convs.0.0.weight"},
           {size(&D::width, "input_blocks.0.0.weight", 0),
            size(&D::in_channels, "input_blocks.0.0.weight", 1),
            size(&D::text_width, "input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight", 1),
            size(&D::text_width, "input_blocks.4.1.transformer_blocks.0.attn2.to_k.weight", 1)}},
          {"diffusers",
           {"controlnet_x_embedder.weight"},
           {size(&D::width, "controlnet_x_embedder.weight", 0),
            size(&D::text_width, "context_embedder.weight", 1),
            size(&D::text_width, "txt_norm.weight", 0), blocks(&D::layers, "transformer_blocks."),
            blocks(&D::single_layers, "single_transformer_blocks.")}},
          {"diffusers",
           {"controlnet_blocks.0.weight"},
           {size(&D::width, "controlnet_blocks.0.weight", 0),
            size(&D::text_width, "context_embedder.weight", 1),
            blocks(&D::layers, "transformer_blocks.")}},
          {"diffusers",
           {"controlnet_cond_embedding.weight", "controlnet_down_blocks.0.weight"},
           {size(&D::width, "conv_in.weight", 0), size(&D::in_channels, "conv_in.weight", 1)}},
          {"original",
           {"control_layers.0.adaLN_modulation.0.weight"},
           {size(&D::width, "control_layers.0.adaLN_modulation.0.weight", 0, 4),
            blocks(&D::layers, "control_layers.")}}},
     .variants = {{{has("controlnet_cond_embedding.weight")},
                   "sparsectrl",
                   "SparseCtrl (AnimateDiff)"},
                  {{has("text_embedding_padding")}, "hunyuan_dit", "ControlNet for Hunyuan-DiT"},
                  {{has("caption_norm.weight")}, "sana", "ControlNet for Sana"},
                  {{has("control_layers.")}, "z_image", "ControlNet for Z-Image"},
                  {{has("txt_norm.weight")}, "qwen_image", "ControlNet for Qwen-Image"},
                  {{has("controlnet_x_embedder.weight")}, "flux", "ControlNet for FLUX.1"},
                  {{has("pos_embed_input.proj.weight")}, "sd3", "ControlNet for SD 3"},
                  {{equals(&D::text_width, 768)}, "sd1", "ControlNet for SD 1"},
                  {{equals(&D::text_width, 1024)}, "sd2", "ControlNet for SD 2"},
                  {{equals(&D::text_width, 2048)}, "sdxl", "ControlNet for SDXL"}},
     .buffers = {"pos_embed.pos_embed", "pos_embed_input.pos_embed"},
     .unrefined = Confidence::medium},
    {.architecture = "t2i_adapter",
     .family = Family::controlnet,
     .title = "T2I-Adapter",
     .namings = {{"diffusers", {"adapter.body.0.resnets.0.block1.weight"}, {}},
                 {"original", {"body.0.block1.weight", "conv_in.weight"}, {}}}},
    {.architecture = "ip_adapter",
     .family = Family::controlnet,
     .title = "IP-Adapter",
     .namings = {{"original", {"ip_adapter.", "image_proj."}, {}}}},
};

}  // namespace

std::span<const Rule> adapter_rules() { return kControlNets; }

}  // namespace genscope::inspect
