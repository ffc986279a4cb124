#include "bench/quality/image.h"

namespace genscope::bench {

bool image_fits(std::uint64_t width, std::uint64_t height, std::uint64_t channels) noexcept {
  if (width == 0 || height == 0 || channels == 0) return false;
  if (width > kMaxImageSamples || height > kMaxImageSamples || channels > 4) return false;
  return width * channels <= kMaxImageSamples / height;
}

bool is_blank(const Image& image) noexcept {
  for (std::size_t at = image.channels; at < image.samples.size(); ++at) {
    if (image.samples[at] != image.samples[at - image.channels]) return false;
  }
  return !image.samples.empty();
}

}  // namespace genscope::bench
