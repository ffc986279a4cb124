// The files of /proc/PID, by path, without allocation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/file_reader.h"

namespace genscope::probe {

class ProcessFiles {
 public:
  ProcessFiles(std::string root, base::Files& files);

  // root/PID/name and root/PID/task/TID/name; good until the next call.
  const char* path(std::uint32_t pid, std::string_view name) noexcept;
  const char* task_path(std::uint32_t pid, std::uint32_t tid, std::string_view name) noexcept;

  // Opens, reads, closes. 0 or an errno; `text` lies in `buffer`.
  int read(std::uint32_t pid, std::string_view name, std::span<char> buffer,
           std::string_view& text) noexcept {
    return read_path(path(pid, name), buffer, text);
  }
  int read_path(const char* path, std::span<char> buffer, std::string_view& text) noexcept;
  // The same on a descriptor that stays open.
  int read_fd(int fd, const char* path, std::span<char> buffer, std::string_view& text) noexcept;

  base::Files& files() noexcept { return files_; }
  const std::string& root() const noexcept { return root_; }

 private:
  void append(std::uint32_t number) noexcept;

  std::string root_;
  std::string path_;  // with room for the longest
  base::Files& files_;
};

}  // namespace genscope::probe
