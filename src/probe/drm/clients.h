// What the clients of the GPUs hold and used: fdinfo files added up, each client once however many
// descriptors and processes share it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <genscope/trace.h>

#include "probe/drm/fdinfo.h"
#include "probe/drm/processes.h"

namespace genscope::probe::drm {

class Clients {
 public:
  static constexpr std::size_t kMaxClients = 512;

  // One round: begin, note() of every file, end. A client that was not noted is forgotten.
  void begin(std::int64_t now_ns) noexcept;
  // `unified`: its memory is what it maps of the system's, too.
  void note(const DrmFile& file, const Fdinfo& info, bool unified) noexcept;
  void end() noexcept;

  // Of a device, over the clients of the tree, and over all that were noted.
  struct Use {
    Reading tree_memory_bytes;
    Reading tree_busy_ratio;
    Reading busy_ratio;
  };
  Use use(std::uint32_t device) const noexcept;
  // One row a process, the largest holder first. Valid until the next call.
  std::span<const ProcessRow> rows(std::uint32_t device) noexcept;

 private:
  // The two counters of an engine, as they were last time.
  struct Engine {
    bool known = false;       // there is a counter
    bool has_ratio = false;   // and there were two readings of it
    std::uint64_t busy = 0;   // ns or cycles
    std::uint64_t total = 0;  // cycles; with ns, the time of reading
    int backwards = 0;        // readings in a row that were below the last
    double ratio = 0;
  };
  struct Client {
    DrmFile file;  // the first that showed it
    std::uint64_t id = 0;
    bool has_id = false;
    bool seen = false;
    bool has_memory = false;
    std::uint64_t memory_bytes = 0;
    Engine engines[kEngineClasses];
  };
  Client* find_or_add(const DrmFile& file, const Fdinfo& info) noexcept;
  void update(Engine& engine, const Fdinfo::Engine& now) noexcept;
  Reading busy(std::uint32_t device, bool tree_only) const noexcept;
  Reading tree_memory(std::uint32_t device) const noexcept;

  std::int64_t now_ns_ = 0;
  std::array<Client, kMaxClients> clients_{};
  std::size_t count_ = 0;
  std::array<ProcessRow, kMaxClients> rows_{};
};

}  // namespace genscope::probe::drm
