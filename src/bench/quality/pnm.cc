#include <algorithm>

#include <fmt/format.h>

#include "bench/quality/image.h"

namespace genscope::bench {
namespace {

class PnmReader {
 public:
  PnmReader(std::string_view bytes, const std::string& file) : rest_(bytes), file_(file) {}

  Result<Image> read() {
    if (rest_.size() < 2 || rest_[0] != 'P')
      return wrong("it does not begin with P2, P3, P5 or P6");
    const char kind = rest_[1];
    if (kind != '2' && kind != '3' && kind != '5' && kind != '6') {
      return wrong("it does not begin with P2, P3, P5 or P6");
    }
    rest_.remove_prefix(2);
    std::uint32_t width = 0, height = 0, most = 0;
    if (!number(width) || !number(height) || !number(most)) return wrong("its header is broken");
    if (most == 0 || most > 65535) return wrong("its largest value is not between 1 and 65535");
    const std::size_t channels = kind == '3' || kind == '6' ? 3 : 1;
    if (!image_fits(width, height, channels)) return wrong("its size is 0 or too large");
    Image image{width, height, channels, {}};
    const std::size_t count = image.width * image.height * channels;
    return kind <= '3' ? plain(std::move(image), count, most) : raw(std::move(image), count, most);
  }

 private:
  Error wrong(std::string_view what) const {
    return {ErrorCode::bad_data, fmt::format("{}: {}; is it a PGM or PPM file?", file_, what)};
  }
  static std::uint8_t scaled(std::uint32_t value, std::uint32_t most) {
    return static_cast<std::uint8_t>((std::min(value, most) * 255U + most / 2) / most);
  }
  static bool blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  // Skips blanks and comments, then takes a number of at most 8 digits.
  bool number(std::uint32_t& value) {
    while (!rest_.empty() && (blank(rest_[0]) || rest_[0] == '#')) {
      rest_.remove_prefix(rest_[0] == '#' ? std::min(rest_.find('\n'), rest_.size()) : 1);
    }
    value = 0;
    std::size_t digits = 0;
    for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; rest_.remove_prefix(1)) {
      if (++digits > 8) return false;
      value = value * 10 + static_cast<std::uint32_t>(rest_[0] - '0');
    }
    return digits > 0;
  }

  Result<Image> plain(Image image, std::size_t count, std::uint32_t most) {
    if (rest_.size() / 2 + 1 < count) return wrong("it is cut short");  // a digit and a blank each
    image.samples.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t value = 0;
      if (!number(value)) return wrong("it is cut short");
      image.samples.push_back(scaled(value, most));
    }
    return image;
  }

  Result<Image> raw(Image image, std::size_t count, std::uint32_t most) {
    if (rest_.empty() || !blank(rest_[0])) return wrong("its header is broken");
    rest_.remove_prefix(1);
    const std::size_t each = most > 255 ? 2 : 1;
    if (rest_.size() < count * each) return wrong("it is cut short");
    image.samples.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t value = static_cast<std::uint8_t>(rest_[i * each]);
      if (each == 2) value = value << 8 | static_cast<std::uint8_t>(rest_[i * 2 + 1]);
      image.samples.push_back(scaled(value, most));
    }
    return image;
  }

  std::string_view rest_;
  const std::string& file_;
};

}  // namespace

Result<Image> read_pnm(std::string_view bytes, const std::string& file) {
  return PnmReader(bytes, file).read();
}

}  // namespace genscope::bench
