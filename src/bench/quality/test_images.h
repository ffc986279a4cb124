// Files that the tests of quality read: PNG as an encoder would write it, PPM, Y4M.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/quality/image.h"

namespace genscope::bench::test {

inline std::string word(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xFF);
  return text;
}

inline std::string chunk(std::string_view kind, std::string_view body) {
  const std::string whole = std::string(kind) + std::string(body);
  const uLong sum =
      crc32(0, reinterpret_cast<const Bytef*>(whole.data()), static_cast<uInt>(whole.size()));
  return word(static_cast<std::uint32_t>(body.size())) + whole +
         word(static_cast<std::uint32_t>(sum));
}

// `rows` are the bytes behind the filters, each row with its filter's number before it.
inline std::string png(std::uint32_t width, std::uint32_t height, int depth, int colour,
                       std::string_view rows, std::string_view more = "", int interlace = 0) {
  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(rows.data()), static_cast<uLong>(rows.size()));
  packed.resize(size);
  const std::string header = word(width) + word(height) + static_cast<char>(depth) +
                             static_cast<char>(colour) + std::string(2, '\0') +
                             static_cast<char>(interlace);
  // Two IDAT chunks, as encoders write them.
  return std::string("\x89PNG\r\n\x1a\n", 8) + chunk("IHDR", header) + std::string(more) +
         chunk("IDAT", packed.substr(0, packed.size() / 2)) +
         chunk("IDAT", packed.substr(packed.size() / 2)) + chunk("IEND", "");
}

// An RGB image with a pattern; `noise` changes it by up to that much.
inline Image pattern(std::size_t width, std::size_t height, unsigned noise = 0) {
  Image image{width, height, 3, {}};
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < width * height * 3; ++i) {
    random = random * 1664525 + 1013904223;
    const std::size_t x = i / 3 % width, y = i / 3 / width;
    const std::size_t plain = (x * 7 + y * 5 + i % 3 * 40) % 200 + 20;
    const unsigned change = noise > 0 ? (random >> 16) % (noise + 1) : 0;
    image.samples.push_back(static_cast<std::uint8_t>(plain + change));
  }
  return image;
}

inline std::string ppm(const Image& image) {
  return "P6\n# made by a test\n" + std::to_string(image.width) + " " +
         std::to_string(image.height) + "\n255\n" +
         std::string(image.samples.begin(), image.samples.end());
}

inline std::string png(const Image& image) {
  std::string rows;
  for (std::size_t y = 0; y < image.height; ++y) {
    rows += '\0';
    rows.append(reinterpret_cast<const char*>(&image.samples[y * image.width * 3]),
                image.width * 3);
  }
  return png(static_cast<std::uint32_t>(image.width), static_cast<std::uint32_t>(image.height), 8,
             2, rows);
}

// A folder that goes with the test.
struct Folder {
  Folder() {
    std::string made =
        (std::filesystem::temp_directory_path() / "genscope-quality-XXXXXX").string();
    if (mkdtemp(made.data()) == nullptr) std::abort();
    path = made;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, std::string_view bytes) const {
    const std::string whole = path + "/" + name;
    std::ofstream(whole, std::ios::binary) << bytes;
    return whole;
  }
  std::string path;
};

}  // namespace genscope::bench::test
