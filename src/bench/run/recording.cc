#include "bench/run/recording.h"

#include <fmt/format.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <unordered_map>

#include <genscope/store.h>

#include "analyze/stage_key.h"
#include "base/file.h"

namespace genscope::bench {
namespace {

namespace fs = std::filesystem;

bool is_stage(SpanKind kind) { return kind == SpanKind::stage || kind == SpanKind::load; }

std::uint32_t ancestor(const Trace& trace, std::uint32_t span, bool (*fits)(SpanKind)) {
  for (span = trace.spans.parent[span]; span != kNone; span = trace.spans.parent[span]) {
    if (fits(trace.kind(span))) return span;
  }
  return kNone;
}

double seconds_of(const Trace& trace, std::size_t span) {
  return static_cast<double>(trace.spans.duration_ns[span]) * 1e-9;
}

std::string stage_name(const Trace& trace, std::uint32_t span) {
  return std::string(analysis::stage_key(trace.kind(span), trace.span_name(span)));
}

void add_stage(const Trace& trace, std::uint32_t span, RecordedStages& found) {
  found.stages[stage_name(trace, span)].seconds += seconds_of(trace, span);
  const std::uint32_t outer = ancestor(trace, span, is_stage);
  const bool beside = (trace.spans.flags[span] & kSpanDetached) != 0 || outer == kNone ||
                      trace.spans.track[outer] != trace.spans.track[span];
  if (!beside) found.stages[stage_name(trace, outer)].seconds -= seconds_of(trace, span);
}

using Loops = std::unordered_map<std::uint32_t, std::vector<double>>;  // by the stage's span

void add_step(const Trace& trace, std::uint32_t span, RecordedStages& found, Loops& loops) {
  const auto is_step = [](SpanKind kind) { return kind == SpanKind::step; };
  if (ancestor(trace, span, is_step) != kNone) return;
  const std::uint32_t stage = ancestor(trace, span, is_stage);
  if (stage == kNone) return;
  ++found.stages[stage_name(trace, stage)].steps;
  loops[stage].push_back(seconds_of(trace, span));
}

// $TMPDIR, else memory where there is room: what is recorded must not show in the disk's figures.
std::string temporary_root() {
  const char* const tmp = std::getenv("TMPDIR");
  if (tmp != nullptr && *tmp != '\0') return tmp;
  constexpr const char* kMemory = "/dev/shm";
  constexpr std::uintmax_t kRoom = 256u << 20;
  std::error_code failed;
  const fs::space_info room = fs::space(kMemory, failed);
  if (!failed && room.available >= kRoom && ::access(kMemory, W_OK) == 0) return kMemory;
  return "/tmp";
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

}  // namespace

RecordedStages stages_of(const Run& run) {
  RecordedStages found;
  for (const Trace& trace : run.traces) {
    Loops loops;
    for (std::uint32_t span = 0; span < trace.spans.size(); ++span) {
      const SpanKind kind = trace.kind(span);
      if (is_stage(kind)) add_stage(trace, span, found);
      if (kind == SpanKind::step) add_step(trace, span, found, loops);
    }
    for (auto& [stage, steps] : loops) {
      if (sum_of(steps) > sum_of(found.steps_s)) found.steps_s = std::move(steps);
    }
  }
  return found;
}

RunFolder::RunFolder(std::string keep) : path_(std::move(keep)), keep_(!path_.empty()) {
  if (keep_) {
    path_ = base::absolute_path(path_);
    if (!base::make_directories(path_)) path_.clear();
    return;
  }
  path_ = temporary_root() + "/genscope-bench-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) path_.clear();
}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (!keep_ && !path_.empty()) fs::remove_all(path_, ignored);
}

std::string RunFolder::next() {
  if (path_.empty()) return "";
  std::error_code failed;
  std::string run;
  do {  // a folder that is kept may have runs from before
    run = fmt::format("{}/run-{:05}", path_, ++count_);
  } while (keep_ && fs::exists(run, failed));
  return fs::create_directory(run, failed) ? run : "";
}

bool RunFolder::has_trace(const std::string& run) {
  std::error_code failed;
  for (fs::directory_iterator at(run, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string file = at->path().filename();
    if (file.starts_with("trace-") && file.ends_with(".gst")) return true;
  }
  return false;
}

RecordedStages RunFolder::take(const std::string& run) {
  RecordedStages found;
  if (run.empty()) return found;
  if (has_trace(run)) {
    if (const Result<Run> read = read_run(run)) found = stages_of(*read);
  }
  std::error_code ignored;
  if (!keep_) fs::remove_all(run, ignored);
  return found;
}

}  // namespace genscope::bench
