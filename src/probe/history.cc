// Adding is constant: a sample is merged into the open bucket of the first level, and when eight
// have come the bucket goes up a level, which happens once in eight, once in sixty-four, and so on.
// Reading takes the finest level that still goes back far enough, and beside it the open buckets of
// the levels below, so the newest samples are in every answer; then neighbours are merged to the
// number of points that was asked for.
#include "probe/history.h"

#include <algorithm>

namespace genscope::probe {

History::History(std::int64_t gap_ns) : gap_ns_(gap_ns), data_(std::make_unique<Data>()) {}

std::uint32_t History::ms(std::int64_t at_ns) const noexcept {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>((at_ns - epoch_ns_) / 1'000'000, 0, 0xFFFFFFFF));
}

std::int64_t History::ns(std::uint32_t at_ms) const noexcept {
  return epoch_ns_ + std::int64_t{at_ms} * 1'000'000;
}

History::Bucket History::bucket_of(const Sample& sample, const Sample* before) const noexcept {
  Bucket bucket;
  bucket.end_ms = ms(sample.at_ns);
  bucket.begin_ms = bucket.end_ms;
  if (before != nullptr && sample.at_ns - before->at_ns <= gap_ns_) {
    bucket.begin_ms = ms(before->at_ns);
  }
  bucket.valid_ms = bucket.end_ms - bucket.begin_ms;
  bucket.count = 1;
  bucket.min = bucket.max = sample.value;
  bucket.sum = bucket.valid_ms > 0 ? sample.value * bucket.valid_ms : sample.value;
  return bucket;
}

void History::merge(Bucket& into, const Bucket& from) noexcept {
  if (from.count == 0) return;
  if (into.count == 0) {
    into = from;
    return;
  }
  into.min = std::min(into.min, from.min);
  into.max = std::max(into.max, from.max);
  into.begin_ms = std::min(into.begin_ms, from.begin_ms);
  into.end_ms = std::max(into.end_ms, from.end_ms);
  // A bucket of no duration has a plain sum: it weighs nothing beside one that has.
  if (into.valid_ms == 0 && from.valid_ms > 0) {
    into.sum = from.sum;
  } else if (from.valid_ms > 0 || into.valid_ms == 0) {
    into.sum += from.sum;
  }
  into.valid_ms += from.valid_ms;
  into.count += from.count;
}

void History::add(std::int64_t at_ns, double value) noexcept {
  if (size_ == 0) epoch_ns_ = at_ns;
  const Sample sample{at_ns, value};
  const Sample* const before = size_ > 0 ? &data_->samples[(size_ - 1) % kSamples] : nullptr;
  Bucket part = bucket_of(sample, before);
  data_->samples[size_++ % kSamples] = sample;
  for (Level& level : data_->levels) {
    merge(level.open, part);
    if (++level.parts < kFanIn) break;
    part = level.open;
    level.ring[level.size++ % kBuckets] = part;
    level.open = Bucket();
    level.parts = 0;
  }
}

std::vector<History::Bucket> History::collect(std::size_t level, std::int64_t since_ns) const {
  std::vector<Bucket> found;
  const auto keep = [&](const Bucket& bucket) {
    if (bucket.count > 0 && ns(bucket.end_ms) >= since_ns) found.push_back(bucket);
  };
  if (level == 0) {
    const std::uint64_t first = size_ > kSamples ? size_ - kSamples : 0;
    for (std::uint64_t i = first; i < size_; ++i) {
      const Sample* before = i > first ? &data_->samples[(i - 1) % kSamples] : nullptr;
      keep(bucket_of(data_->samples[i % kSamples], before));
    }
    return found;
  }
  const Level& from = data_->levels[level - 1];
  const std::uint64_t first = from.size > kBuckets ? from.size - kBuckets : 0;
  for (std::uint64_t i = first; i < from.size; ++i) keep(from.ring[i % kBuckets]);
  // What the lower levels have not handed up yet, coarsest (oldest) first.
  for (std::size_t i = level; i-- > 0;) keep(data_->levels[i].open);
  return found;
}

Sampler::Point History::point(const Bucket& bucket) const noexcept {
  const double weight = bucket.valid_ms > 0 ? bucket.valid_ms : bucket.count;
  return {ns(bucket.begin_ms), ns(bucket.end_ms), bucket.min, bucket.max, bucket.sum / weight};
}

std::vector<Sampler::Point> History::read(std::int64_t since_ns, std::size_t points) const {
  std::vector<Sampler::Point> read;
  if (size_ == 0 || points == 0) return read;
  std::size_t level = 0;
  // Finest level that still holds `since_ns`, or the coarsest.
  if (size_ > kSamples && data_->samples[size_ % kSamples].at_ns > since_ns) {
    for (level = 1; level < kLevels; ++level) {
      const Level& from = data_->levels[level - 1];
      if (from.size <= kBuckets || ns(from.ring[from.size % kBuckets].begin_ms) <= since_ns) break;
    }
  }
  const std::vector<Bucket> found = collect(level, since_ns);
  const std::size_t width = (found.size() + points - 1) / points;
  for (std::size_t i = 0; i < found.size(); i += width) {
    Bucket merged;
    for (std::size_t k = i; k < std::min(i + width, found.size()); ++k) merge(merged, found[k]);
    read.push_back(point(merged));
  }
  return read;
}

}  // namespace genscope::probe
