// Whether a file that a run made holds anything: NaN in a model shows as one colour, or as NaN.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/file.h"
#include "bench/quality/frames.h"
#include "genscope/bench.h"

namespace genscope::bench {
namespace {

// NumPy's .npy of little-endian floats ('<f4', '<f8'): an array, or latents, as they were saved.
std::optional<Failure> check_npy(const std::string& path) {
  const Result<base::MappedFile> file = base::MappedFile::open(path);
  if (!file) return Failure{FailureClass::bad_output, file.error().message};
  const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()),
                               file->bytes().size());
  if (bytes.size() < 12) return Failure{FailureClass::bad_output, path + " is cut short"};
  const bool wide = bytes[6] >= 2;  // the header's length has four bytes
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, wide ? 4 : 2);
  const std::size_t at = (wide ? 12U : 10U) + std::size_t{length};
  if (at > bytes.size()) return Failure{FailureClass::bad_output, path + " is cut short"};
  const std::string_view header = bytes.substr(0, at);
  const std::size_t each = header.find("'<f4'") != header.npos   ? 4
                           : header.find("'<f8'") != header.npos ? 8
                                                                 : 0;
  if (each == 0) return std::nullopt;
  for (std::size_t i = at; i + each <= bytes.size(); i += each) {
    float narrow = 0;
    double value = 0;
    std::memcpy(each == 4 ? static_cast<void*>(&narrow) : &value, bytes.data() + i, each);
    if (!std::isfinite(each == 4 ? static_cast<double>(narrow) : value)) {
      return Failure{FailureClass::nan_output,
                     fmt::format("{}: value {} is NaN or infinite", path, (i - at) / each)};
    }
  }
  return std::nullopt;
}

std::optional<Failure> check_frames(const std::string& path) {
  const Result<std::unique_ptr<Frames>> frames = open_frames(path);
  if (!frames) {
    if (frames.error().code == ErrorCode::unsupported) return std::nullopt;
    return Failure{FailureClass::bad_output, frames.error().message};
  }
  bool any = false;
  for (Image frame;;) {
    const Result<bool> more = (*frames)->next(frame);
    if (!more) {
      if (more.error().code == ErrorCode::unsupported) return std::nullopt;
      return Failure{FailureClass::bad_output, more.error().message};
    }
    if (!*more) break;
    if (!is_blank(frame)) return std::nullopt;
    any = true;
  }
  if (!any) return Failure{FailureClass::bad_output, path + " has no frames"};
  return Failure{FailureClass::blank_output, path + " has one colour all over"};
}

}  // namespace

std::optional<Failure> check_output(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid())
    return Failure{FailureClass::bad_output, base::errno_error("open", path, errno).message};
  char head[16] = {};
  const ssize_t got = ::read(fd.get(), head, sizeof head);
  if (got <= 0) return Failure{FailureClass::bad_output, path + " is empty"};
  const std::string_view start(head, static_cast<std::size_t>(got));
  if (start.starts_with("\x93NUMPY")) return check_npy(path);
  const bool picture = start.starts_with("\x89PNG") || start.starts_with("YUV4MPEG2") ||
                       (start[0] == 'P' && start.size() > 2 && start[1] >= '2' && start[1] <= '6' &&
                        start[1] != '4' && static_cast<unsigned char>(start[2]) <= ' ');
  if (picture) return check_frames(path);
  // Of other kinds ffmpeg would take text, too, for something: only what are pictures by name.
  for (const std::string_view ending :
       {".jpg", ".jpeg", ".webp", ".mp4", ".webm", ".mkv", ".mov", ".gif"}) {
    if (path.ends_with(ending)) return check_frames(path);
  }
  return std::nullopt;
}

}  // namespace genscope::bench
