// A frame of `genscope top`: all that one screen or one line of JSON shows, as plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <genscope/probe.h>
#include <genscope/store.h>

#include "watch/trail.h"

namespace genscope::cli::top {

// One process: of the watched tree, of a GPU, or both.
struct ProcessLine {
  ProcessRow row;     // gpu_memory_bytes over all GPUs, gpu_busy_ratio of the busiest
  Reading cpu_cores;  // CPU time a second, since the last frame
  bool in_tree = false;
  bool on_gpu = false;  // a GPU lists it
};

enum class ProcessOrder : std::uint8_t { cpu, memory, gpu_memory };
// The largest first.
void sort_processes(std::vector<ProcessLine>& lines, ProcessOrder order);

struct RunLine {
  std::string path;
  Progress progress;
};

struct Frame {
  std::int64_t unix_ns = 0;
  double interval_seconds = 1;
  std::string watched;  // what the tree is: "session 4242", "process 77"
  Snapshot snapshot;
  std::vector<ProbeReport> probes;
  // Of all processes of the machine, where no tree was asked for: of those in no other list the
  // busiest are shown.
  std::vector<ProcessRow> machine;
  static constexpr std::size_t kBusiest = 12;
  std::vector<ProcessLine> processes;  // the busiest first, then the largest
  std::optional<RunLine> run;
  watch::Trails trails;  // by entity id and metric, as in watch/trail.h
};

// What a value that is not ok says of itself: its reason, or its status in words.
std::string why(const Reading& reading);

// Remembers what one frame needs of the last: CPU times of processes, and the trails.
class Tracker {
 public:
  // Fills `processes` and `trails` from the frame's snapshot.
  void complete(Frame& frame);

 private:
  struct CpuTime {
    double ns = 0;
    std::int64_t at_ns = 0;
  };
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // pid and start: a stable identity

  Reading cpu_cores(const ProcessRow& row, std::map<Key, CpuTime>& now) const;

  std::map<Key, CpuTime> last_;
  watch::Trails trails_;
};

}  // namespace genscope::cli::top
