// The frames of a picture or of a video, one after the other.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bench/quality/image.h"

namespace genscope::bench {

class Frames {
 public:
  virtual ~Frames() = default;
  // The next one; false at the end.
  virtual Result<bool> next(Image& frame) = 0;
};

// By its first bytes: PNG, PGM, PPM, Y4M; anything else through `ffmpeg`, if that is on PATH.
Result<std::unique_ptr<Frames>> open_frames(const std::string& path);

// Up to `size` bytes; 0 at the end.
using ReadBytes = std::function<Result<std::size_t>(char* data, std::size_t size)>;
// YUV4MPEG2, 8 bits a sample: 420 (any siting), 422, 444, mono. Chroma is repeated to full size, so
// that a frame has one channel or three.
std::unique_ptr<Frames> y4m_frames(ReadBytes read, std::string file);

}  // namespace genscope::bench
