// The text styles of Inferix and of training monitors, letter by letter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <genscope/compat/text_styles.h>

#include "analyze/testing/samples.h"
#include "report/testing/sample.h"
#include "testing/units.h"

namespace genscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using testing::kMs;

double mb(double megabytes) { return megabytes * 1024 * 1024; }

std::string styled(const Run& run, TextStyle style) {
  const Analysis analysis = analyze(run);
  return testing::written(
      [&](const Sink& sink) { report_text(run, analysis, {}, style, {}, sink); });
}

TEST(TextStyle, PerformanceSummaryIsDocument004s) {
  testing::TraceBuilder t;
  const auto load = t.span("load_ground_truth", SpanKind::load, 0, 396 * kMs);
  const auto optimization = t.span("optimization", SpanKind::stage, 396 * kMs, 2361 * kMs);
  const auto inner =
      t.span("inner", SpanKind::stage, 400 * kMs, 1000 * kMs, {.parent = optimization});
  t.span("step", SpanKind::step, 400 * kMs, 100 * kMs, {.parent = inner});
  t.span("save \x1b[31m to a folder with a rather long name", SpanKind::stage, 2757 * kMs, 1 * kMs);
  t.args(
      load,
      {{"cpu_delta_bytes", mb(76.9)}, {"gpu_delta_bytes", mb(0.8)}, {"gpu_peak_bytes", mb(1.7)}});
  t.args(optimization,
         {{"cpu_delta_bytes", mb(40.9)}, {"gpu_delta_bytes", 0.0}, {"gpu_peak_bytes", mb(5.9)}});
  EXPECT_EQ(
      styled(testing::make_run(t.trace()), TextStyle::performance_summary),
      "==========================================================================================\n"
      "PERFORMANCE SUMMARY\n"
      "==========================================================================================\n"
      "Operation                      Time (s)     CPU (MB)        GPU (MB)        GPU Peak\n"
      "------------------------------------------------------------------------------------------\n"
      "load_ground_truth                   0.396          +76.9           +0.8         1.7\n"
      "optimization                        2.361          +40.9           +0.0         5.9\n"
      "inner                               1.000            n/a            n/a         n/a\n"
      "save \\x1b[31m t\u2026ther long name      0.001            n/a            n/a         n/a\n"
      "------------------------------------------------------------------------------------------\n"
      "TOTAL                               2.758s\n"
      "=========================================================================================="
      "\n");
}

