// A minimal PNG writer: 8-bit RGB, no filter, deflate blocks stored without compression. It keeps
// the example free of an image library; any viewer reads the result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vae.h"

namespace tinydiff {

// The bytes of a PNG file.
std::string encode_png(const RgbImage& image);

// Writes `bytes` to `path`, replacing a file of that name. Returns an empty string, or why not.
std::string write_file(const std::string& path, std::string_view bytes);

// The checksums of PNG chunks and of zlib streams.
std::uint32_t crc32(std::string_view bytes);
std::uint32_t adler32(std::string_view bytes);

}  // namespace tinydiff
