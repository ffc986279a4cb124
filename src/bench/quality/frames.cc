#include "bench/quality/frames.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "base/file.h"
#include "bench/quality/piped.h"
#include "bench/run/process.h"

namespace genscope::bench {
namespace {

constexpr double kFfmpegSeconds = 600;
constexpr std::size_t kMaxPictureBytes = std::size_t{1} << 30;

class OnePicture final : public Frames {
 public:
  explicit OnePicture(Image image) : image_(std::move(image)) {}
  Result<bool> next(Image& frame) override {
    if (image_.samples.empty()) return false;
    frame = std::exchange(image_, {});
    return true;
  }

 private:
  Image image_;
};

// What ffmpeg decodes comes as Y4M; its own verdict on the file is asked at the end.
class FfmpegFrames final : public Frames {
 public:
  FfmpegFrames(std::unique_ptr<Piped> program, const std::string& path)
      : program_(std::move(program)),
        frames_(y4m_frames(
            [this](char* data, std::size_t size) { return program_->read(data, size); }, path)) {}
  Result<bool> next(Image& frame) override {
    Result<bool> more = frames_->next(frame);
    if (more && *more) {
      any_ = true;
      return more;
    }
    // Without a first frame ffmpeg's own words say more than ours.
    if (const Status done = program_->finish(); !done && (more || !any_)) return done.error();
    return more;
  }

 private:
  std::unique_ptr<Piped> program_;
  std::unique_ptr<Frames> frames_;
  bool any_ = false;
};

Result<std::unique_ptr<Frames>> through_ffmpeg(const std::string& path) {
  if (find_in_path("ffmpeg").find('/') == std::string::npos) {
    return Error{ErrorCode::unsupported,
                 fmt::format("{} is not PNG, PGM, PPM or Y4M, and ffmpeg is not on PATH; install "
                             "ffmpeg, or write one of these",
                             path)};
  }
  // "file:" so that no name is taken for a protocol or an option.
  Result<std::unique_ptr<Piped>> program =
      Piped::start({"ffmpeg", "-nostdin", "-v", "error", "-i", "file:" + path, "-f", "yuv4mpegpipe",
                    "-pix_fmt", "yuv444p", "-"},
                   kFfmpegSeconds);
  if (!program) return program.error();
  return std::unique_ptr<Frames>(std::make_unique<FfmpegFrames>(std::move(*program), path));
}

Result<std::unique_ptr<Frames>> read_picture(const std::string& path, bool png) {
  const Result<std::string> bytes = base::read_file(path, kMaxPictureBytes);
  if (!bytes) return bytes.error();
  Result<Image> image = png ? read_png(*bytes, path) : read_pnm(*bytes, path);
  if (!image) return image.error();
  return std::unique_ptr<Frames>(std::make_unique<OnePicture>(std::move(*image)));
}

Result<std::unique_ptr<Frames>> open_y4m(const std::string& path) {
  const std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "rbe"), [](std::FILE* open) {
    if (open != nullptr) std::fclose(open);
  });
  if (file == nullptr) return base::errno_error("open", path, errno);
  return y4m_frames(
      [file](char* data, std::size_t size) -> Result<std::size_t> {
        return std::fread(data, 1, size, file.get());
      },
      path);
}

}  // namespace

Result<std::unique_ptr<Frames>> open_frames(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return base::errno_error("open", path, errno);
  char head[10] = {};
  const ssize_t got = ::read(fd.get(), head, sizeof head);
  if (got < 0) return base::errno_error("read", path, errno);
  if (got == 0) return Error{ErrorCode::bad_data, fmt::format("{} is empty", path)};
  const std::string_view start(head, static_cast<std::size_t>(got));
  if (start.starts_with("\x89PNG")) return read_picture(path, true);
  if (start.size() > 2 && start[0] == 'P' &&
      std::string_view("2356").find(start[1]) != start.npos &&
      static_cast<unsigned char>(start[2]) <= ' ') {
    return read_picture(path, false);
  }
  return start.starts_with("YUV4MPEG2") ? open_y4m(path) : through_ffmpeg(path);
}

}  // namespace genscope::bench
