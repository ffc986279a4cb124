// An LD_PRELOAD library that makes the nth call of a kind fail, as SQLite's tests do.
//
//   FAULT_KIND   memory, thread, open, write, mmap, fallocate, ftruncate
//   FAULT_N      which call fails, from 1; 0: none
//   FAULT_ALL=1  that one and every later one
//   FAULT_COUNT  a file: how many calls there were is written there at the end
//
// Counting starts with fault_begin(), which the program calls, and stops with fault_end(); the
// program's own calls in between are bracketed by fault_pause().
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>

namespace {

enum Kind { kMemory, kThread, kOpen, kWrite, kMmap, kFallocate, kFtruncate, kKinds };
constexpr const char* kNames[kKinds] = {"memory", "thread",    "open",     "write",
                                        "mmap",   "fallocate", "ftruncate"};

std::atomic<bool> g_on{false};
std::atomic<long> g_calls{0};
Kind g_kind = kKinds;
long g_nth = 0;
bool g_all = false;
thread_local bool t_paused __attribute__((tls_model("initial-exec"))) = false;

bool fails(Kind kind) {
  if (kind != g_kind || t_paused || !g_on.load(std::memory_order_relaxed)) return false;
  const long n = g_calls.fetch_add(1) + 1;
  return n == g_nth || (g_all && g_nth > 0 && n > g_nth);
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void fault_begin() {
  const char* const kind = getenv("FAULT_KIND");
  for (int i = 0; i < kKinds && kind != nullptr; ++i) {
    if (strcmp(kind, kNames[i]) == 0) g_kind = static_cast<Kind>(i);
  }
  const char* const n = getenv("FAULT_N");
  g_nth = n != nullptr ? atol(n) : 0;
  g_all = getenv("FAULT_ALL") != nullptr;
  g_calls = 0;
  g_on = true;
}
void fault_pause(int paused) { t_paused = paused != 0; }
void fault_end() {
  g_on = false;
  const char* const path = getenv("FAULT_COUNT");
  if (path == nullptr) return;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, kFlags, 0600));
  char text[32];
  int size = 0;
  long n = g_calls;
  do {
    text[31 - size++] = static_cast<char>('0' + n % 10);
    n /= 10;
  } while (n > 0);
  syscall(SYS_write, fd, text + 32 - size, size);
  syscall(SYS_close, fd);
}

void* malloc(size_t size) {
  if (!fails(kMemory)) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}
void* calloc(size_t count, size_t size) {
  if (!fails(kMemory)) return __libc_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}
void* realloc(void* old, size_t size) {
  if (!fails(kMemory)) return __libc_realloc(old, size);
  errno = ENOMEM;
  return nullptr;
}
void* aligned_alloc(size_t alignment, size_t size) {
  if (!fails(kMemory)) return __libc_memalign(alignment, size);
  errno = ENOMEM;
  return nullptr;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* of) {
  if (fails(kThread)) return EAGAIN;
  static const auto real = next<decltype(&pthread_create)>("pthread_create");
  return real(thread, attributes, body, of);
}

static int open_with(const char* path, int flags, mode_t mode) {
  if (fails(kOpen)) {
    errno = EMFILE;
    return -1;
  }
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_with(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_with(path, flags, mode);
}
int mkostemp(char* pattern, int flags) {
  static const auto real = next<int (*)(char*, int)>("mkostemp");
  if (!fails(kOpen)) return real(pattern, flags);
  errno = EMFILE;
  return -1;
}
int mkostemp64(char* pattern, int flags) { return mkostemp(pattern, flags); }

ssize_t write(int fd, const void* data, size_t size) {
  if (!fails(kWrite)) return syscall(SYS_write, fd, data, size);
  // Half of it, as a disk does that fills up; the rest fails with the next try.
  if (size > 1 && g_nth % 2 == 0) return syscall(SYS_write, fd, data, size / 2);
  errno = ENOSPC;
  return -1;
}

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  // What takes the place of a mapping that exists cannot be refused like a new one.
  if ((flags & MAP_FIXED) == 0 && fails(kMmap)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, size, protection, flags, fd, offset));
}
void* mmap64(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  return mmap(at, size, protection, flags, fd, offset);
}

int fallocate(int fd, int mode, off_t from, off_t size) {
  if (!fails(kFallocate)) return static_cast<int>(syscall(SYS_fallocate, fd, mode, from, size));
  errno = ENOSPC;
  return -1;
}
int fallocate64(int fd, int mode, off_t from, off_t size) {
  return fallocate(fd, mode, from, size);
}
int ftruncate(int fd, off_t size) {
  if (!fails(kFtruncate)) return static_cast<int>(syscall(SYS_ftruncate, fd, size));
  errno = EIO;
  return -1;
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

}  // extern "C"
#pragma GCC visibility pop
