// A plan of faults for everything that reads through base::Files: the nth read of a path fails, is
// slow, or sees other content. What the plan does not name goes to the real files.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_reader.h"

namespace genscope::testing {

class FaultPlan final : public base::Files {
 public:
  static constexpr int kForever = -1;
  struct Fault {
    int error = 0;         // errno; 0: no error
    long delay_ms = 0;     // before the read
    bool replace = false;  // give `content` instead of the file's
    std::string content = {};
    int first = 0;         // from this read of the path on (0 is the first) ...
    int count = kForever;  // ... so many times
    bool on_open = false;  // the error comes from open() instead
  };

  // `end` of a path: every path that ends so.
  void add(std::string end, Fault fault) {
    const std::lock_guard lock(mutex_);
    faults_.emplace_back(std::move(end), std::move(fault));
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    faults_.clear();
  }
  // How often a path with that end was opened or read.
  int touches(std::string_view end) const {
    const std::lock_guard lock(mutex_);
    int sum = 0;
    for (const auto& [path, n] : touched_) {
      if (path.ends_with(end)) sum += n;
    }
    return sum;
  }

  int open(const char* path) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      touched_[path]++;
      for (const auto& [end, fault] : faults_) {
        if (fault.on_open && std::string_view(path).ends_with(end)) return -fault.error;
      }
    }
    return Files::open(path);
  }

  long read(int fd, const char* path, char* buffer, std::size_t size) noexcept override {
    Fault found;
    {
      const std::lock_guard lock(mutex_);
      touched_[path]++;
      const int nth = reads_[path]++;
      for (const auto& [end, fault] : faults_) {
        const bool due =
            nth >= fault.first && (fault.count == kForever || nth < fault.first + fault.count);
        if (!fault.on_open && due && std::string_view(path).ends_with(end)) found = fault;
      }
    }
    if (found.delay_ms > 0) {
      const timespec pause{found.delay_ms / 1000, found.delay_ms % 1000 * 1'000'000};
      nanosleep(&pause, nullptr);
    }
    if (found.error != 0) return -found.error;
    if (!found.replace) return Files::read(fd, path, buffer, size);
    const std::size_t n = std::min(size, found.content.size());
    std::memcpy(buffer, found.content.data(), n);
    return static_cast<long>(n);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, Fault>> faults_;
  std::map<std::string, int, std::less<>> reads_;
  std::map<std::string, int, std::less<>> touched_;
};

}  // namespace genscope::testing
