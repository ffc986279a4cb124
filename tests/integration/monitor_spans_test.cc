// What the monitors of operations and epochs leave in a run, read back, and as training monitors
// print it.
#include <genscope/analyze.h>
#include <genscope/compat/epoch_monitor.h>
#include <genscope/compat/performance_monitor.h>
#include <genscope/compat/text_styles.h>
#include <genscope/record.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace genscope {
namespace {

using ::testing::ContainsRegex;

void train(const std::string& dir) {
  SessionOptions where;
  where.run_dir = dir;
  const Session session("training", where);
  PerformanceMonitor operations;
  std::string printed;
  EpochPerformanceMonitor epochs(EpochMonitorOptions{
      .verbose_batches = 1, .out = [&](std::string_view text) { printed += text; }});
  { const Operation load = operations.track("load_data"); }
  for (int epoch = 0; epoch < 2; ++epoch) {
    epochs.on_epoch_start();
    for (std::uint64_t i = 0; i < 4; ++i) {
      epochs.on_batch_start(i);
      { const Operation forward = operations.track("batch_forward", true); }
      epochs.on_batch_end(i, 1.0 / static_cast<double>(i + 1));
    }
    epochs.on_epoch_end();
  }
  Operation failed = operations.track("save");
  failed.fail();
}

TEST(MonitorSpans, AreOrdinarySpansOfTheRun) {
  const testing::TempDir dir;
  train(dir / "run");
  const Result<genscope::Run> run = read_run(dir / "run");
  ASSERT_TRUE(run.ok()) << run.error().message;
  const Analysis analysis = analyze(*run);
  const auto row = [&](std::string_view name, SpanKind kind) {
    for (const StageRow& stage : analysis.stages) {
      if (stage.name == name && stage.kind == kind) return stage;
    }
    ADD_FAILURE() << name << " is not in the run";
    return StageRow{};
  };
  EXPECT_EQ(row("load_data", SpanKind::stage).count, 1u);
  EXPECT_EQ(row("batch_forward", SpanKind::stage).count, 8u);
  EXPECT_EQ(row("save", SpanKind::stage).failed, 1u);
  EXPECT_EQ(row("epoch", SpanKind::epoch).count, 2u);
  EXPECT_EQ(row("batch", SpanKind::batch).count, 8u);
  ASSERT_EQ(analysis.training.epochs.size(), 2u);
  EXPECT_EQ(analysis.training.epochs[1].index, 1u);
  EXPECT_EQ(analysis.training.epochs[1].batches.count, 4u);
  EXPECT_DOUBLE_EQ(analysis.training.batches.first_loss.value_or(0), 1);
  EXPECT_DOUBLE_EQ(analysis.training.batches.min_loss.value_or(0), 0.25);

  const auto styled = [&](TextStyle style) {
    std::string out;
    report_text(*run, analysis, {}, style, {}, [&](std::string_view piece) { out += piece; });
    return out;
  };
  EXPECT_THAT(styled(TextStyle::performance_summary),
              ContainsRegex("\nload_data +0\\.[0-9]{3} +[+-][0-9.]+ +n/a +n/a\n"));
  EXPECT_THAT(styled(TextStyle::batch_lines),
              ContainsRegex("^  Batch 0: 0\\.[0-9]{3}s, CPU [0-9.]+MB, loss=1.000000\n"
                            "  Batch 1: 0\\.[0-9]{3}s, loss=0.500000\n"));
}

}  // namespace
}  // namespace genscope
