// Manners of a guest: what the recorder needs to live in a process that is not ours.
//
// The program may close every descriptor that it finds (daemons do) and then get the same numbers
// for files of its own. So a descriptor that we keep is used, and closed, only while it still is
// the file that it was: device and inode are compared right before.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

namespace genscope::base {

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool known = false;
  bool operator==(const FileId&) const = default;
};
FileId file_id(int fd) noexcept;

// A descriptor and which file it was when we got it.
class GuestFd {
 public:
  GuestFd() = default;
  explicit GuestFd(int fd) noexcept : fd_(fd), id_(file_id(fd)) {}
  GuestFd(GuestFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)), id_(other.id_) {}
  GuestFd& operator=(GuestFd&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
      id_ = other.id_;
    }
    return *this;
  }
  ~GuestFd() { close(); }

  // The descriptor while it still is our file, else -1: then it is forgotten, and not closed.
  int get() noexcept;
  bool valid() const noexcept { return fd_ >= 0; }
  const FileId& id() const noexcept { return id_; }
  void close() noexcept;
  void forget() noexcept { fd_ = -1; }

 private:
  int fd_ = -1;
  FileId id_;
};

// A file that is opened again by its path when its descriptor was taken from us; but only the same
// file, not another one of that name.
class GuestFile {
 public:
  GuestFile() = default;
  // Takes `fd`, which is `path` opened with `flags`.
  GuestFile(std::string path, int flags, int fd) noexcept
      : path_(std::move(path)), flags_(flags), fd_(fd), id_(fd_.id()) {}

  // A descriptor of our file, or -errno. ESTALE: there is another file of that name now.
  int use() noexcept;
  const std::string& path() const noexcept { return path_; }
  void close() noexcept { fd_.close(); }
  // The descriptor is of another table: its number means nothing here.
  void forget() noexcept { fd_.forget(); }
  // Gives the descriptor away; use() opens the file again.
  GuestFd take() noexcept { return std::move(fd_); }

 private:
  std::string path_;
  int flags_ = 0;
  GuestFd fd_;
  FileId id_;
};

// Gives the calling thread a descriptor table of its own, with /dev/null as 0, 1 and 2 and nothing
// else: what it opens then is no part of the program's table, so that the program neither sees nor
// closes it. False where the kernel cannot (before 5.9) or may not: then the table stays shared.
// For a thread that calls no code but ours.
bool leave_descriptor_table() noexcept;

// While it lives, this thread is spared the signals that a failing write raises (SIGXFSZ at the
// file size limit, SIGPIPE): the call fails with its errno, and the program notices nothing.
class NoWriteSignals {
 public:
  NoWriteSignals() noexcept;
  ~NoWriteSignals();
  NoWriteSignals(const NoWriteSignals&) = delete;
  NoWriteSignals& operator=(const NoWriteSignals&) = delete;

 private:
  sigset_t before_, pending_;
};

// What may still be taken on the file system of `fd`; on one that lives in memory (tmpfs), no more
// than the memory that is free. No limit where it cannot be asked.
std::uint64_t free_bytes(int fd) noexcept;

// An errno in words. Unlike strerror it allocates nothing and reads no catalogue.
const char* error_text(int error_number) noexcept;

}  // namespace genscope::base
