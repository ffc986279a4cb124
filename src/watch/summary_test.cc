#include "watch/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/units.h"
#include "trace/sample_names.h"

namespace genscope::watch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using testing::kGiB;

EntityRow& entity(Analysis& analysis, EntityKind kind, const std::string& name) {
  EntityRow& row = analysis.telemetry.entities.emplace_back();
  row.entity = {kind, name, name, {}};
  return row;
}

SeriesRow& series(EntityRow& row, const char* metric, double value) {
  SeriesRow& one = row.series.emplace_back();
  one.metric = trace::metric_of(metric, nullptr);
  one.count = 1;
  one.min = one.max = one.mean = one.first = one.last = value;
  return one;
}

TEST(Summary, TakesTheKernelsPeakOnlyAboveOurOwn) {
  Ending ending;
  ending.usage.ru_maxrss = 1024;
  ending.own_maxrss_kib = 1024;
  EXPECT_THAT(summary_text(nullptr, ending, "x", "", Look()), HasSubstr("peak n/a resident"));
  ending.usage.ru_maxrss = 2048;
  EXPECT_THAT(summary_text(nullptr, ending, "x", "", Look()), HasSubstr("peak 2.00 MiB resident"));
}

TEST(Summary, SaysWhatTheAnalysisSays) {
  Analysis analysis;
  analysis.wall_ns = 10'000'000'000;
  analysis.telemetry.entities.reserve(3);
  EntityRow& tree = entity(analysis, EntityKind::process_tree, "tree");
  series(tree, "cpu_ns", 25e9);
  series(tree, "rss_bytes", 3 * kGiB);
  series(tree, "rss_anon_bytes", 2 * kGiB);
  series(tree, "io_read_bytes", 5 * kGiB);
  series(tree, "processes", 4);
  series(entity(analysis, EntityKind::machine, "m"), "cpu_count", 8);
  analysis.resources.host.cpus = 8;
  EntityRow& gpu = entity(analysis, EntityKind::gpu, "NVIDIA H100");
  series(gpu, "power_watts", 300);
  SeriesRow& throttle = series(gpu, "throttle_reasons", 4);
  throttle.bits = 4;
  throttle.flagged_seconds = throttle.covered_seconds = 10;
  series(gpu, "memory_used_bytes", 20 * kGiB);
  series(gpu, "memory_total_bytes", 80 * kGiB);
  gpu.energy = Energy{.joules = 3000, .method = EnergyMethod::integrated, .note = ""};
  analysis.recorder.probe_cpu_ns = 20'000'000;
  Ending ending;
  ending.exit_code = 139;
  ending.wall_seconds = 11;
  ending.usage.ru_utime.tv_sec = 24;
  ending.left = {{42, "server\x1b"}};
  ending.left_count = 3;
  EXPECT_EQ(summary_text(&analysis, ending, "python gen.py", "",
                         {.width = 120, .color = false, .unicode = true}),
            "genscope: python gen.py  exit 139 (SIGSEGV)\n"
            "  wall      10.0 s\n"
            "  CPU       25.0 s, 2.50 cores on average of 8\n"
            "  memory    peak 3.00 GiB resident, 2.00 GiB anonymous\n"
            "  I/O       read 5.00 GiB, written n/a\n"
            "  energy    CPU n/a, GPUs 3000 J from power\n"
            "  processes 4 seen at once\n"
            "            3 still run: 42 server?, ...\n"
            "  GPU 0     NVIDIA H100  peak 20.0/80.0 GiB  busy n/a  300 W  n/a  3000 J from power"
            "  power cap 100% of the time\n"
            "  probes    20.0 ms of CPU, 0.20% of a core\n");
}

TEST(Summary, OfARunThatWasNotRecordedSaysWhatTheKernelSaid) {
  Ending ending;
  ending.wall_seconds = 2;
  ending.usage.ru_utime.tv_sec = 1;
  ending.usage.ru_maxrss = 2048;
  EXPECT_EQ(unrecorded_text(ending),
            "Took 2.00 s.\n\n  memory  peak 2.00 MiB\n  CPU     0.5 cores\n");
  ending.exit_code = 3;
  EXPECT_THAT(unrecorded_text(ending), StartsWith("Failed (exit 3) after 2.00 s.\n"));
  ending.exit_code = 137;
  EXPECT_THAT(unrecorded_text(ending), StartsWith("Killed (SIGKILL) after 2.00 s."));
}

TEST(Summary, WithoutAGpuTheReasonIsGiven) {
  const std::string text = summary_text(nullptr, Ending(), "x", "no library", Look());
  EXPECT_THAT(text, HasSubstr("GPU       n/a: no library"));
  EXPECT_THAT(text, HasSubstr("peak n/a resident"));
  EXPECT_THAT(summary_text(nullptr, Ending(), "x", "", Look()), Not(HasSubstr("GPU")));
}

}  // namespace
}  // namespace genscope::watch
