#include "cli/top/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/top/test_frame.h"

namespace genscope::cli::top {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::ResultOf;

using Lines = std::vector<std::string>;

Lines lines_of(Frame frame, std::size_t width = 100, std::size_t rows = 0) {
  Tracker().complete(frame);
  return frame_lines(frame, {.width = width, .color = false, .unicode = false}, rows, true);
}

TEST(TopView, ShowsTheWholeMachine) {
  EXPECT_THAT(
      lines_of(usual_frame().frame),
      ElementsAre(
          "genscope top  box  every 1.00 s  q quits; c m g sort",
          "CPU     46%  [#####-----]  8 CPUs  load 1.50  user 30%  system 10%",
          "Memory  16.0/64.0 GiB  [###-------]  available 48.0 GiB",
          "I/O     disk read 2.00 KiB/s  write 0 B/s  net in 1.00 KiB/s  out n/a (short read)",
          "Waits   for CPU n/a (kernel without PSI)", "Power   n/a (energy_uj is for root only)",
          "", "GPU 0   NVIDIA H100 80GB HBM3  held down: power cap",
          "        busy 85%  memory 20.0/80.0 GiB  power n/a (not permitted)  67 C", "",
          "Tasks   of session 4242 and of GPUs  2 processes  34 threads",
          "    PID    CPU    MEMORY   GPU MEM   GPU  NAME",
          "   4300      -  2.00 GiB  20.0 GiB     -  python",
          "   4242      -  4.00 KiB         -     -  bash",
          "     99      -         -       n/a     -  (outside this container)",
          "n/a: GPU MEM (not permitted)"));
}

TEST(TopView, AnEmptyMachineSaysWhyEverythingIsMissing) {
  FrameBuilder made;
  made.frame.watched = "session 1";
  made.probe("nvml", ProbeState::Kind::absent, "no libnvidia-ml.so.1");
  EXPECT_THAT(
      lines_of(made.frame),
      ElementsAre("genscope top  every 1.00 s  q quits; c m g sort", "CPU     n/a (not read)",
                  "Memory  n/a (not read)",
                  "I/O     disk read n/a (not read)  write n/a (not read)  net in n/a (not "
                  "read)  out n/a (not read)",
                  "Waits   for CPU n/a (not read)", "Power   n/a (not read)", "",
                  "GPU     n/a (no libnvidia-ml.so.1)", "", "Tasks   of session 1 and of GPUs"));
}

TEST(TopView, NeverWiderThanTheTerminal) {
  Frame frame = usual_frame().frame;
  frame.snapshot.entities[1].name = "\xe5\xa4\xa7\xe5\xa4\xa7" + std::string(300, 'x');
  for (std::size_t width = 1; width < 140; ++width) {
    EXPECT_THAT(
        lines_of(frame, width),
        Each(ResultOf([](const std::string& line) { return watch::columns(line); }, Le(width))))
        << width;
  }
}

TEST(TopView, AShortTerminalSaysWhatIsMissing) {
  const Lines lines = lines_of(usual_frame().frame, 100, 5);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines.back(), "... 12 more lines");
}

TEST(TopView, HostileNamesDoNotReachTheTerminal) {
  FrameBuilder made = usual_frame();
  made.frame.snapshot.entities[1].name = "evil\x1b[2J\x1b]0;x\x07\xff";
  const auto tree = made.entity(EntityKind::process_tree, "tree2", "");
  made.processes(tree, {FrameBuilder::row(5, "a\nb\x1b[31m")});
  made.frame.run = RunLine{"runs/\x1b[5m", {}};
  EXPECT_THAT(lines_of(made.frame), Each(AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\n")),
                                               Not(HasSubstr("\x07")), Not(HasSubstr("\xff")))));
}

TEST(TopView, ColoursOnlyWhenAsked) {
  Frame frame = usual_frame().frame;
  Tracker().complete(frame);
  const watch::Look colored = {.width = 100, .color = true, .unicode = true};
  EXPECT_THAT(frame_lines(frame, colored, 0, true), Contains(HasSubstr("\x1b[")));
}

TEST(TopView, FourGpusMakeAGridWithReasonsBelow) {
  FrameBuilder made;
  for (int i = 0; i < 4; ++i) {
    const auto gpu = made.entity(EntityKind::gpu, "GPU-" + std::to_string(i), "H100");
    made.value(gpu, "busy_ratio", 0.25 * i)
        .value(gpu, "memory_used_bytes", 10 * kGiB)
        .value(gpu, "memory_total_bytes", 80 * kGiB)
        .value(gpu, "temperature_celsius", 50 + i);
    if (i == 3) {
      made.missing(gpu, "power_watts", SampleStatus::lost, "fell off the bus");
    } else {
      made.value(gpu, "power_watts", 300);
    }
  }
  const Lines lines = lines_of(made.frame, 100);
  EXPECT_THAT(
      lines,
      Contains("GPU 0:   0% 10.0/80.0 GiB 300 W 50 C  GPU 1:  25% 10.0/80.0 GiB 300 W 51 C"));
  EXPECT_THAT(lines,
              Contains("GPU 2:  50% 10.0/80.0 GiB 300 W 52 C  GPU 3:  75% 10.0/80.0 GiB n/a 53 C"));
  EXPECT_THAT(lines, Contains("        n/a: power (fell off the bus)"));
  EXPECT_THAT(lines_of(made.frame, 40), Contains("GPU 1:  25% 10.0/80.0 GiB 300 W 51 C"));
}

TEST(TopView, ShowsStagesStepsAndEta) {
  FrameBuilder made;
  made.frame.watched = "the run";
  Progress::Process busy;
  busy.pid = 7;
  busy.alive = true;
  busy.stage = "denoise";
  busy.steps_done = 5;
  busy.steps_total = 20;
  busy.step_seconds = 0.5;
  busy.eta_seconds = 7.5;
  Progress::Process between;
  between.pid = 8;
  between.alive = true;
  between.last_stage = "text_encoding";
  between.last_stage_seconds = 1.25;
  Progress::Process silent;  // records, but marks no stages: genscope itself
  silent.pid = 6;
  silent.alive = true;
  made.frame.run = RunLine{"runs/a", {{silent, busy, between}}};
  const Lines lines = lines_of(made.frame);
  EXPECT_THAT(lines, Contains("Run     runs/a"));
  EXPECT_THAT(lines,
              Contains("              7 denoise  [####----------]  5/20  ETA 0:07  500 ms/step"));
  EXPECT_THAT(lines, Contains("              8 after text_encoding took 1.25 s"));
  made.frame.run->progress.processes = {};
  EXPECT_THAT(lines_of(made.frame), Contains("Run     runs/a  nothing recorded yet"));
  busy.alive = false;
  made.frame.run->progress.processes = {busy};
  EXPECT_THAT(lines_of(made.frame), Contains("Run     runs/a  has ended"));
}

TEST(TopView, ContainersShowTheirLimit) {
  FrameBuilder made;
  const auto cgroup = made.entity(EntityKind::cgroup, "/x", "x");
  made.value(cgroup, "memory_limit_bytes", 4 * kGiB)
      .value(cgroup, "memory_working_set_bytes", kGiB)
      .value(cgroup, "cpu_limit_cores", 1.5)
      .rate(cgroup, "cpu_throttled_ns", 1e9, 5e7);
  EXPECT_THAT(lines_of(made.frame),
              Contains("Limit   memory 1.00/4.00 GiB  1.50 cores  throttled 5.0%"));
}

}  // namespace
}  // namespace genscope::cli::top
