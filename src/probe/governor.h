// The governor: keeps what sampling costs under its budget.
//
// Each job (a probe at a tier) reports the CPU time of each reading. When all of them together, at
// their present rates, would take more of a core than the budget, the dearest is read half as
// often, down to a 64th; when there is room again, the one that was slowed most is given back.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace genscope::probe {

class Governor {
 public:
  static constexpr std::uint32_t kMaxFactor = 64;

  explicit Governor(double budget_ratio) : budget_(budget_ratio) {}

  // The number of the job. Before the first report.
  std::size_t add(std::int64_t period_ns);
  // `cpu_ns` of one reading. No allocation.
  void report(std::size_t job, std::int64_t cpu_ns) noexcept;
  // CPU that each wake-up costs besides the readings.
  void report_wake(std::int64_t cpu_ns) noexcept { wake_ns_ = (wake_ns_ * 7 + cpu_ns) / 8; }

  struct Change {
    bool changed = false;
    std::size_t job = 0;
    std::uint32_t factor = 1;  // now
    bool slower = false;
  };
  // At most one change a call; call it about once a second.
  Change decide() noexcept;

  std::uint32_t factor(std::size_t job) const noexcept { return jobs_[job].factor; }
  std::int64_t period_ns(std::size_t job) const noexcept {
    return jobs_[job].period_ns * jobs_[job].factor;
  }
  // Median CPU time of the last readings; 0: none yet.
  std::int64_t cost_ns(std::size_t job) const noexcept;
  // Share of a core that all jobs take at their present rates.
  double total() const noexcept;

 private:
  static constexpr std::size_t kWindow = 15;
  static constexpr std::size_t kEnough = 5;  // readings before a job counts: the first are cold
  struct Job {
    std::int64_t period_ns = 0;
    std::uint32_t factor = 1;
    std::array<std::int64_t, kWindow> costs{};
    std::size_t count = 0;
  };
  double share(const Job& job, std::uint32_t factor) const noexcept;
  double wake_share(const Job* changed, std::uint32_t factor) const noexcept;
  static std::int64_t median(const Job& job) noexcept;

  double budget_;
  std::int64_t wake_ns_ = 0;
  std::vector<Job> jobs_;
};

}  // namespace genscope::probe
