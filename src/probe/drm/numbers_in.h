// The numbered entries of a folder of /proc, without allocation (opendir() would).
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/file.h"
#include "base/file_reader.h"

namespace genscope::probe::drm {

// Calls `visit(number)` for each entry whose name is a number, in the folder's order, until it
// returns false. 0 or an errno.
template <class Visit>
int numbers_in(const char* folder, Visit&& visit) noexcept {
  const int fd = ::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  const base::UniqueFd close_later(fd);
  // linux_dirent64: u64 inode, s64 offset, u16 length of the record, u8 type, name.
  constexpr std::size_t kLength = 16, kName = 19;
  alignas(8) char buffer[4096];
  for (;;) {
    const long got = ::syscall(SYS_getdents64, fd, buffer, sizeof buffer);
    if (got < 0) return errno;
    if (got == 0) return 0;
    for (std::size_t at = 0; at + kName < static_cast<std::size_t>(got);) {
      std::uint16_t length = 0;
      std::memcpy(&length, buffer + at + kLength, sizeof length);
      std::uint64_t number = 0;
      const bool is_number = base::parse_number(std::string_view(buffer + at + kName), number);
      if (is_number && number <= UINT32_MAX && !visit(static_cast<std::uint32_t>(number))) return 0;
      at += length;
    }
  }
}

}  // namespace genscope::probe::drm
