// The pressure series of an entity: a machine's from /proc/pressure, a cgroup's from *.pressure.
#pragma once

#include <cerrno>
#include <string>

#include "base/file_reader.h"
#include "probe/host/read_status.h"
#include "probe/host/system_text.h"
#include "trace/metrics.h"

namespace genscope::probe {

class PressureSeries {
 public:
  PressureSeries() = default;
  // `prefix`resource`suffix` is the path of each: "/proc/pressure/" cpu "".
  PressureSeries(const std::string& prefix, const std::string& suffix, base::Files& files)
      : cpu_{base::KeptFile(prefix + "cpu" + suffix, files)},
        memory_{base::KeptFile(prefix + "memory" + suffix, files)},
        io_{base::KeptFile(prefix + "io" + suffix, files)} {}

  void add(Board& board, std::uint32_t entity) {
    using trace::metric;
    // Of a machine "full" cannot be for the CPU, so it is not kept for cgroups either.
    cpu_.some =
        board.add_series(entity, metric("pressure_cpu_some_ns"), Tier::normal, cpu_.file.path());
    memory_.some = board.add_series(entity, metric("pressure_memory_some_ns"), Tier::normal,
                                    memory_.file.path());
    memory_.full = board.add_series(entity, metric("pressure_memory_full_ns"), Tier::normal,
                                    memory_.file.path());
    io_.some =
        board.add_series(entity, metric("pressure_io_some_ns"), Tier::normal, io_.file.path());
    io_.full =
        board.add_series(entity, metric("pressure_io_full_ns"), Tier::normal, io_.file.path());
  }

  void set_absent(Board& board, const char* reason) noexcept {
    for (const Resource* const resource : {&cpu_, &memory_, &io_}) {
      board.set(resource->some, SampleStatus::absent, reason);
      board.set(resource->full, SampleStatus::absent, reason);
    }
  }

  void sample(Board& board) noexcept {
    for (Resource* const resource : {&cpu_, &memory_, &io_}) sample(board, *resource);
  }

 private:
  struct Resource {
    base::KeptFile file;
    std::uint32_t some = kNoSeries, full = kNoSeries;
  };

  static void sample(Board& board, Resource& resource) noexcept {
    char buffer[256];
    std::string_view text;
    Pressure pressure;
    int error = resource.file.read(buffer, text);
    if (error == 0 && !parse_pressure(text, pressure)) error = EINVAL;
    if (error == ENOENT || error == EOPNOTSUPP) {
      for (const std::uint32_t series : {resource.some, resource.full}) {
        board.set(series, SampleStatus::absent,
                  "no pressure information: built out of the kernel, or off (boot with psi=1)");
      }
      return;
    }
    set_read(board, resource.some, error, static_cast<double>(pressure.some_ns));
    if (error == 0 && !pressure.has_full) {
      board.set(resource.full, SampleStatus::not_supported, "the kernel does not offer it");
    } else {
      set_read(board, resource.full, error, static_cast<double>(pressure.full_ns));
    }
  }

  Resource cpu_, memory_, io_;
};

}  // namespace genscope::probe
