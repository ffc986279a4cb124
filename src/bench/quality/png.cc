// PNG, the whole of its critical part: chunks, zlib stream, filters, Adam7, palettes.
//
// The header fixes how many bytes the stream must hold, so memory is bounded before anything is
// inflated, and a stream that is longer or shorter is an error. Checksums of critical chunks are
// checked; ancillary chunks are passed over but for tRNS. O(pixels).
#include <zlib.h>

#include <array>
#include <cstdlib>
#include <span>

#include <fmt/format.h>

#include "bench/quality/image.h"

namespace genscope::bench {
namespace {

struct PngHeader {
  std::uint32_t width = 0, height = 0;
  unsigned depth = 0, colour = 0, interlace = 0;
  // Samples of a pixel as they are stored: 1 for grey and palettes.
  unsigned channels() const { return colour == 2 ? 3 : colour == 4 ? 2 : colour == 6 ? 4 : 1; }
  std::uint64_t row_bytes(std::uint64_t pixels) const {
    return (pixels * channels() * depth + 7) / 8;
  }
};

struct PngPass {
  unsigned x = 0, y = 0, dx = 1, dy = 1;
  std::uint64_t columns(const PngHeader& h) const {
    return h.width > x ? (h.width - x + dx - 1) / dx : 0;
  }
  std::uint64_t rows(const PngHeader& h) const {
    return h.height > y ? (h.height - y + dy - 1) / dy : 0;
  }
};
constexpr std::array<PngPass, 7> kAdam7{{{0, 0, 8, 8},
                                         {4, 0, 8, 8},
                                         {0, 4, 4, 8},
                                         {2, 0, 4, 4},
                                         {0, 2, 2, 4},
                                         {1, 0, 2, 2},
                                         {0, 1, 1, 2}}};

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return value;
}

std::uint8_t paeth(int a, int b, int c) {
  const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
  return static_cast<std::uint8_t>(pa <= pb && pa <= pc ? a : pb <= pc ? b : c);
}

// Undoes the filter of a row, in place; `up` is the row above, as long. False for a filter that
// does not exist.
bool unfilter(unsigned filter, std::span<std::uint8_t> row, std::span<const std::uint8_t> up,
              std::size_t step) {
  if (filter > 4) return false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const int a = i >= step ? row[i - step] : 0, b = up[i], c = i >= step ? up[i - step] : 0;
    const int add = filter == 1   ? a
                    : filter == 2 ? b
                    : filter == 3 ? (a + b) / 2
                    : filter == 4 ? paeth(a, b, c)
                                  : 0;
    row[i] = static_cast<std::uint8_t>(row[i] + add);
  }
  return true;
}

