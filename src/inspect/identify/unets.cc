// UNets: the same names in all generations, told apart by the width of the text that attention
// looks at. A UNet of another width stays a UNet: it is not Stable Diffusion 1 by default.

#include "inspect/identify/rule.h"

namespace genscope::inspect {
namespace {

using D = Dimensions;

// Text width: SD 1 and 2 attend on the first level, SDXL from the second on.
constexpr std::string_view kFirst =
    "down_blocks.0.attentions.0.transformer_blocks.0.attn2.to_k.weight";
constexpr std::string_view kFirstOriginal =
    "input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight";
constexpr std::string_view kSecond =
    "down_blocks.1.attentions.0.transformer_blocks.0.attn2.to_k.weight";
constexpr std::string_view kSecondOriginal =
    "input_blocks.4.1.transformer_blocks.0.attn2.to_k.weight";

const std::initializer_list<Naming> kUNetNames = {
    {"diffusers",
     {"conv_in.weight", "down_blocks.0.resnets.0.conv1.weight", "time_embedding.linear_1.weight"},
     {size(&D::width, "conv_in.weight", 0), size(&D::in_channels, "conv_in.weight", 1),
      size(&D::out_channels, "conv_out.weight", 0), size(&D::text_width, kFirst, 1),
      size(&D::text_width, kSecond, 1), count(&D::layers, "", ".attn2.to_k.weight"),
      fixed(&D::patch, 1)}},
    {"diffusers",
     {"conv_in.weight", "down_blocks.0.resnets.0.spatial_res_block.conv1.weight"},
     {size(&D::width, "conv_in.weight", 0), size(&D::in_channels, "conv_in.weight", 1),
      size(&D::out_channels, "conv_out.weight", 0), size(&D::text_width, kFirst, 1),
      count(&D::layers, "", ".attn2.to_k.weight"), fixed(&D::patch, 1)}},
    {"original",
     {"input_blocks.0.0.weight", "time_embed.0.weight", "middle_block.0.in_layers.0.weight"},
     {size(&D::width, "input_blocks.0.0.weight", 0),
      size(&D::in_channels, "input_blocks.0.0.weight", 1),
      size(&D::out_channels, "out.2.weight", 0), size(&D::text_width, kFirstOriginal, 1),
      size(&D::text_width, kSecondOriginal, 1), count(&D::layers, "", ".attn2.to_k.weight"),
      fixed(&D::patch, 1)}},
};

const Rule kUNets[] = {
    {.architecture = "unet3d",
     .family = Family::unet,
     .title = "ModelScope text-to-video, or Zeroscope",
     .namings = kUNetNames,
     .tests = {has("down_blocks.0.temp_convs."), has("transformer_in."),
               lacks("image_latents_proj_in.")}},

    {.architecture = "i2vgen_xl",
     .family = Family::unet,
     .title = "I2VGen-XL",
     .namings = kUNetNames,
     .tests = {has("image_latents_proj_in.")}},

    {.architecture = "kandinsky2",
     .family = Family::unet,
     .title = "Kandinsky 2",
     .namings = kUNetNames,
     .tests = {has("add_embedding.image_proj.weight"),
               has("down_blocks.1.attentions.0.add_k_proj.weight")}},

    {.architecture = "deepfloyd_if",
     .family = Family::unet,
     .title = "DeepFloyd IF",
     .namings = kUNetNames,
     .tests = {has("add_embedding.pool.q_proj.weight"),
               has("down_blocks.1.attentions.0.add_k_proj.weight")},
     .more = "class_embedding"},

    {.architecture = "sd2",
     .family = Family::unet,
     .title = "Stable Diffusion x4 upscaler",
     .namings = kUNetNames,
     .tests = {sized(kSecond, 1, 1024, kSecondOriginal), lacks(kFirst, kFirstOriginal),
               equals(&D::in_channels, 7)},
     .variants = {{{equals(&D::in_channels, 7)}, "x4 upscaler", "Stable Diffusion x4 upscaler"}},
     .relative = true},

    {.architecture = "svd",
     .family = Family::unet,
     .title = "Stable Video Diffusion",
     .namings = kUNetNames,
     .tests = {has("down_blocks.0.attentions.0.temporal_transformer_blocks.",
                   "input_blocks.1.1.time_stack.")},
     .gguf = {"svd"}},

    {.architecture = "sdxl",
     .family = Family::unet,
     .title = "Stable Diffusion XL",
     .namings = kUNetNames,
     .tests = {sized(kSecond, 1, 2048, kSecondOriginal), lacks(kFirst, kFirstOriginal)},
     .variants = {{{has("encoder_hid_proj.weight")}, "kolors", "Kolors"},
                  {{has("down_blocks.0.motion_modules.")}, "animatediff", "AnimateDiff for SDXL"},
                  {{equals(&D::in_channels, 9)}, "inpaint", "SDXL inpainting"},
                  {{equals(&D::in_channels, 8)}, "edit", "SDXL InstructPix2Pix (cosxl edit)"},
                  {{lacks("mid_block.attentions.0.norm.weight", "middle_block.1.norm.weight")},
                   "distilled",
                   "SSD-1B or Segmind-Vega (distilled from SDXL)"},
                  {{equals(&D::layers, 70)}, "base", "Stable Diffusion XL base"}},
     .gguf = {"sdxl"}},

    {.architecture = "sdxl_refiner",
     .family = Family::unet,
     .title = "Stable Diffusion XL refiner",
     .namings = kUNetNames,
     .tests = {sized(kSecond, 1, 1280, kSecondOriginal), lacks(kFirst, kFirstOriginal)}},

    {.architecture = "sd1",
     .family = Family::unet,
     .title = "Stable Diffusion 1",
     .namings = kUNetNames,
     .tests = {sized(kFirst, 1, 768, kFirstOriginal), lacks("encoder_hid_proj.")},
     .variants = {{{has("down_blocks.0.motion_modules.")}, "animatediff", "AnimateDiff for SD 1"},
                  {{has("time_embedding.cond_proj.weight")},
                   "lcm",
                   "Stable Diffusion 1, distilled with guidance as an input (LCM)"},
                  {{equals(&D::in_channels, 9)}, "inpaint", "Stable Diffusion 1 inpainting"},
                  {{equals(&D::in_channels, 8)}, "edit", "InstructPix2Pix"},
                  {{lacks("mid_block.", "middle_block.1.norm.weight")}, "distilled", "SD 1 (tiny)"},
                  {{equals(&D::in_channels, 4), equals(&D::layers, 16)},
                   "base",
                   "Stable Diffusion 1.x"}},
     .gguf = {"sd1"}},

    {.architecture = "sd2",
     .family = Family::unet,
     .title = "Stable Diffusion 2",
     .namings = kUNetNames,
     .tests = {sized(kFirst, 1, 1024, kFirstOriginal)},
     .variants = {{{has("class_embedding.linear_1.weight", "label_emb.0.0.weight")},
                   "unclip",
                   "Stable Diffusion 2.1 unCLIP"},
                  {{equals(&D::in_channels, 9)}, "inpaint", "Stable Diffusion 2 inpainting"},
                  {{equals(&D::in_channels, 5)}, "depth", "Stable Diffusion 2 depth"},
                  {{equals(&D::in_channels, 4), equals(&D::layers, 16)},
                   "base",
                   "Stable Diffusion 2.x"}},
     .gguf = {"sd2"}},

    {.architecture = "unet",
     .family = Family::unet,
     .title = "UNet",
     .namings = kUNetNames,
     .unrefined = Confidence::medium,
     .generic = true},
};

}  // namespace

std::span<const Rule> unet_rules() { return kUNets; }

}  // namespace genscope::inspect
