// Pictures and videos that a program under test made: PNG, PGM, PPM, Y4M.
#include <cstring>

#include "bench/quality/frames.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace genscope::bench;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto read : {read_png, read_pnm}) {
    const auto image = read(bytes, "f");
    if (image.ok() && image->samples.size() != image->width * image->height * image->channels) {
      __builtin_trap();
    }
  }
  std::size_t at = 0;
  const auto frames = y4m_frames(
      [&](char* out, std::size_t wanted) -> genscope::Result<std::size_t> {
        const std::size_t got = std::min(wanted, size - at);
        if (got > 0) std::memcpy(out, data + at, got);
        at += got;
        return got;
      },
      "f");
  for (Image frame;;) {
    const auto more = frames->next(frame);
    if (!more.ok() || !*more) break;
    if (frame.samples.size() != frame.width * frame.height * frame.channels) __builtin_trap();
  }
  return 0;
}
