#include "inspect/read/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace genscope::inspect {

Error broken(const ByteSource& source, std::uint64_t offset, std::string_view what,
             std::string_view remedy) {
  std::string message = source.path() + ": byte " + std::to_string(offset) + ": ";
  message.append(what).append("; ").append(remedy);
  return {ErrorCode::bad_data, std::move(message)};
}

std::string shown(std::string_view name) {
  constexpr std::size_t kLongest = 120;
  const std::string_view part = base::cut_utf8(name, kLongest);
  return base::json_quote(part) + (part.size() < name.size() ? "..." : "");
}

Error ByteSource::past_end(std::uint64_t offset, std::uint64_t count) const {
  return broken(*this, offset,
                std::to_string(count) + " bytes are expected here, the file ends at byte " +
                    std::to_string(size_),
                "it is cut short or damaged: fetch it again");
}

Result<std::unique_ptr<FileSource>> FileSource::open(const std::string& path) {
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return base::errno_error("cannot open", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return base::errno_error("cannot stat", path, errno);
  if (S_ISDIR(info.st_mode)) {
    return Error{ErrorCode::invalid_argument, path + " is a folder; name the model file in it"};
  }
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorCode::invalid_argument,
                 path + " is a pipe or device, not a regular file; copy it to disk first"};
  }
  return std::unique_ptr<FileSource>(
      new FileSource(path, std::move(fd), static_cast<std::uint64_t>(info.st_size)));
}

Status FileSource::read(std::uint64_t offset, std::span<char> out) const {
  if (!holds(offset, out.size())) return past_end(offset, out.size());
  std::size_t got = 0;
  while (got < out.size()) {
    const ssize_t n =
        ::pread(fd_.get(), out.data() + got, out.size() - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::errno_error("cannot read", path(), errno);
    if (n == 0) {
      return broken(*this, offset + got, "the file has become shorter while it was read",
                    "wait until it is written, then try again");
    }
    got += static_cast<std::size_t>(n);
  }
  return Done{};
}

Status MemorySource::read(std::uint64_t offset, std::span<char> out) const {
  if (!holds(offset, out.size())) return past_end(offset, out.size());
  if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  return Done{};
}

}  // namespace genscope::inspect
