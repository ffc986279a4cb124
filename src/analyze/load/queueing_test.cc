#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "analyze/load/queueing.h"
#include "testing/random.h"

namespace genscope::stats {
namespace {

using Values = std::vector<double>;

Values uniforms(testing::Random& random, std::size_t n) {
  Values values(n);
  for (double& v : values) v = static_cast<double>(random.next() >> 11) * 0x1p-53;
  return values;
}

TEST(Queue, WaitsAsTheorySays) {
  testing::Random random(1);
  constexpr std::size_t kRequests = 200'000;
  for (const std::size_t servers : {std::size_t{1}, std::size_t{3}}) {
    const double rate = 0.35 * static_cast<double>(servers), mean = 2;
    const Values arrivals = poisson_schedule(uniforms(random, kRequests), rate);
    Values service = uniforms(random, kRequests);
    for (double& s : service) s = -mean * std::log1p(-s);
    const LoadResult got = *fcfs_queue(arrivals, service, servers);
    const double wait =
        std::accumulate(got.wait.begin(), got.wait.end(), 0.0) / static_cast<double>(kRequests);
    EXPECT_NEAR(wait / *queue_theory(rate, mean, servers)->mean_wait, 1, 0.1);
    EXPECT_NEAR(*got.throughput / rate, 1, 0.02);
  }
}

TEST(Queue, AStallIsInTheLatencyOfAllWhoWaited) {
  // One request a second of 0.1 s each; the third takes 10 s.
  Values arrivals(12), service(12, 0.1);
  std::iota(arrivals.begin(), arrivals.end(), 0.0);
  service[2] = 10;
  const LoadResult got = *fcfs_queue(arrivals, service, 1, 1.0);
  EXPECT_NEAR(got.latency[3], 9.1, 1e-9) << "from its own arrival, not from when the slot was free";
  EXPECT_NEAR(*got.slo_attainment, 3.0 / 12, 0.09);
}

TEST(Queue, RefusesWhatIsNone) {
  const Values two{0, 1};
  EXPECT_FALSE(fcfs_queue(two, two, 0));
  EXPECT_FALSE(fcfs_queue(Values{1, 0}, two, 1)) << "arrivals go forward";
  EXPECT_FALSE(fcfs_queue(two, Values{1, -1}, 1));
  EXPECT_FALSE(fcfs_queue(two, Values{1}, 1));
  EXPECT_FALSE(fcfs_queue({}, {}, 1));
  EXPECT_FALSE(load_result(two, two, Values{std::nan(""), 1}));
  EXPECT_TRUE(poisson_schedule(Values{0.5, 1.0}, 1).empty());
  EXPECT_TRUE(poisson_schedule(Values{0.5}, 0).empty());
  EXPECT_FALSE(fcfs_queue(Values{0}, Values{0}, 1)->throughput) << "no time passed";
  const QueueTheory overloaded = *queue_theory(1, 2, 2);
  EXPECT_FALSE(overloaded.mean_wait || overloaded.prob_wait);
  EXPECT_EQ(*queue_theory(0, 2)->mean_wait, 0);
  EXPECT_FALSE(queue_theory(-1, 2));
}

}  // namespace
}  // namespace genscope::stats