TEST(TextStyle, AggregateStatisticsAreDocument004s) {
  testing::TraceBuilder t;
  const auto session = t.span("run", SpanKind::session, 0, 30'000 * kMs);
  std::int64_t at = 0;
  const auto repeat = [&](const char* name, double first, double second, double rest) {
    for (int i = 0; i < 150; ++i) {
      const double seconds = i == 0 ? first : i == 1 ? second : rest / 148;
      const auto ns = static_cast<std::int64_t>(seconds * 1e9 + 0.5);
      t.span(name, SpanKind::stage, at, ns, {.parent = session});
      at += ns;
    }
  };
  repeat("batch_forward", 0.425, 0.085, 14.724);
  repeat("batch_backward", 0.112, 0.048, 8.291);
  t.span("once", SpanKind::stage, at, kMs, {.parent = session});
  EXPECT_EQ(
      styled(testing::make_run(t.trace()), TextStyle::aggregate_statistics),
      "==========================================================================================\n"
      "AGGREGATE STATISTICS (for repeated operations)\n"
      "==========================================================================================\n"
      "Operation                      Count    Total (s)    Mean (s)     Min (s)      Max (s)\n"
      "------------------------------------------------------------------------------------------\n"
      "batch_forward                  150      15.234       0.102        0.085        0.425\n"
      "batch_backward                 150       8.451       0.056        0.048        0.112\n"
      "=========================================================================================="
      "\n");
}

TEST(TextStyle, BatchLinesAreDocument004s) {
  testing::TraceBuilder t;
  const auto epoch = t.span("epoch", SpanKind::epoch, 0, 4774 * kMs);
  t.args(epoch,
         {{"gpu_bytes", mb(14.4)}, {"gpu_reserved_bytes", mb(3236)}, {"gpu_peak_bytes", mb(2880)}});
  std::int64_t at = 0;
  for (int i = 0; i < 24; ++i) {
    const double seconds = i == 0   ? 0.538
                           : i == 1 ? 0.185
                           : i == 2 ? 0.082
                                    : (0.201 * 24 - 0.805) / 21;
    const auto ns = static_cast<std::int64_t>(seconds * 1e9 + 0.5);
    const auto batch = t.span("batch", SpanKind::batch, at, ns, {.parent = epoch});
    t.args(batch, {{"index", static_cast<double>(i)}});
    if (i < 2) {
      t.args(batch, {{"gpu_bytes", mb(23.1)},
                     {"cpu_bytes", mb(i == 0 ? 1648.9 : 1659.6)},
                     {"loss", i == 0 ? 0.009458 : 0.016763}});
    }
    at += ns;
  }
  const std::string text = styled(testing::make_run(t.trace()), TextStyle::batch_lines);
  EXPECT_EQ(text,
            "  Batch 0: 0.538s, GPU 23.1MB, CPU 1648.9MB, loss=0.009458\n"
            "  Batch 1: 0.185s, GPU 23.1MB, CPU 1659.6MB, loss=0.016763\n"
            "  Batch 2: 0.082s\n"
            "  Batch 3: 0.191s\n"
            "  Batch 4: 0.191s\n"
            "  ...\n"
            "  Epoch end: 4.774s total, GPU 14.4MB, 3236MB reserved, peak 2880MB\n"
            "  Batch timing: avg=0.201s, min=0.082s, max=0.538s\n");
  EXPECT_EQ(styled(testing::make_run(testing::sample_trace()), TextStyle::batch_lines),
            "No epochs or batches were recorded.\n");
}

TEST(TextStyle, ProfilingMetricsAreDocument002s) {
  testing::TraceBuilder t;
  t.span("run", SpanKind::session, 0, testing::kSecond);
  testing::add_entity(t, EntityKind::machine, "machine");
  testing::add_entity(t, EntityKind::gpu, "GPU-1", "NVIDIA");
  const auto put = [&](const char* counter, double value) {
    testing::add_readings(t, counter, 0, testing::kSecond, testing::kSecond / 4,
                          [&](double) { return value; });
  };
  put("GPU-1/memory_used_bytes", mb(8420));
  put("GPU-1/memory_total_bytes", mb(24564));
  put("GPU-1/busy_ratio", 0.852);
  put("GPU-1/temperature_celsius", 72.1);
  put("machine/cpu_busy_ratio", 0.453);
  put("machine/memory_used_bytes", mb(12840));
  put("machine/memory_total_bytes", mb(32768));
  genscope::Run run = testing::make_run(t.trace());
  run.id = "session_abc123";
  EXPECT_EQ(styled(run, TextStyle::profiling_metrics),
            "=== Profiling Metrics (session_abc123) ===\n"
            "GPU: Memory 8420MB / 24564MB (34.3%), Util 85.2%, Temp 72.1\u00B0C\n"
            "CPU: 45.3%, Memory 12840MB / 32768MB (39.2%)\n");
  run = testing::make_run(testing::sample_trace());
  run.id = "a\x1b[1m";
  EXPECT_EQ(styled(run, TextStyle::profiling_metrics), "=== Profiling Metrics (a\\x1b[1m) ===\n")
      << "no readings, no figures";
}

TEST(TextStyle, HasNamesAndRefusesOthersWithTheNearest) {
  for (std::size_t i = 0; i < kTextStyles; ++i) {
    const auto style = static_cast<TextStyle>(i);
    const Result<TextStyle> found = text_style(name(style));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, style);
  }
  const Result<TextStyle> wrong = text_style("performance_sumary");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("did you mean 'performance_summary'?"));
  EXPECT_THAT(styled(testing::make_run(testing::sample_trace()), TextStyle::performance_summary),
              Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace genscope
