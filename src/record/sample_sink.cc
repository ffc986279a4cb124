// Samples in a trace: what a probe reads becomes counters and events of the sampler's thread, as
// trace/sample_names.h has them.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "genscope/record.h"
#include "record/control.h"
#include "trace/sample_names.h"

namespace genscope {
inline namespace on {
namespace {

constexpr std::size_t kMaxIdBytes = 160;    // of an entity, so that counter names stay whole
constexpr std::size_t kMaxProcesses = 512;  // whose last figures are remembered
constexpr std::int64_t kRepeatNs = 30'000'000'000;

// What a probe says when there is no memory to remember it is left out.
class RecordingSink final : public SampleSink {
 public:
  void add_entity(std::uint32_t entity, const Entity& what) noexcept override {
    try {
      if (entities_.size() <= entity) entities_.resize(entity + 1);
      entities_[entity] = what;
      entities_[entity].id = base::cut_utf8(what.id, kMaxIdBytes);
    } catch (...) {
      return;
    }
    define(entities_[entity]);
  }

  void add_series(std::uint32_t series, std::uint32_t entity, const Metric& metric,
                  std::string_view source) noexcept override {
    if (entity >= entities_.size()) return;
    try {
      if (series_.size() <= series) series_.resize(series + 1);
      Series& row = series_[series];
      row.counter = trace::sample_name(entities_[entity].id, metric.id);
      row.source = source;
      row.own = find_metric(metric.id) == nullptr ? &metric : nullptr;
    } catch (...) {
      return;
    }
    define(series_[series]);
  }

  void add_reading(std::uint32_t series, const Reading& reading) noexcept override {
    if (series >= series_.size()) return;
    repeat_definitions(reading.at_ns);
    Series& row = series_[series];
    if (reading.status == SampleStatus::ok) {
      counter(row.counter, reading.value);
    } else if (reading.status != row.status || reading.reason != row.reason) {
      event("genscope.status", {{"counter", row.counter},
                                {"status", name(reading.status)},
                                {"reason", reading.reason != nullptr ? reading.reason : ""}});
    }
    row.status = reading.status;
    row.reason = reading.reason;
  }

  void add_event(std::uint32_t entity, std::string_view what,
                 std::string_view detail) noexcept override {
    char text[64];
    const std::size_t size = std::min(what.size(), sizeof(text) - 9);
    std::memcpy(text, "genscope.", 9);
    std::memcpy(text + 9, what.data(), size);
    event(std::string_view(text, 9 + size), {{"entity", id_of(entity)}, {"detail", detail}});
  }

  void set_processes(std::uint32_t entity, std::span<const ProcessRow> rows) noexcept override {
    for (const ProcessRow& row : rows) note(entity, row);
  }

 private:
  struct Series {
    std::string counter;
    std::string source;
    const Metric* own = nullptr;  // where it is not of the table
    SampleStatus status = SampleStatus::ok;
    const char* reason = nullptr;
  };
  struct Known {
    std::uint32_t entity = 0, pid = 0;
    std::uint64_t start = 0;
    double cpu_ns = 0, rss_bytes = 0, gpu_bytes = 0;
  };

  std::string_view id_of(std::uint32_t entity) const noexcept {
    return entity < entities_.size() ? std::string_view(entities_[entity].id) : "";
  }

  static void define(const Entity& what) noexcept {
    // The facts as one text, so that their number does not matter: "key=value" lines.
    std::string facts;
    try {
      for (const auto& [key, value] : what.facts) facts += key + "=" + value + "\n";
    } catch (...) {
      facts.clear();
    }
    event("genscope.entity", {{"id", what.id},
                              {"kind", genscope::name(what.kind)},
                              {"name", what.name},
                              {"facts", facts}});
  }
  static void define(const Series& row) noexcept {
    if (row.counter.empty()) return;
    if (row.own == nullptr) {
      event("genscope.series", {{"counter", row.counter}, {"source", row.source}});
      return;
    }
    event("genscope.series", {{"counter", row.counter},
                              {"source", row.source},
                              {"unit", row.own->unit},
                              {"kind", genscope::name(row.own->kind)},
                              {"description", row.own->description}});
  }

  // A flight recorder forgets its beginning: what later samples need is said again.
  void repeat_definitions(std::int64_t now_ns) noexcept {
    if (now_ns - defined_ns_ < kRepeatNs) return;
    const bool first = defined_ns_ == 0;
    defined_ns_ = now_ns;
    const record::Recorder* recorder = record::Control::instance().current();
    if (first || recorder == nullptr) return;
    if (recorder->options().when_full != WhenFull::keep_newest) return;
    for (const Entity& entity : entities_) define(entity);
    for (const Series& row : series_) define(row);
  }

  // A process is told when it is new and when what it used has grown notably: a bounded number of
  // times, whatever the length of the run.
  void note(std::uint32_t entity, const ProcessRow& row) noexcept {
    Known* known = nullptr;
    for (std::size_t i = 0; i < known_count_; ++i) {
      Known& old = known_[i];
      if (old.pid == row.pid && old.entity == entity && old.start == row.start) known = &old;
    }
    const auto value = [](const Reading& reading) {
      return reading.status == SampleStatus::ok ? reading.value : -1;
    };
    const double cpu = value(row.cpu_ns), rss = value(row.rss_bytes);
    const double gpu = value(row.gpu_memory_bytes);
    if (known != nullptr) {
      const bool grown = cpu > known->cpu_ns * 1.25 + 1e8 || rss > known->rss_bytes * 1.1 + 1e6 ||
                         gpu > known->gpu_bytes * 1.1 + 1e6;
      if (!grown) return;
    } else {
      if (known_count_ == kMaxProcesses) return;
      known = &known_[known_count_++];
      *known = {entity, row.pid, row.start, 0, 0, 0};
    }
    known->cpu_ns = std::max(known->cpu_ns, cpu);
    known->rss_bytes = std::max(known->rss_bytes, rss);
    known->gpu_bytes = std::max(known->gpu_bytes, gpu);
    const std::string_view text(row.name, strnlen(row.name, sizeof(row.name)));
    event("genscope.process", {{"entity", id_of(entity)},
                               {"pid", row.pid},
                               {"parent", row.parent},
                               {"start", row.start},
                               {"name", text},
                               {"cpu_ns", cpu},
                               {"rss_bytes", rss},
                               {"gpu_memory_bytes", gpu}});
  }

  std::vector<Entity> entities_;
  std::vector<Series> series_;
  std::int64_t defined_ns_ = 0;
  std::array<Known, kMaxProcesses> known_;
  std::size_t known_count_ = 0;
};

}  // namespace

std::unique_ptr<SampleSink> make_recording_sink() { return std::make_unique<RecordingSink>(); }

void allocator_stats(const AllocatorStats& stats) noexcept {
  char name[kMaxNameBytes + 1];
  const std::string_view device = base::cut_utf8(stats.device, kMaxIdBytes);
  std::size_t size = trace::kAllocatorPrefix.copy(name, trace::kAllocatorPrefix.size());
  std::memcpy(name + size, device.data(), device.size());
  size += device.size();
  const auto put = [&](std::string_view metric, const std::optional<std::uint64_t>& value) {
    if (!value) return;
    std::memcpy(name + size, metric.data(), metric.size());
    counter(std::string_view(name, size + metric.size()), static_cast<double>(*value));
  };
  put("/allocator_requested_bytes", stats.requested_bytes);
  put("/allocator_allocated_bytes", stats.allocated_bytes);
  put("/allocator_active_bytes", stats.active_bytes);
  put("/allocator_reserved_bytes", stats.reserved_bytes);
  put("/allocator_inactive_split_bytes", stats.inactive_split_bytes);
  put("/allocator_retries", stats.retries);
  put("/allocator_ooms", stats.ooms);
}

}  // namespace on
}  // namespace genscope
