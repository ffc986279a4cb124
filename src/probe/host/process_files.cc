#include "probe/host/process_files.h"

#include <charconv>

namespace genscope::probe {

ProcessFiles::ProcessFiles(std::string root, base::Files& files)
    : root_(std::move(root)), files_(files) {
  path_.reserve(root_.size() + 96);
  path_ = root_;
}

void ProcessFiles::append(std::uint32_t number) noexcept {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  path_ += '/';
  path_.append(digits, end);
}

const char* ProcessFiles::path(std::uint32_t pid, std::string_view name) noexcept {
  path_.resize(root_.size());
  append(pid);
  path_ += '/';
  path_ += name;
  return path_.c_str();
}

const char* ProcessFiles::task_path(std::uint32_t pid, std::uint32_t tid,
                                    std::string_view name) noexcept {
  path_.resize(root_.size());
  append(pid);
  path_ += "/task";
  append(tid);
  path_ += '/';
  path_ += name;
  return path_.c_str();
}

int ProcessFiles::read_fd(int fd, const char* path, std::span<char> buffer,
                          std::string_view& text) noexcept {
  const long got = files_.read(fd, path, buffer.data(), buffer.size());
  text = std::string_view(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return got < 0 ? static_cast<int>(-got) : 0;
}

int ProcessFiles::read_path(const char* path, std::span<char> buffer,
                            std::string_view& text) noexcept {
  text = {};
  const base::UniqueFd fd(files_.open(path));
  if (!fd.valid()) return -fd.get();
  return read_fd(fd.get(), path, buffer, text);
}

}  // namespace genscope::probe
