// Two files of the same prompt and seed, compared.
#pragma once

#include <string>

#include "genscope/bench.h"

namespace genscope::bench {

// Fills same_bytes, psnr_db, ssim or absent. Frame by frame: the mean square error over all frames,
// the mean SSIM of all. An "after" that cannot be read, or has one colour, where "before" does not:
// after["unreadable"] or after["blank"] is 1.
void compare_files(const std::string& before, const std::string& after, QualityPair& pair);

// Runs the user's metric and fills pair.before and pair.after; what went wrong, or empty.
std::string run_user_metric(const QualityOptions& options, const std::string& before,
                            const std::string& after, QualityPair& pair);

// What the pairs of "before" with itself show: how alike two runs of the same side are.
struct OwnDifference {
  std::uint64_t compared = 0, differ = 0;
  double ssim_sum = 0;  // over `compared`; equal ones count as 1
};

// Fills verdict and reason. O(pairs).
void judge_quality(const QualityOptions& options, const OwnDifference& own, QualityResult& result);

}  // namespace genscope::bench
