#include "png.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tinydiff {
namespace {

// A stored deflate block has a 16-bit length.
constexpr std::size_t kMaxStoredBytes = 65535;

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

void put_chunk(std::string& out, std::string_view type, std::string_view data) {
  put_u32(out, static_cast<std::uint32_t>(data.size()));
  const std::size_t start = out.size();
  out += type;
  out += data;
  put_u32(out, crc32(std::string_view(out).substr(start)));
}

// A zlib stream of stored blocks.
std::string zlib_stored(std::string_view raw) {
  std::string out("\x78\x01", 2);
  std::size_t at = 0;
  do {
    const std::size_t size = std::min(kMaxStoredBytes, raw.size() - at);
    out += static_cast<char>(at + size == raw.size() ? 1 : 0);  // final block?
    for (const std::size_t length : {size, ~size}) {
      out += static_cast<char>(length & 0xff);
      out += static_cast<char>(length >> 8 & 0xff);
    }
    out += raw.substr(at, size);
    at += size;
  } while (at < raw.size());
  put_u32(out, adler32(raw));
  return out;
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) {
  static const auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      std::uint32_t c = n;
      for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? 0xedb88320U ^ (c >> 1) : c >> 1;
      table[n] = c;
    }
    return table;
  }();
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  }
  return ~crc;
}

std::uint32_t adler32(std::string_view bytes) {
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char c : bytes) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

std::string encode_png(const RgbImage& image) {
  const auto row_bytes = static_cast<std::size_t>(image.width * 3);
  std::string raw;
  raw.reserve((row_bytes + 1) * static_cast<std::size_t>(image.height));
  for (Index y = 0; y < image.height; ++y) {
    raw += '\0';  // filter type: none
    const auto* row = image.pixels.data() + static_cast<std::size_t>(y) * row_bytes;
    raw.append(reinterpret_cast<const char*>(row), row_bytes);
  }
  std::string header;
  put_u32(header, static_cast<std::uint32_t>(image.width));
  put_u32(header, static_cast<std::uint32_t>(image.height));
  // 8 bits, RGB, deflate, filter set 0, no interlace.
  header += std::string_view("\x08\x02\x00\x00\x00", 5);

  std::string out("\x89PNG\r\n\x1a\n", 8);
  put_chunk(out, "IHDR", header);
  put_chunk(out, "IDAT", zlib_stored(raw));
  put_chunk(out, "IEND", {});
  return out;
}

std::string write_file(const std::string& path, std::string_view bytes) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return path + ": " + std::strerror(errno);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const int write_error = errno;
  const bool closed = std::fclose(file) == 0;
  if (!written) return path + ": " + std::strerror(write_error);
  if (!closed) return path + ": " + std::strerror(errno);
  return {};
}

}  // namespace tinydiff
