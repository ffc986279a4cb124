// Order statistics of the slopes of all pairs of points.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace genscope::stats {

struct Point {
  double x = 0, y = 0;
};

// The slopes (y_j - y_i) / (x_j - x_i) of the pairs with x_i < x_j. Points are sorted by x, then y.
class Slopes {
 public:
  // `count`: of pairs with different x; above 0.
  Slopes(std::span<const Point> points, std::uint64_t count);

  // The slopes at `places` (from 0, ascending) of the sorted ones, in the same order.
  std::vector<double> at(std::span<const std::uint64_t> places);

  static constexpr std::uint64_t kListed = 1 << 18;  // up to so many slopes, all are listed

 private:
  // Slopes on either side of a value.
  struct Counts {
    double value = 0;
    std::uint64_t below = 0, at_most = 0;
  };
  // The wanted slope is between low and high, or it is `found`.
  struct Bracket {
    double low, high;
    std::uint64_t up_to_low, below_high;  // slopes <= low, slopes < high
    std::optional<double> found;
    std::uint64_t inside() const noexcept {
      return below_high > up_to_low ? below_high - up_to_low : 0;
    }
  };
  std::vector<double> list_all() const;
  void draw_sample();
  double select(std::uint64_t place);
  Bracket first_bracket(std::uint64_t place);
  void bound(Bracket& bracket, std::uint64_t place);
  void narrow(Bracket& bracket, std::uint64_t place, double& margin);
  void cut(Bracket& bracket, double pivot, std::uint64_t place);
  static void keep_side(Bracket& bracket, const Counts& counts, std::uint64_t place);
  Counts count(double slope);
  void list(const Bracket& bracket);
  double listed(std::uint64_t place);

  std::span<const Point> points_;
  std::uint64_t count_;
  Point origin_;                             // of residuals
  std::vector<double> sample_;               // slopes of random pairs, sorted
  std::vector<Counts> known_;                // what was counted, for the next place
  std::vector<double> residuals_, scratch_;  // of count()
  std::vector<double> listed_;               // slopes of the last bracket that was listed
  std::uint64_t listed_from_ = 0;            // place of its least
};

}  // namespace genscope::stats
