// profiling_report_*.json of Inferix, as its reporter.py writes it.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/file.h"
#include "compat/inferix/json_block.h"
#include "genscope/compat/inferix.h"

namespace genscope::compat::inferix {

using store::JsonType;
namespace {

constexpr double kMiB = 1 << 20;  // what Inferix calls MB
constexpr double kPercent = 0.01;

Status into(const JsonBlock& value, std::optional<double>& out, double scale = 1) {
  if (Status read = value.number(out); !read.ok()) return read;
  if (out) *out *= scale;
  return Done{};
}

// Nothing for what is no plain number of this size.
std::optional<int> small_number(const std::string& text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0) return std::nullopt;
  return value;
}

std::uint64_t natural(const std::optional<double>& value) {
  constexpr double kMost = 9e15;
  return value && *value > 0 ? static_cast<std::uint64_t>(std::min(*value, kMost)) : 0;
}

class Reader {
 public:
  explicit Reader(InferixReport& report) : r_(report) {}

  Status top(std::string_view key, const JsonBlock& value) {
    if (key == "session_info") {
      session_ = true;
      return value.members([&](auto k, const auto& v) { return session(k, v); });
    }
    if (key == "gpu_data" || key == "cpu_data") raw_ = true;
    if (value.type() == JsonType::null) return Done{};
    if (key == "summary")
      return value.members([&](auto k, const auto& v) { return summary(k, v); });
    if (key == "gpu_metrics") return timeline(value, [&](const auto& v) { return gpu_sample(v); });
    if (key == "cpu_metrics") return timeline(value, [&](const auto& v) { return cpu_sample(v); });
    if (key == "stage_analysis") {
      return part(value, "stages", [&](const JsonBlock& stages) {
        return stages.members([&](auto k, const auto& v) { return stage(k, v); });
      });
    }
    if (key == "diffusion_analysis") return list(value, "steps", &Reader::step);
    if (key == "block_analysis") return list(value, "blocks", &Reader::block);
    if (key == "events") return value.elements([&](const auto& v) { return event(v); });
    return Done{};
  }

  Status finish() {
    if (!session_) {
      return Error{ErrorCode::bad_data,
                   r_.path + (raw_ ? " holds raw samples of Inferix, not a report: give its "
                                     "profiling_report_*.json"
                                   : " has no session_info: it is no report of Inferix")};
    }
    if (!r_.duration_seconds && r_.begin_seconds && r_.end_seconds) {
      r_.duration_seconds = *r_.end_seconds - *r_.begin_seconds;
    }
    keep_own_samples(r_.gpu, "GPU");
    keep_own_samples(r_.cpu, "CPU");
    drop_absent_gpu();
    if (polluted_) r_.summary.clear();
    return Done{};
  }

 private:
  template <class Each>
  static Status part(const JsonBlock& object, std::string_view wanted, const Each& each) {
    return object.members([&](std::string_view key, const JsonBlock& value) -> Status {
      if (key != wanted || value.type() == JsonType::null) return Done{};
      return each(value);
    });
  }
  template <class Each>
  static Status timeline(const JsonBlock& metrics, const Each& each) {
    return part(metrics, "timeline",
                [&](const JsonBlock& samples) { return samples.elements(each); });
  }
  Status list(const JsonBlock& object, std::string_view name,
              Status (Reader::*each)(const JsonBlock&)) {
    return part(object, name, [&](const JsonBlock& items) {
      return items.elements([&](const JsonBlock& item) { return (this->*each)(item); });
    });
  }

  Status session(std::string_view key, const JsonBlock& value) {
    if (key == "id") return value.string(r_.session);
    if (key == "start_time") return into(value, r_.begin_seconds);
    if (key == "end_time") return into(value, r_.end_seconds);
    if (key == "duration") return into(value, r_.duration_seconds);
    if (key != "tags" || value.type() == JsonType::null) return Done{};
    return value.members([&](std::string_view tag, const JsonBlock& v) -> Status {
      r_.tags.emplace_back(std::string(tag), v.text());
      if (tag == "rank") r_.rank = small_number(r_.tags.back().second);
      if (tag == "world_size") r_.world_size = small_number(r_.tags.back().second);
      return Done{};
    });
  }

  Status summary(std::string_view part_name, const JsonBlock& value) {
    struct Row {
      std::string_view part, key;
      const char* figure;
      double scale;
    };
    static constexpr Row kRows[] = {
        {"gpu", "peak_memory_usage_mb", "gpu_memory_peak_bytes", kMiB},
        {"gpu", "avg_gpu_utilization", "gpu_busy_ratio", kPercent},
        {"cpu", "avg_cpu_usage", "machine_cpu_busy_ratio", kPercent},
        {"cpu", "peak_memory_usage_mb", "machine_memory_peak_bytes", kMiB},
    };
    if (value.type() == JsonType::null) return Done{};
    if (part_name != "gpu" && part_name != "cpu") return Done{};
    return value.members([&](std::string_view key, const JsonBlock& v) -> Status {
      for (const Row& row : kRows) {
        if (row.part != part_name || row.key != key) continue;
        std::optional<double> number;
        if (Status read = into(v, number, row.scale); !read.ok()) return read;
        // Without a GPU Inferix writes zeroes.
        if (number && (*number > 0 || part_name == "cpu")) {
          r_.summary.emplace_back(row.figure, *number);
        }
      }
      return Done{};
    });
  }

