// Bytes first, for that is cheap and settles most pairs; pixels only where they differ.
#include "bench/quality/pair.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "analyze/quality/quality.h"
#include "base/file.h"
#include "bench/quality/frames.h"

namespace genscope::bench {
namespace {

Result<bool> equal_bytes(const std::string& a, const std::string& b) {
  const Result<base::MappedFile> first = base::MappedFile::open(a);
  if (!first) return first.error();
  const Result<base::MappedFile> second = base::MappedFile::open(b);
  if (!second) return second.error();
  const auto x = first->bytes(), y = second->bytes();
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin());
}

// Sums over the frames of a pair.
struct FrameSums {
  double squares = 0, ssim = 0;
  std::uint64_t samples = 0, frames = 0, with_ssim = 0, blank_before = 0, blank_after = 0;
  // What is wrong, or empty.
  std::string add(const Image& a, const Image& b) {
    if (a.width != b.width || a.height != b.height || a.channels != b.channels) {
      return fmt::format("the sizes differ: {} x {} with {} channels, and {} x {} with {}", a.width,
                         a.height, a.channels, b.width, b.height, b.channels);
    }
    const auto difference = stats::pixel_difference(a.samples, b.samples);
    if (!difference) return "an image is empty";
    squares += difference->mse * static_cast<double>(a.samples.size());
    samples += a.samples.size();
    ++frames;
    if (const auto alike = stats::ssim(a.samples, b.samples, a.width, a.height, a.channels)) {
      ssim += *alike;
      ++with_ssim;
    }
    return "";
  }
};

}  // namespace

void compare_files(const std::string& before, const std::string& after, QualityPair& pair) {
  const Result<bool> same = equal_bytes(before, after);
  if (!same) {
    pair.absent = same.error().message;
    if (pair.absent.find(after) != pair.absent.npos) pair.after["unreadable"] = 1;
    return;
  }
  pair.same_bytes = *same;
  if (*same) return;
  const Result<std::unique_ptr<Frames>> a = open_frames(before);
  if (!a) {
    pair.absent = a.error().message;
    return;
  }
  const auto unreadable = [&](const Error& error) {
    pair.absent = error.message;
    // What cannot be read at all on this machine says nothing about who made it.
    if (error.code != ErrorCode::unsupported) pair.after["unreadable"] = 1;
  };
  const Result<std::unique_ptr<Frames>> b = open_frames(after);
  if (!b) return unreadable(b.error());
  FrameSums sums;
  for (Image x, y;;) {
    const Result<bool> more_a = (*a)->next(x);
    if (!more_a) {
      pair.absent = more_a.error().message;
      return;
    }
    const Result<bool> more_b = (*b)->next(y);
    if (!more_b) return unreadable(more_b.error());
    if (*more_a != *more_b) {
      pair.absent = fmt::format("one video ends after {} frames, the other goes on", sums.frames);
      return;
    }
    if (!*more_a) break;
    sums.blank_before += is_blank(x) ? 1 : 0;
    sums.blank_after += is_blank(y) ? 1 : 0;
    pair.absent = sums.add(x, y);
    if (!pair.absent.empty()) return;
  }
  if (sums.frames == 0) {
    pair.absent = fmt::format("{} has no frames", before);
    return;
  }
  if (sums.blank_after == sums.frames && sums.blank_before < sums.frames) pair.after["blank"] = 1;
  const double mse = sums.squares / static_cast<double>(sums.samples);
  pair.psnr_db =
      mse > 0 ? 10 * std::log10(255.0 * 255.0 / mse) : std::numeric_limits<double>::infinity();
  if (sums.with_ssim > 0) pair.ssim = sums.ssim / static_cast<double>(sums.with_ssim);
}

}  // namespace genscope::bench
