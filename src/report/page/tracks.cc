// The spans of a page, track by track.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/page/lanes.h"
#include "report/page/page.h"
#include "report/page/selection.h"
#include "report/span_dump.h"

namespace genscope::report {
namespace {

struct TrackPart {
  std::size_t trace = 0;
  std::uint32_t track = 0;
  std::vector<std::uint32_t> spans;  // by begin
};

// The spans of each track of a trace, in the order of their begins.
std::vector<TrackPart> parts_of(const Trace& trace, std::size_t index) {
  std::vector<TrackPart> parts(trace.tracks.size());
  for (std::uint32_t t = 0; t < parts.size(); ++t) {
    parts[t].trace = index;
    parts[t].track = t;
  }
  for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
    parts[trace.spans.track[i]].spans.push_back(i);
  }
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
    return trace.spans.begin_ns[a] < trace.spans.begin_ns[b];
  };
  for (TrackPart& part : parts) {
    if (!std::is_sorted(part.spans.begin(), part.spans.end(), earlier)) {
      std::stable_sort(part.spans.begin(), part.spans.end(), earlier);
    }
  }
  std::erase_if(parts, [](const TrackPart& part) { return part.spans.empty(); });
  return parts;
}

// Named tracks of imported device work say so in their names.
bool is_device(const TrackInfo& track) {
  return track.tid == 0 && (track.name.find("stream") != std::string::npos ||
                            track.name.find("GPU") != std::string::npos ||
                            track.name.find("gpu") != std::string::npos);
}

// What a span started on another track, as a kernel by its launch: both get one number, that of the
// launch. Numbers of the traces of a run do not meet.
class Correlations {
 public:
  Correlations(const Trace& trace, std::uint64_t first)
      : trace_(trace), first_(first), starts_(starters(trace)) {}
  std::optional<std::uint64_t> of(std::uint32_t span) const {
    if (starts_[span]) return first_ + span;
    if (started_elsewhere(trace_, span)) return first_ + trace_.spans.parent[span];
    return std::nullopt;
  }

 private:
  const Trace& trace_;
  std::uint64_t first_;
  std::vector<bool> starts_;
};

class TrackWriter {
 public:
  TrackWriter(const Run& run, const Analysis& analysis, const PageLimits& limits, PageNames& names,
              Blobs& blobs, PageCuts& cuts)
      : run_(run),
        analysis_(analysis),
        limits_(limits),
        names_(names),
        blobs_(blobs),
        cuts_(cuts),
        selection_(select_spans(run, limits.spans)),
        buckets_(density_buckets(summarised_tracks(run, selection_))) {}

  std::string write(const TrackPart& part) {
    const Trace& trace = run_.traces[part.trace];
    const std::int64_t shift = shift_to_begin(analysis_, part.trace);
    const std::vector<std::uint8_t> lane = lanes_of(trace, part.spans);
    Density density(analysis_.wall_ns, buckets_);
    Nanoseconds begin, duration;
    std::vector<std::uint32_t> name;
    std::vector<std::uint8_t> lanes, flags;
    std::string args;
    std::int64_t last = 0;
    std::uint32_t kept = 0;
    for (std::size_t k = 0; k < part.spans.size(); ++k) {
      const std::uint32_t i = part.spans[k];
      const std::int64_t at =
          std::max<std::int64_t>(wrapping_add(trace.spans.begin_ns[i], shift), 0);
      cuts_.spans += 1;
      if (!selection_.keeps(trace, i)) {
        density.add(at, trace.spans.duration_ns[i]);
        continue;
      }
      begin.add(at - last);
      last = std::max(last, at);
      duration.add(trace.spans.duration_ns[i]);
      name.push_back(name_of(part.trace, trace.spans.name[i]));
      lanes.push_back(lane[k]);
      flags.push_back(trace.spans.flags[i]);
      if (const std::string text = args_of(part.trace, i); !text.empty()) {
        args += fmt::format("{}[{},{}]", args.empty() ? "" : ",", kept, text);
      }
      kept += 1;
    }
    cuts_.spans_kept += kept;
    const std::uint8_t deepest = *std::max_element(lane.begin(), lane.end());
    return head(trace, trace.tracks[part.track]) +
           fmt::format(R"("lanes":{},"begin":{},"begin_far":{},"duration":{},"duration_far":{},)",
                       deepest + 1, begin.column(blobs_), begin.far(), duration.column(blobs_),
                       duration.far()) +
           fmt::format(R"("name_id":{},"lane":{},"flags":{},"args":[{}],"summarised":{}}})",
                       blobs_.add_narrow(name), blobs_.add(std::span<const std::uint8_t>(lanes)),
                       blobs_.add(std::span<const std::uint8_t>(flags)), args,
                       density.json(blobs_, selection_.below_ns));
  }

 private:
  static std::string head(const Trace& trace, const TrackInfo& track) {
    const std::string process =
        trace.process.command.empty() ? std::string() : trace.process.command.front();
    return fmt::format(R"({{"pid":{},"tid":{},"rank":{},"process":{},"name":{},"device":{},)",
                       trace.process.pid, track.tid != 0 ? fmt::format("{}", track.tid) : "null",
                       trace.process.rank ? fmt::format("{}", *trace.process.rank) : "null",
                       base::json_quote(process.substr(process.rfind('/') + 1)),
                       base::json_quote(track.name), is_device(track));
  }

  std::string args_of(std::size_t index, std::uint32_t span) {
    constexpr std::string_view kKey = "\"correlation\":";
    const Trace& trace = run_.traces[index];
    std::string text = args_json(trace, trace.span_args, span, limits_, cuts_);
    if (correlations_of_ != index || !correlations_) {
      std::uint64_t first = 0;
      for (std::size_t t = 0; t < index; ++t) first += run_.traces[t].spans.size();
      correlations_.emplace(trace, first);
      correlations_of_ = index;
    }
    const std::optional<std::uint64_t> number = correlations_->of(span);
    if (!number || text.find(kKey) != std::string::npos) return text;
    const std::string pair = fmt::format("{}{}", kKey, *number);
    if (cuts_.args_bytes + pair.size() > limits_.args_bytes) {
      cuts_.args += 1;
      return text;
    }
    cuts_.args_bytes += pair.size();
    return text.empty() ? "{" + pair + "}" : "{" + pair + "," + text.substr(1);
  }

  // The page's number of a trace's name, looked up once.
  std::uint32_t name_of(std::size_t trace, std::uint32_t name) {
    if (numbers_of_ != trace || numbers_.empty()) {
      numbers_of_ = trace;
      numbers_.assign(run_.traces[trace].names.size(), kNone);
    }
    if (numbers_[name] == kNone) numbers_[name] = names_.number(run_.traces[trace].names[name]);
    return numbers_[name];
  }

  const Run& run_;
  const Analysis& analysis_;
  const PageLimits& limits_;
  PageNames& names_;
  Blobs& blobs_;
  PageCuts& cuts_;
  Selection selection_;
  std::uint32_t buckets_;  // of a track's density
  std::size_t correlations_of_ = 0;
  std::optional<Correlations> correlations_;
  std::size_t numbers_of_ = 0;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace

std::string tracks_json(const Run& run, const Analysis& analysis, const PageLimits& limits,
                        PageNames& names, Blobs& blobs, PageCuts& cuts) {
  TrackWriter writer(run, analysis, limits, names, blobs, cuts);
  std::string out;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    for (const TrackPart& part : parts_of(run.traces[t], t)) {
      out += (out.empty() ? "" : ",") + writer.write(part);
    }
  }
  return "[" + out + "]";
}

}  // namespace genscope::report