  Status stage(std::string_view name, const JsonBlock& value) {
    InferixReport::Stage stage;
    stage.name = name;
    std::optional<double> total, calls;
    Status read = value.members([&](std::string_view key, const JsonBlock& v) -> Status {
      if (key == "total_time") return into(v, total);
      if (key == "call_count") return into(v, calls);
      if (key == "min_time") return into(v, stage.min_seconds);
      if (key == "max_time") return into(v, stage.max_seconds);
      return Done{};
    });
    if (!read.ok() || !total) return read;
    stage.total_seconds = *total;
    stage.calls = natural(calls);
    r_.stages.push_back(std::move(stage));
    return Done{};
  }

  Status gpu_sample(const JsonBlock& value) {
    InferixReport::GpuSample sample;
    std::optional<double> at, total;
    Status read = value.members([&](std::string_view key, const JsonBlock& v) -> Status {
      if (key == "timestamp") return into(v, at);
      if (key == "memory_used_mb") return into(v, sample.memory_used_bytes, kMiB);
      if (key == "memory_total_mb") return into(v, total);
      if (key == "utilization") return into(v, sample.busy_ratio, kPercent);
      if (key == "temperature") return into(v, sample.temperature_celsius);
      if (key == "power") return into(v, sample.power_watts);
      return Done{};
    });
    if (!read.ok() || !at) return read;
    any_gpu_ |= total && *total > 0;
    sample.at_seconds = *at;
    r_.gpu.push_back(sample);
    return Done{};
  }

  Status cpu_sample(const JsonBlock& value) {
    InferixReport::CpuSample sample;
    std::optional<double> at;
    Status read = value.members([&](std::string_view key, const JsonBlock& v) -> Status {
      if (key == "timestamp") return into(v, at);
      if (key == "cpu_usage") return into(v, sample.busy_ratio, kPercent);
      if (key == "memory_used_mb") return into(v, sample.memory_used_bytes, kMiB);
      return Done{};
    });
    if (!read.ok() || !at) return read;
    sample.at_seconds = *at;
    r_.cpu.push_back(sample);
    return Done{};
  }

  Status step(const JsonBlock& value) {
    return part(value, "computation_time_ms", [&](const JsonBlock& v) -> Status {
      std::optional<double> ms;
      if (Status read = into(v, ms, 1e-3); !read.ok()) return read;
      if (ms) r_.step_seconds.push_back(*ms);
      return Done{};
    });
  }

  Status block(const JsonBlock& value) {
    r_.blocks = r_.blocks.value_or(0) + 1;
    return part(value, "block_size", [&](const JsonBlock& v) -> Status {
      std::optional<double> frames;
      if (Status read = into(v, frames); !read.ok()) return read;
      if (frames) r_.frames = r_.frames.value_or(0) + natural(frames);
      return Done{};
    });
  }

  Status event(const JsonBlock& value) {
    InferixReport::Event event;
    std::optional<double> at;
    Status read = value.members([&](std::string_view key, const JsonBlock& v) -> Status {
      if (key == "name") return v.string(event.name);
      if (key == "timestamp") return into(v, at);
      if (key == "data") event.data = v.bytes();
      return Done{};
    });
    if (!read.ok() || !at) return read;
    event.at_seconds = *at;
    r_.events.push_back(std::move(event));
    return Done{};
  }

  // Inferix never clears its samples: a second session's report begins with the first one's.
  template <class Samples>
  void keep_own_samples(Samples& samples, const char* what) {
    std::stable_sort(samples.begin(), samples.end(),
                     [](const auto& a, const auto& b) { return a.at_seconds < b.at_seconds; });
    if (!r_.begin_seconds) return;
    const std::size_t before = samples.size();
    std::erase_if(samples, [&](const auto& sample) {
      return sample.at_seconds < *r_.begin_seconds ||
             (r_.end_seconds && sample.at_seconds > *r_.end_seconds);
    });
    if (samples.size() == before) return;
    polluted_ = true;
    r_.notes.push_back(std::to_string(before - samples.size()) + " " + what +
                       " samples from outside the session left out");
  }

  void drop_absent_gpu() {
    if (r_.gpu.empty() || any_gpu_) return;
    r_.gpu.clear();
    r_.notes.push_back("GPU samples without a GPU (all of the memory is 0) left out");
  }

  InferixReport& r_;
  bool session_ = false, raw_ = false;
  bool any_gpu_ = false;
  bool polluted_ = false;  // then the summary is too
};

}  // namespace
}  // namespace genscope::compat::inferix

namespace genscope {

Result<InferixReport> read_inferix_report(const std::string& path) {
  const Result<base::MappedFile> file = base::MappedFile::open(path);
  if (!file.ok()) return file.error();
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                              file->bytes().size());
  InferixReport report;
  report.path = path;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') {
    return Error{ErrorCode::bad_data, path + " is no JSON object: it is no report of Inferix"};
  }
  const Result<compat::inferix::JsonBlock> whole = compat::inferix::JsonBlock::parse(text, path);
  if (!whole.ok()) return whole.error();
  compat::inferix::Reader reader(report);
  const compat::inferix::JsonBlock root(whole->bytes(), path + ": ",
                                        compat::inferix::JsonType::object);
  Status read = root.members([&](std::string_view key, const compat::inferix::JsonBlock& value) {
    return reader.top(key, value);
  });
  if (!read.ok()) return read.error();
  if (read = reader.finish(); !read.ok()) return read.error();
  if (!report.rank) report.rank = rank_of_path(path);
  return report;
}

}  // namespace genscope
