// YUV4MPEG2: a line of parameters, then for each frame a line "FRAME" and its planes.
#include <fmt/format.h>

#include "base/file_reader.h"
#include "bench/quality/frames.h"

namespace genscope::bench {
namespace {

class Y4mFrames final : public Frames {
 public:
  Y4mFrames(ReadBytes read, std::string file) : read_(std::move(read)), file_(std::move(file)) {}

  Result<bool> next(Image& frame) override {
    if (width_ == 0) {
      if (const Status done = header(); !done) return done.error();
    }
    const Result<std::string> line = read_line();
    if (!line) return line.error();
    if (line->empty()) return false;
    if (!line->starts_with("FRAME")) return wrong("a frame does not begin with FRAME");
    planes_.resize(plane_bytes());
    for (std::size_t at = 0; at < planes_.size();) {
      const Result<std::size_t> got = read_(planes_.data() + at, planes_.size() - at);
      if (!got) return got.error();
      if (*got == 0) return wrong("its last frame is cut short");
      at += *got;
    }
    join(frame);
    return true;
  }

 private:
  static constexpr std::size_t kMaxLine = 4096;

  Error wrong(std::string_view what) const {
    return {ErrorCode::bad_data, fmt::format("{}: {}; the Y4M file is broken", file_, what)};
  }

  // Without its end; empty at the end of the file.
  Result<std::string> read_line() {
    std::string line;
    for (char c = 0; line.size() < kMaxLine;) {
      const Result<std::size_t> got = read_(&c, 1);
      if (!got) return got.error();
      if (*got == 0 || c == '\n') return line;
      line.push_back(c);
    }
    return wrong("a line is too long");
  }

  Status header() {
    const Result<std::string> line = read_line();
    if (!line) return line.error();
    std::string_view rest = *line;
    if (base::next_word(rest) != "YUV4MPEG2") return wrong("it does not begin with YUV4MPEG2");
    std::uint64_t width = 0, height = 0;
    std::string_view colour = "420";
    while (!rest.empty()) {
      const std::string_view word = base::next_word(rest);
      if (word.starts_with('W') && !base::parse_number(word.substr(1), width)) width = 0;
      if (word.starts_with('H') && !base::parse_number(word.substr(1), height)) height = 0;
      if (word.starts_with('C')) colour = word.substr(1);
    }
    if (!image_fits(width, height, 3)) return wrong("its size is missing, 0 or too large");
    if (const Status known = chroma(colour); !known) return known;
    width_ = width;
    height_ = height;
    return Done{};
  }

  Status chroma(std::string_view colour) {
    if (colour == "mono") {
      mono_ = true;
    } else if (colour == "444") {
      across_ = down_ = 1;
    } else if (colour == "422") {
      down_ = 1;
    } else if (colour != "420" && colour != "420jpeg" && colour != "420mpeg2" &&
               colour != "420paldv") {
      return Error{ErrorCode::unsupported,
                   fmt::format("{}: colour space {} is not read; write 8-bit 420, 422 or 444",
                               file_, colour)};
    }
    return Done{};
  }

  std::size_t chroma_width() const { return (width_ + across_ - 1) / across_; }
  std::size_t chroma_height() const { return (height_ + down_ - 1) / down_; }
  std::size_t plane_bytes() const {
    return width_ * height_ + (mono_ ? 0 : 2 * chroma_width() * chroma_height());
  }

  void join(Image& frame) const {
    frame = {width_, height_, mono_ ? 1U : 3U, {}};
    frame.samples.resize(width_ * height_ * frame.channels);
    const std::size_t luma = width_ * height_, chroma = chroma_width() * chroma_height();
    std::uint8_t* out = frame.samples.data();
    for (std::size_t y = 0; y < height_; ++y) {
      for (std::size_t x = 0; x < width_; ++x) {
        *out++ = at(y * width_ + x);
        if (mono_) continue;
        const std::size_t where = luma + y / down_ * chroma_width() + x / across_;
        *out++ = at(where);
        *out++ = at(where + chroma);
      }
    }
  }
  std::uint8_t at(std::size_t where) const { return static_cast<std::uint8_t>(planes_[where]); }

  ReadBytes read_;
  std::string file_;
  std::size_t width_ = 0, height_ = 0;  // 0: the header has not been read
  std::size_t across_ = 2, down_ = 2;   // pixels that share a chroma sample
  bool mono_ = false;
  std::vector<char> planes_;
};

}  // namespace

std::unique_ptr<Frames> y4m_frames(ReadBytes read, std::string file) {
  return std::make_unique<Y4mFrames>(std::move(read), std::move(file));
}

}  // namespace genscope::bench
