// Threads that come and go: nothing is lost, every thread has its row, memory stays flat.
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

// `total` threads, `at_once` alive at a time; each records `spans` spans with its number.
void churn(std::size_t total, std::size_t at_once, std::size_t spans) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.buffer_bytes = 64 << 20;
  {
    const Session session("churn", options);
    for (std::size_t done = 0; done < total;) {
      std::vector<std::thread> burst;
      for (std::size_t i = 0; i < at_once && done < total; ++i, ++done) {
        burst.emplace_back([=] {
          name_thread("thread " + std::to_string(done));
          for (std::size_t k = 0; k < spans; ++k) {
            GENSCOPE_STAGE("work", GENSCOPE_ARG("thread", done));
          }
        });
      }
      for (std::thread& t : burst) t.join();
    }
    EXPECT_GE(recorder_stats().threads, total);
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  std::map<std::string, std::size_t> per_thread;
  for (const std::uint32_t s : spans_named(trace, "work")) {
    per_thread[trace.tracks[trace.spans.track[s]].name]++;
  }
  ASSERT_EQ(per_thread.size(), total);
  for (std::size_t i = 0; i < total; ++i) {
    ASSERT_EQ(per_thread["thread " + std::to_string(i)], spans) << i;
  }
  for (std::size_t a = 0; a < trace.span_args.size(); ++a) {
    const std::uint32_t track = trace.spans.track[trace.span_args.owner[a]];
    ASSERT_EQ(trace.tracks[track].name, "thread " + std::to_string(trace.span_args.bits[a]));
  }
}

TEST(Churn, AThousandThreadsOneByOne) { churn(1000, 1, 100); }
TEST(Churn, AThousandThreadsInBursts) { churn(1000, 50, 100); }
TEST(Churn, FiveHundredThreadsAtOnce) { churn(scaled(500), scaled(500), 10); }

std::size_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  in >> size >> resident;
  return resident * 4096;
}

TEST(Churn, MemoryStaysFlat) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.buffer_bytes = 8 << 20;
  const Session session("flat", options);
  const auto some = [](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      std::thread([] {
        for (int k = 0; k < 200; ++k) {
          const Stage stage("work", {{"k", k}});
        }
      }).join();
    }
  };
  some(scaled(1000));
  const std::size_t before = resident_bytes();
  some(scaled(4000));
  const std::size_t after = resident_bytes();
  if (!kSanitized) {
    EXPECT_LT(after, before + (12u << 20));
  }
}

}  // namespace
}  // namespace genscope::testing
