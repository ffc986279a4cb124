// Who goes where: a span stays with its parent if it nests in what is open there; else it takes the
// lowest sheet on which nothing is open. A heap of ends says which these are, so ten thousand
// requests at once cost no more than a few.
#include "report/viewers/sheets.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>

#include "report/span_dump.h"

namespace genscope::report {
namespace {

class TrackSheets {
 public:
  TrackSheets(const Trace& trace, std::vector<std::uint32_t>& sheet_of)
      : spans_(trace.spans), sheet_of_(sheet_of) {}

  // In the order of their begins, longer ones first.
  void add(std::uint32_t span) {
    const std::int64_t begin = spans_.begin_ns[span], end = end_of(spans_, span);
    while (!busy_.empty() && busy_.top().first <= begin) {
      free_.insert(busy_.top().second);
      open_[busy_.top().second].clear();
      busy_.pop();
    }
    const std::uint32_t parent = spans_.parent[span];
    const bool beside = parent != kNone && spans_.track[parent] == spans_.track[span];
    std::uint32_t sheet = beside ? sheet_of_[parent] : kNone;
    if (sheet == kNone || !nests(sheet, begin, end)) sheet = empty_sheet(end);
    open_[sheet].push_back(end);
    sheet_of_[span] = sheet;
    sheets_[sheet].push_back(span);
  }

  Sheets take() { return std::move(sheets_); }

 private:
  bool nests(std::uint32_t sheet, std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t>& open = open_[sheet];
    while (!open.empty() && open.back() <= begin) open.pop_back();
    return !open.empty() && open.back() >= end;
  }

  std::uint32_t empty_sheet(std::int64_t end) {
    auto sheet = static_cast<std::uint32_t>(sheets_.size());
    if (free_.empty()) {
      sheets_.emplace_back();
      open_.emplace_back();
    } else {
      sheet = *free_.begin();
      free_.erase(free_.begin());
    }
    busy_.emplace(end, sheet);
    return sheet;
  }

  using Busy = std::pair<std::int64_t, std::uint32_t>;  // when its outermost span ends, sheet

  const SpanColumns& spans_;
  std::vector<std::uint32_t>& sheet_of_;
  Sheets sheets_;
  std::vector<std::vector<std::int64_t>> open_;  // of each sheet: ends of what is open
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
  std::set<std::uint32_t> free_;
};

}  // namespace

std::int64_t end_of(const SpanColumns& spans, std::uint32_t span) noexcept {
  const std::int64_t begin = spans.begin_ns[span];
  return std::max(begin, wrapping_add(begin, spans.duration_ns[span]));
}

std::vector<Sheets> sheets_of(const Trace& trace) {
  const SpanColumns& spans = trace.spans;
  std::vector<std::vector<std::uint32_t>> of_track(trace.tracks.size());
  for (std::uint32_t i = 0; i < spans.size(); ++i) of_track[spans.track[i]].push_back(i);
  std::vector<std::uint32_t> sheet_of(spans.size(), kNone);
  std::vector<Sheets> all;
  for (std::vector<std::uint32_t>& list : of_track) {
    std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(spans.begin_ns[a], -spans.duration_ns[a]) <
             std::pair(spans.begin_ns[b], -spans.duration_ns[b]);
    });
    TrackSheets track(trace, sheet_of);
    for (const std::uint32_t span : list) track.add(span);
    all.push_back(track.take());
  }
  return all;
}

std::uint32_t ViewerPids::of(const Trace& trace) {
  std::uint32_t pid = trace.process.pid;
  if (pid == 0 || std::find(taken_.begin(), taken_.end(), pid) != taken_.end()) pid = next_++;
  taken_.push_back(pid);
  return pid;
}

std::string viewer_process_name(const Trace& trace) {
  const ProcessInfo& process = trace.process;
  const std::string command = process.command.empty() ? "process" : process.command.front();
  return (process.rank ? fmt::format("rank {}: ", *process.rank) : "") +
         fmt::format("{} (pid {})", command.substr(command.rfind('/') + 1), process.pid);
}

std::string viewer_row_name(const TrackInfo& track, std::size_t sheet) {
  std::string name = track.name.empty() ? fmt::format("thread {}", track.tid) : track.name;
  if (sheet > 0) name += fmt::format(" ({})", sheet + 1);
  return name;
}

std::string viewer_counter_name(const Trace& trace, std::uint32_t name) {
  const SampleSeries* const series = trace.samples.of_name(name);
  if (series == nullptr) return trace.names[name].text;
  return fmt::format("{} {}", trace.samples.entities[series->entity].id, series->metric->id);
}

}  // namespace genscope::report
