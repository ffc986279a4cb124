#include "report/page/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace genscope::report {
namespace {

constexpr std::uint64_t kMostBuckets = 32'768, kFewestBuckets = 64;  // of a track's finest level
constexpr std::uint64_t kPageBuckets = 1 << 19;  // of all finest levels: 3 MiB before compression
constexpr int kLevels = 3;
constexpr std::uint32_t kCoarser = 8;

}  // namespace

Selection select_spans(const Run& run, std::uint64_t most) {
  std::uint64_t all = 0;
  for (const Trace& trace : run.traces) all += trace.spans.size();
  if (all <= most) return {};
  std::vector<std::int64_t> durations;
  durations.reserve(all);
  for (const Trace& trace : run.traces) {
    durations.insert(durations.end(), trace.spans.duration_ns.begin(),
                     trace.spans.duration_ns.end());
  }
  const auto nth = durations.begin() + static_cast<std::ptrdiff_t>(all - most);
  std::nth_element(durations.begin(), nth, durations.end());
  return {std::max<std::int64_t>(*nth + 1, 1)};  // of equally long ones none, rather than all
}

std::uint32_t density_buckets(std::uint64_t tracks) noexcept {
  const std::uint64_t share = std::bit_floor(kPageBuckets / std::max<std::uint64_t>(tracks, 1));
  return static_cast<std::uint32_t>(std::clamp(share, kFewestBuckets, kMostBuckets));
}

std::uint64_t summarised_tracks(const Run& run, const Selection& selection) {
  if (selection.below_ns == 0) return 0;
  std::uint64_t count = 0;
  for (const Trace& trace : run.traces) {
    std::vector<bool> cut(trace.tracks.size());
    for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
      if (!selection.keeps(trace, i)) cut[trace.spans.track[i]] = true;
    }
    count += static_cast<std::uint64_t>(std::count(cut.begin(), cut.end(), true));
  }
  return count;
}

// Not before there is something to count: most tracks have nothing, and there may be many.
void Density::make_levels() {
  std::uint32_t buckets = buckets_;
  for (int i = 0; i < kLevels && buckets > 0; ++i, buckets /= kCoarser) {
    Level level;
    level.bucket_ns = std::max<std::int64_t>(wall_ns_ / buckets + 1, 1);
    level.count.resize(buckets);
    level.busy_ns.resize(buckets);
    levels_.push_back(std::move(level));
  }
}

void Density::add(std::int64_t begin_ns, std::int64_t duration_ns) {
  if (spans_ == 0) make_levels();
  spans_ += 1;
  for (Level& level : levels_) {
    const auto last = static_cast<std::int64_t>(level.count.size()) - 1;
    const std::int64_t bucket = std::clamp<std::int64_t>(begin_ns / level.bucket_ns, 0, last);
    const auto i = static_cast<std::size_t>(bucket);
    level.count[i] += 1;
    level.busy_ns[i] += static_cast<double>(std::max<std::int64_t>(duration_ns, 0));
  }
}

std::string Density::json(Blobs& blobs, std::int64_t below_ns) const {
  if (spans_ == 0) return "null";
  // In steps of 1/255, more than an eye tells apart: half the bytes after compression. Rounded up,
  // so that what is there can be seen.
  constexpr double kSteps = 255, kStep = 65535 / kSteps;
  std::string levels;
  for (const Level& level : levels_) {
    std::vector<std::uint16_t> busy;
    for (const double ns : level.busy_ns) {
      const double share = std::min(ns / static_cast<double>(level.bucket_ns), 1.0);
      busy.push_back(static_cast<std::uint16_t>(std::ceil(share * kSteps) * kStep));
    }
    levels += fmt::format(R"({}{{"bucket_ns":{},"count":{},"busy":{}}})", levels.empty() ? "" : ",",
                          level.bucket_ns, blobs.add(std::span<const std::uint32_t>(level.count)),
                          blobs.add(std::span<const std::uint16_t>(busy)));
  }
  return fmt::format(R"({{"spans":{},"below_ns":{},"levels":[{}]}})", spans_, below_ns, levels);
}

}  // namespace genscope::report
