// U comes from one merge of the two sorted samples: at each group of equal values the side's
// members beat all of the other side that went before, and tie with those in the group. O(m + n).
//
// Its exact distribution under "no difference" is that of the rank sum of m items drawn from all:
// the number of subsets of each size with each sum, counted by the dynamic programme of SubsetSums.
// With ties the items are the doubled midranks, whole numbers, so the distribution given the ties
// is exact too. The cost is items * size * sum, which kExactPairs bounds at some 25 million
// additions.
//
// Counts are kept as doubles and divided at the end: only positive terms are added, so no digits
// cancel, and counts beyond 2^53 lose nothing that a probability would show.
#include "analyze/statistics/rank_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analyze/statistics/normal.h"
#include "analyze/statistics/statistics.h"

namespace genscope::stats {
namespace {

std::vector<std::uint32_t> first_ranks(std::size_t count) {
  std::vector<std::uint32_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 1u);
  return ranks;
}

double pairs_of(std::size_t m, std::size_t n) noexcept {
  return static_cast<double>(m) * static_cast<double>(n);
}

bool few_pairs(std::size_t m, std::size_t n) noexcept {
  return pairs_of(m, n) <= static_cast<double>(kExactPairs);
}

}  // namespace

// ways[c][s]: subsets of c of the items seen so far with sum s. Sums of positive terms only, so the
// relative error stays near that of one addition. An item is skipped for the sizes that could no
// longer grow to `size`.
SubsetSums::SubsetSums(std::span<const std::uint32_t> scores, std::size_t size) {
  const std::size_t items = scores.size();
  std::uint64_t high = 0;
  for (std::size_t i = 0; i < size; ++i) {
    low += scores[i];
    high += scores[items - 1 - i];
  }
  const auto width = static_cast<std::size_t>(high + 1);
  std::vector<std::vector<double>> ways(size + 1);
  for (auto& row : ways) row.assign(width, 0);
  ways[0][0] = 1;
  for (std::size_t i = 0; i < items; ++i) {
    const std::size_t score = scores[i];
    const std::size_t least = size > items - i - 1 ? size - (items - i - 1) : 1;
    for (std::size_t c = std::min(size, i + 1); c >= std::max<std::size_t>(least, 1); --c) {
      const double* const from = ways[c - 1].data();
      double* const to = ways[c].data() + score;
      // c - 1 earlier items have scores of at most this one's.
      const std::size_t end = std::min(width - score, (c - 1) * score + 1);
      for (std::size_t s = 0; s < end; ++s) to[s] += from[s];
    }
  }
  const auto& all = ways[size];
  probability.assign(all.begin() + static_cast<std::ptrdiff_t>(low), all.end());
  const double total = std::accumulate(probability.begin(), probability.end(), 0.0);
  for (double& p : probability) p /= total;
}

double SubsetSums::at_most(double sum) const noexcept {
  double p = 0;
  for (std::size_t i = 0; i < probability.size() && static_cast<double>(low + i) <= sum; ++i) {
    p += probability[i];
  }
  return std::min(p, 1.0);
}

double SubsetSums::at_least(double sum) const noexcept {
  double p = 0;
  for (std::size_t i = probability.size(); i > 0 && static_cast<double>(low + i - 1) >= sum; --i) {
    p += probability[i - 1];
  }
  return std::min(p, 1.0);
}

RankSum::RankSum(std::span<const double> before, std::span<const double> after)
    : m(before.size()), n(after.size()) {
  const bool keep_scores = few_pairs(m, n);
  double u = 0;
  std::size_t i = 0, j = 0;
  while (i < m || j < n) {
    const double value = i == m ? after[j] : j == n ? before[i] : std::min(before[i], after[j]);
    const std::size_t i0 = i, j0 = j;
    while (i < m && before[i] == value) ++i;
    while (j < n && after[j] == value) ++j;
    const auto mine = static_cast<double>(i - i0), theirs = static_cast<double>(j - j0);
    u += mine * (static_cast<double>(j0) + theirs / 2);
    const double tied = mine + theirs;
    tie_sum += tied * tied * tied - tied;
    // Ranks i0 + j0 + 1 to i + j; their mean, doubled.
    if (keep_scores) scores.resize(i + j, static_cast<std::uint32_t>(i0 + j0 + 1 + i + j));
  }
  u_before = u;
}

double RankSum::p_exact() const {
  const std::size_t smaller = std::min(m, n);
  const double u = m <= n ? u_before : pairs_of(m, n) - u_before;
  const SubsetSums sums(scores, smaller);
  // The doubled rank sum is 2 u + s (s + 1), a whole number.
  const double sum = 2 * u + pairs_of(smaller, smaller + 1);
  return std::min(1.0, 2 * std::min(sums.at_most(sum), sums.at_least(sum)));
}

double RankSum::p_normal() const noexcept {
  const double pairs = pairs_of(m, n);
  const auto all = static_cast<double>(m + n);
  const double variance = pairs / 12 * ((all + 1) - tie_sum / (all * (all - 1)));
  if (!(variance > 0)) return 1;
  const double distance = std::max(0.0, std::fabs(u_before - pairs / 2) - 0.5);
  return std::min(1.0, 2 * normal_cdf(-distance / std::sqrt(variance)));
}

double RankSum::cliffs_delta() const noexcept { return 1 - 2 * (u_before / pairs_of(m, n)); }

NullU::NullU(std::size_t m, std::size_t n) : sums_(first_ranks(m + n), std::min(m, n)) {}

double NullU::cdf(double u) const noexcept {
  return sums_.at_most(u + static_cast<double>(sums_.low));
}

std::uint64_t NullU::quantile(double p) const noexcept {
  const double wanted = p - 4 * std::numeric_limits<double>::epsilon();
  double reached = 0;
  for (std::size_t u = 0; u < sums_.probability.size(); ++u) {
    reached += sums_.probability[u];
    if (reached >= wanted) return u;
  }
  return sums_.probability.size() - 1;
}

IntervalRank interval_rank(std::size_t m, std::size_t n, double confidence) {
  const double tail = (1 - confidence) / 2;
  IntervalRank rank;
  if (few_pairs(m, n)) {
    const NullU null(m, n);
    rank.k = std::max<std::uint64_t>(1, null.quantile(tail));
    rank.confidence = 1 - 2 * null.cdf(static_cast<double>(rank.k) - 1);
  } else {
    const double middle = pairs_of(m, n) / 2;
    const double sigma = std::sqrt(pairs_of(m, n) * static_cast<double>(m + n + 1) / 12);
    const double k = std::floor(middle + normal_quantile(tail) * sigma);
    rank.k = static_cast<std::uint64_t>(std::max(1.0, k));
    rank.confidence = 1 - 2 * normal_cdf((static_cast<double>(rank.k) - 0.5 - middle) / sigma);
  }
  rank.confidence = std::max(0.0, rank.confidence);
  return rank;
}

}  // namespace genscope::stats
