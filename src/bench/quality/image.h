// Images as the quality checks see them: 8-bit samples, interleaved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "genscope/error.h"

namespace genscope::bench {

struct Image {
  std::size_t width = 0, height = 0, channels = 0;
  std::vector<std::uint8_t> samples;  // width * height * channels
};

// What an image may have, so that a broken header cannot take all memory: 256 million samples.
inline constexpr std::size_t kMaxImageSamples = std::size_t{1} << 28;
// False, too, for sizes that are 0.
bool image_fits(std::uint64_t width, std::uint64_t height, std::uint64_t channels) noexcept;

// PNG: every colour type, depth and interlacing. Depths of 16 bits lose their lower half, palettes
// become RGB (RGBA with transparency). `file` is for messages.
Result<Image> read_png(std::string_view bytes, const std::string& file);
// PGM and PPM, plain and raw (P2, P3, P5, P6), up to 65535 a sample: scaled to 255.
Result<Image> read_pnm(std::string_view bytes, const std::string& file);

// One colour all over: what a model makes that computed NaN, or nothing.
bool is_blank(const Image& image) noexcept;

}  // namespace genscope::bench