class PngReader {
 public:
  PngReader(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  Result<Image> read() {
    constexpr std::string_view kMagic("\x89PNG\r\n\x1a\n", 8);
    if (!bytes_.starts_with(kMagic)) return wrong("it does not begin as a PNG file does");
    if (const char* what = chunks(); what != nullptr) return wrong(what);
    if (const char* what = inflate_all(); what != nullptr) return wrong(what);
    return decode();
  }

 private:
  Error wrong(std::string_view what) const {
    return {ErrorCode::bad_data, fmt::format("{}: {}; the PNG file is broken", file_, what)};
  }

  // Walks the chunks; what is wrong, or null.
  const char* chunks() {
    bool ended = false;
    for (std::size_t at = 8; !ended;) {
      if (bytes_.size() - at < 12) return "it is cut short";
      const std::size_t size = big_endian(bytes_, at);
      if (size > bytes_.size() - at - 12) return "it is cut short";
      const std::string_view kind = bytes_.substr(at + 4, 4), body = bytes_.substr(at + 8, size);
      const bool critical = (kind[0] & 0x20) == 0;
      if (critical) {
        const uLong sum =
            crc32(0, reinterpret_cast<const Bytef*>(kind.data()), static_cast<uInt>(size + 4));
        if (sum != big_endian(bytes_, at + 8 + size)) return "a checksum is wrong";
      }
      if (at == 8 && kind != "IHDR") return "its header is missing";
      if (const char* what = take(kind, body, critical); what != nullptr) return what;
      ended = kind == "IEND";
      at += 12 + size;
    }
    if (header_.colour == 3 && palette_.empty()) return "its palette is missing";
    return data_.empty() ? "it has no pixels" : nullptr;
  }

  const char* take(std::string_view kind, std::string_view body, bool critical) {
    if (kind == "IHDR") return header(body);
    if (kind == "PLTE") {
      if (body.size() % 3 != 0 || body.size() > 768) return "its palette has a wrong size";
      palette_ = body;
    } else if (kind == "tRNS") {
      transparency_ = body;
    } else if (kind == "IDAT") {
      data_.push_back(body);
    } else if (critical && kind != "IEND") {
      return "it has a critical part that no standard knows";
    }
    return nullptr;
  }

  const char* header(std::string_view body) {
    if (body.size() != 13 || header_.width != 0) return "its header has a wrong size";
    header_ = {big_endian(body, 0), big_endian(body, 4), static_cast<std::uint8_t>(body[8]),
               static_cast<std::uint8_t>(body[9]), static_cast<std::uint8_t>(body[12])};
    const unsigned depth = header_.depth, colour = header_.colour;
    const bool small = depth == 1 || depth == 2 || depth == 4;
    const bool known =
        colour == 0   ? small || depth == 8 || depth == 16
        : colour == 3 ? small || depth == 8
                      : (colour == 2 || colour == 4 || colour == 6) && (depth == 8 || depth == 16);
    if (!known || body[10] != 0 || body[11] != 0 || header_.interlace > 1) {
      return "its colour type, depth or method does not exist";
    }
    return image_fits(header_.width, header_.height, 4) ? nullptr : "its size is 0 or too large";
  }

  std::span<const PngPass> passes() const {
    static constexpr std::array<PngPass, 1> kWhole{};
    if (header_.interlace == 1) return kAdam7;
    return kWhole;
  }

  const char* inflate_all() {
    std::uint64_t total = 0;
    for (const PngPass& pass : passes()) {
      const std::uint64_t columns = pass.columns(header_), rows = pass.rows(header_);
      if (columns > 0) total += rows * (1 + header_.row_bytes(columns));
    }
    // A stream cannot hold more than 1032 times its size: no memory for a header that promises it.
    std::uint64_t packed = 0;
    for (const std::string_view part : data_) packed += part.size();
    if (total > packed * 1032 + 1032) return "its pixels are cut short";
    raw_.resize(total);
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) return "zlib could not be started";
    stream.next_out = raw_.data();
    std::size_t left = raw_.size();
    int state = Z_OK;
    for (const std::string_view part : data_) {
      stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(part.data()));
      stream.avail_in = static_cast<uInt>(part.size());
      while (state == Z_OK && stream.avail_in > 0 && left > 0) {
        const auto room = static_cast<uInt>(std::min<std::size_t>(left, 1U << 30));
        stream.avail_out = room;
        state = ::inflate(&stream, Z_NO_FLUSH);
        left -= room - stream.avail_out;
      }
    }
    inflateEnd(&stream);
    if (state != Z_OK && state != Z_STREAM_END) return "its pixels cannot be inflated";
    return left == 0 ? nullptr : "its pixels are cut short";
  }

  unsigned out_channels() const {
    if (header_.colour == 3) return transparency_.empty() ? 3 : 4;
    return header_.channels();
  }

  Result<Image> decode() {
    Image image{header_.width, header_.height, out_channels(), {}};
    image.samples.resize(image.width * image.height * image.channels);
    const std::size_t step = std::max<std::size_t>(1, header_.channels() * header_.depth / 8);
    std::span<std::uint8_t> rest(raw_);
    for (const PngPass& pass : passes()) {
      const std::uint64_t columns = pass.columns(header_), rows = pass.rows(header_);
      if (columns == 0) continue;
      const std::size_t size = header_.row_bytes(columns);
      const std::vector<std::uint8_t> zeros(size, 0);
      std::span<const std::uint8_t> up(zeros);
      for (std::uint64_t row = 0; row < rows; ++row) {
        const std::span<std::uint8_t> line = rest.subspan(1, size);
        if (!unfilter(rest[0], line, up, step))
          return wrong("a row has a filter that does not exist");
        put(image, line, pass, pass.y + row * pass.dy, columns);
        up = line;
        rest = rest.subspan(1 + size);
      }
    }
    return image;
  }

  void put(Image& image, std::span<const std::uint8_t> line, const PngPass& pass, std::uint64_t y,
           std::uint64_t columns) const {
    for (std::uint64_t column = 0; column < columns; ++column) {
      const std::uint64_t x = pass.x + column * pass.dx;
      std::uint8_t* const out = &image.samples[(y * image.width + x) * image.channels];
      if (header_.colour == 3) {
        look_up(sample(line, column), out, image.channels);
      } else {
        for (unsigned c = 0; c < image.channels; ++c) {
          out[c] = scaled(sample(line, column * image.channels + c));
        }
      }
    }
  }

  // The n-th sample of a row; of 16 bits the upper half.
  unsigned sample(std::span<const std::uint8_t> line, std::uint64_t n) const {
    if (header_.depth == 16) return line[n * 2];
    if (header_.depth == 8) return line[n];
    const std::uint64_t bit = n * header_.depth;
    const unsigned shift = 8 - header_.depth - static_cast<unsigned>(bit % 8);
    return static_cast<unsigned>(line[bit / 8]) >> shift & ((1U << header_.depth) - 1);
  }
  std::uint8_t scaled(unsigned value) const {
    return static_cast<std::uint8_t>(
        header_.depth >= 8 ? value : value * 255 / ((1U << header_.depth) - 1));
  }
  // An entry that the palette does not have is black, as decoders make it.
  void look_up(unsigned index, std::uint8_t* out, std::size_t channels) const {
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t at = index * 3U + c;
      out[c] = at < palette_.size() ? static_cast<std::uint8_t>(palette_[at]) : 0;
    }
    if (channels == 4) {
      out[3] = index < transparency_.size() ? static_cast<std::uint8_t>(transparency_[index]) : 255;
    }
  }

  std::string_view bytes_;
  const std::string& file_;
  PngHeader header_;
  std::string_view palette_, transparency_;
  std::vector<std::string_view> data_;
  std::vector<std::uint8_t> raw_;
};

}  // namespace

Result<Image> read_png(std::string_view bytes, const std::string& file) {
  return PngReader(bytes, file).read();
}

}  // namespace genscope::bench
