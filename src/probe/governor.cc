#include "probe/governor.h"

#include <algorithm>

namespace genscope::probe {

std::size_t Governor::add(std::int64_t period_ns) {
  Job job;
  job.period_ns = std::max<std::int64_t>(1, period_ns);
  jobs_.push_back(job);
  return jobs_.size() - 1;
}

void Governor::report(std::size_t job, std::int64_t cpu_ns) noexcept {
  Job& row = jobs_[job];
  row.costs[row.count++ % kWindow] = cpu_ns;
}

std::int64_t Governor::median(const Job& job) noexcept {
  const std::size_t n = std::min(job.count, kWindow);
  if (n == 0) return 0;
  std::array<std::int64_t, kWindow> sorted = job.costs;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(n / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(n));
  return *middle;
}

std::int64_t Governor::cost_ns(std::size_t job) const noexcept { return median(jobs_[job]); }

double Governor::share(const Job& job, std::uint32_t factor) const noexcept {
  if (job.count < kEnough) return 0;
  return static_cast<double>(median(job)) / (static_cast<double>(job.period_ns) * factor);
}

// All jobs of one period fall on one wake-up, and longer periods are multiples of shorter ones: the
// shortest decides how often the thread wakes.
double Governor::wake_share(const Job* changed, std::uint32_t factor) const noexcept {
  double shortest = 0;
  for (const Job& job : jobs_) {
    const double period =
        static_cast<double>(job.period_ns) * (&job == changed ? factor : job.factor);
    if (shortest == 0 || period < shortest) shortest = period;
  }
  return shortest > 0 ? static_cast<double>(wake_ns_) / shortest : 0;
}

double Governor::total() const noexcept {
  double sum = wake_share(nullptr, 1);
  for (const Job& job : jobs_) sum += share(job, job.factor);
  return sum;
}

Governor::Change Governor::decide() noexcept {
  const double now = total();
  Job* pick = nullptr;
  if (now > budget_) {
    for (Job& job : jobs_) {
      if (job.factor >= kMaxFactor || job.count == 0) continue;
      if (pick == nullptr || share(job, job.factor) > share(*pick, pick->factor)) pick = &job;
    }
    if (pick == nullptr || share(*pick, pick->factor) <= 0) return {};
    pick->factor *= 2;
    return {true, static_cast<std::size_t>(pick - jobs_.data()), pick->factor, true};
  }
  for (Job& job : jobs_) {
    if (job.factor == 1) continue;
    // Only if it would stay well under the budget, so that the two rules do not chase each other.
    const double faster = now - share(job, job.factor) + share(job, job.factor / 2) -
                          wake_share(nullptr, 1) + wake_share(&job, job.factor / 2);
    if (faster > budget_ * 0.8) continue;
    if (pick == nullptr || job.factor > pick->factor) pick = &job;
  }
  if (pick == nullptr) return {};
  pick->factor /= 2;
  return {true, static_cast<std::size_t>(pick - jobs_.data()), pick->factor, false};
}

}  // namespace genscope::probe
