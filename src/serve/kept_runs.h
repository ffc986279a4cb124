// Runs that are over, read and summed up once: who asks for the page, then for the report, then for
// the page again, waits once.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <genscope/advise.h>
#include <genscope/error.h>

#include "serve/runs.h"

namespace genscope::serve {

// Any thread. What is kept is bounded: by bytes, least recently asked for first to go.
class KeptRuns {
 public:
  static constexpr std::uint64_t kMostBytes = 256u << 20;
  explicit KeptRuns(std::uint64_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  // The run as it is on the disk. Two who ask for one run at once share the reading.
  Result<std::shared_ptr<const WholeRun>> get(const RunEntry& run);

  std::uint64_t reads() const;  // how often a run was read
  std::uint64_t bytes() const;  // that the kept ones take, about

 private:
  struct Kept {
    std::string path;
    std::string stamp;  // of its files: when one changes, it is another run
    std::shared_ptr<const WholeRun> whole;
    std::uint64_t bytes = 0;
  };
  void keep(Kept kept);

  const std::uint64_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable read_;
  std::set<std::string> reading_;  // paths
  std::list<Kept> kept_;           // newest first
  std::uint64_t bytes_ = 0, reads_ = 0;
};

}  // namespace genscope::serve
