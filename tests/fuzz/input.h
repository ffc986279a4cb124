// Pieces for fuzz targets: numbers from bytes, a scratch folder in memory.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

namespace genscope::fuzz {

// Takes numbers from the front; past the end they are 0.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  template <class T>
  T take() {
    T value{};
    const std::size_t n = std::min(sizeof value, rest_.size());
    if (n > 0) std::memcpy(&value, rest_.data(), n);
    rest_ = rest_.subspan(n);
    return value;
  }
  std::span<const std::byte> bytes(std::size_t n) {
    n = std::min(n, rest_.size());
    const auto out = std::as_bytes(rest_.first(n));
    rest_ = rest_.subspan(n);
    return out;
  }
  std::size_t left() const { return rest_.size(); }

 private:
  std::span<const std::uint8_t> rest_;
};

// A folder of this process in /dev/shm (else /tmp), removed at exit.
inline const std::string& scratch() {
  struct Folder {
    Folder() {
      path = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
      path += "/genscope-fuzz-XXXXXX";
      if (::mkdtemp(path.data()) == nullptr) std::abort();
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    std::string path;
  };
  static const Folder folder;
  return folder.path;
}

inline void write(const std::string& path, std::span<const std::byte> bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  ::close(fd);
}

}  // namespace genscope::fuzz
