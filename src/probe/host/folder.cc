#include "probe/host/folder.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace genscope::probe {
namespace {

// As the kernel writes it; the name is zero-terminated and runs up to `length`.
struct EntryHead {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
};
constexpr std::size_t kNameAt = offsetof(EntryHead, type) + 1;

}  // namespace

int visit_folder(base::Files& files, const char* path, FolderVisitor& visitor) noexcept {
  const base::UniqueFd fd(files.open(path));
  if (!fd.valid()) return -fd.get();
  alignas(8) char buffer[4096];
  for (;;) {
    const long got = ::syscall(SYS_getdents64, fd.get(), buffer, sizeof buffer);
    if (got < 0) return errno;
    if (got == 0) return 0;
    const auto size = static_cast<std::size_t>(got);
    for (std::size_t at = 0; at + kNameAt < size;) {
      EntryHead head;
      std::memcpy(&head, buffer + at, kNameAt);
      if (head.length <= kNameAt || at + head.length > size) return EIO;
      const char* const name = buffer + at + kNameAt;
      const std::string_view text(name, ::strnlen(name, head.length - kNameAt));
      if (!text.starts_with('.') && !visitor.visit(text)) return 0;
      at += head.length;
    }
  }
}

}  // namespace genscope::probe
