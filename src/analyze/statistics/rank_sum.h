// The rank-sum statistic of Wilcoxon, Mann and Whitney: U, its exact null distribution and the
// normal approximation to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace genscope::stats {

// Sums of random subsets: probability[s - low] that `size` of the items, drawn without replacement,
// have the scores' sum s. For at most some thousand items of scores below twice their number.
struct SubsetSums {
  std::uint64_t low = 0;
  std::vector<double> probability;

  SubsetSums(std::span<const std::uint32_t> scores_ascending, std::size_t size);
  double at_most(double sum) const noexcept;
  double at_least(double sum) const noexcept;
};

// Two samples ranked as one; both sides sorted, finite and not empty.
struct RankSum {
  double u_before = 0;                // pairs with before > after, ties counted half
  double tie_sum = 0;                 // of t^3 - t over groups of t equal values
  std::size_t m = 0, n = 0;           // sizes of before and after
  std::vector<std::uint32_t> scores;  // doubled midranks of all, ascending; if pairs <= kExactPairs

  RankSum(std::span<const double> before_sorted, std::span<const double> after_sorted);
  bool exact() const noexcept { return !scores.empty(); }
  double p_exact() const;                // min(1, 2 min(P(U <= u), P(U >= u))); needs exact()
  double p_normal() const noexcept;      // corrected for ties and continuity
  double cliffs_delta() const noexcept;  // P(after > before) - P(after < before)
};

// Distribution of U for samples of m and n without ties (R's pwilcox and qwilcox).
class NullU {
 public:
  NullU(std::size_t m, std::size_t n);
  double cdf(double u) const noexcept;
  std::uint64_t quantile(double p) const noexcept;  // the smallest u with cdf(u) >= p

 private:
  SubsetSums sums_;
};

// The places k and m n + 1 - k, from 1, of the sorted differences that bound the interval.
struct IntervalRank {
  std::uint64_t k = 1;
  double confidence = 0;  // what the interval reaches
};
IntervalRank interval_rank(std::size_t m, std::size_t n, double confidence);

}  // namespace genscope::stats
