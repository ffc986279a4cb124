#include "watch/live_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/units.h"
#include "watch/gpu_lines.h"

namespace genscope::watch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using testing::kGiB;

// A state that tests fill in.
struct Maker {
  LiveState state;

  std::uint32_t entity(EntityKind kind, const std::string& id) {
    state.snapshot.entities.push_back({kind, id, id, {}});
    return static_cast<std::uint32_t>(state.snapshot.entities.size() - 1);
  }
  void value(std::uint32_t entity, const char* metric, double value) {
    put(entity, metric, {.value = value, .status = SampleStatus::ok}, {});
  }
  void rate(std::uint32_t entity, const char* metric, double per_second) {
    put(entity, metric, {.value = 1, .status = SampleStatus::ok},
        {.value = per_second, .status = SampleStatus::ok});
  }
  void none(std::uint32_t entity, const char* metric, SampleStatus status) {
    put(entity, metric, {.value = 77, .status = status}, {});
  }
  std::uint32_t gpu(const std::string& id) {
    const std::uint32_t e = entity(EntityKind::gpu, id);
    value(e, "memory_used_bytes", 20 * kGiB);
    value(e, "memory_total_bytes", 80 * kGiB);
    value(e, "busy_ratio", 0.97);
    value(e, "power_watts", 650);
    value(e, "power_limit_watts", 700);
    value(e, "temperature_celsius", 71);
    value(e, "throttle_reasons", 0x4);
    return e;
  }

 private:
  void put(std::uint32_t entity, const char* metric, Reading reading, Reading rate) {
    Snapshot::Series series;
    series.entity = entity;
    series.metric = find_metric(metric);
    ASSERT_NE(series.metric, nullptr) << metric;
    series.reading = reading;
    series.rate = rate;
    state.snapshot.series.push_back(series);
  }
};

Maker busy() {
  Maker m;
  m.state.command = "python gen.py";
  m.state.elapsed_seconds = 83;
  m.state.gpus_wanted = false;
  const auto tree = m.entity(EntityKind::process_tree, "tree");
  m.rate(tree, "cpu_ns", 2.81e9);
  m.value(tree, "rss_bytes", 3.21 * kGiB);
  m.value(tree, "rss_anon_bytes", 2.1 * kGiB);
  m.value(tree, "processes", 3);
  m.value(tree, "threads", 12);
  m.rate(tree, "io_read_bytes", 12 * 1024 * 1024);
  m.rate(tree, "io_write_bytes", 0);
  const auto machine = m.entity(EntityKind::machine, "machine");
  m.value(machine, "cpu_count", 8);
  m.value(machine, "cpu_busy_ratio", 0.45);
  m.value(machine, "memory_available_bytes", 12.5 * kGiB);
  m.rate(machine, "pressure_cpu_some_ns", 0.012e9);
  m.rate(machine, "pressure_memory_some_ns", 0);
  m.rate(machine, "pressure_io_some_ns", 0.2e9);
  const auto cgroup = m.entity(EntityKind::cgroup, "cgroup");
  m.value(cgroup, "memory_limit_bytes", 16 * kGiB);
  return m;
}

Progress::Process denoising() {
  Progress::Process process;
  process.pid = 7;
  process.alive = true;
  process.stage = "denoise";
  process.steps_done = 12;
  process.steps_total = 20;
  process.step_seconds = 1.234;
  process.eta_seconds = 9.9;
  return process;
}

constexpr Look kPlain{.width = 80, .color = false, .unicode = false};

TEST(LiveBlock, ShowsWhatIsKnown) {
  Maker m = busy();
  m.state.progress.processes.push_back(denoising());
  EXPECT_THAT(
      live_block(m.state, kPlain, 20),
      ElementsAre(
          "genscope python gen.py                                                      1:23",
          "stage    denoise  12/20  [########------]  60%  ETA 0:09  1.23 s/step",
          "CPU      2.81 of 8.00 cores  3 proc  12 threads",
          "memory   3.21 GiB  2.10 GiB anon  limit 16.0 GiB",
          "I/O      read 12.0 MiB/s  write 0 B/s",
          "machine  CPU 45%  12.5 GiB free  waiting for CPU 1.2%, memory 0%, I/O 20%"));
}

TEST(LiveBlock, UnknownIsSaidAndNeverZero) {
  Maker m;
  m.state.command = "x";
  m.state.gpus_wanted = false;
  const auto tree = m.entity(EntityKind::process_tree, "tree");
  m.none(tree, "rss_bytes", SampleStatus::not_permitted);
  EXPECT_THAT(
      live_block(m.state, {.width = 40, .color = false, .unicode = false}, 20),
      ElementsAre("genscope x                          0:00", "CPU      n/a cores", "memory   n/a",
                  "I/O      read n/a  write n/a", "machine  CPU n/a  n/a free"));
}

TEST(LiveBlock, SparklinesShowTheTrail) {
  Maker m = busy();
  for (const double cores : {0.0, 4.0, 8.0}) {
    m.state.snapshot.series[0].rate.value = cores * 1e9;
    extend_trails(m.state.trails, m.state.snapshot);
  }
  const auto lines = live_block(m.state, {.width = 80, .color = false, .unicode = true}, 20);
  EXPECT_THAT(lines[1], HasSubstr("8.00 of 8.00 cores               ▁▅█  3 proc"));
  EXPECT_THAT(lines[2], HasSubstr("3.21 GiB               ███  2.10 GiB anon"));
}

TEST(LiveBlock, AGpuHasALineOfItsOwn) {
  Maker m = busy();
  m.gpu("GPU-1");
  const auto lines = live_block(m.state, kPlain, 20);
  EXPECT_EQ(lines.back(),
            "GPU 0    [##------]  20.0/80.0 GiB  busy 97%  650/700 W  71 C  power cap");
}

TEST(LiveBlock, AGpuWithoutAnyValueSaysWhy) {
  Maker m = busy();
  m.gpu("GPU-1");
  const auto lost = m.entity(EntityKind::gpu, "GPU-2");
  m.none(lost, "busy_ratio", SampleStatus::lost);
  m.none(lost, "memory_used_bytes", SampleStatus::lost);
  const auto some = m.entity(EntityKind::gpu, "GPU-3");
  m.value(some, "busy_ratio", 0.5);
  m.none(some, "memory_used_bytes", SampleStatus::not_supported);
  const auto lines = live_block(m.state, {.width = 50, .color = false, .unicode = false}, 20);
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[lines.size() - 2], "GPU 1  lost");
  EXPECT_EQ(lines.back(), "GPU 2  n/a  busy 50%  n/a  n/a");
}

TEST(LiveBlock, FromFourGpusOnAGrid) {
  Maker m = busy();
  for (int i = 0; i < 5; ++i) m.gpu("GPU-" + std::to_string(i));
  const auto lines = live_block(m.state, kPlain, 20);
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(lines[5], "0: 97% 20.0/80.0 GiB 650 W 71 C          1: 97% 20.0/80.0 GiB 650 W 71 C");
  EXPECT_EQ(lines[7], "4: 97% 20.0/80.0 GiB 650 W 71 C");
  const auto wide = live_block(m.state, {.width = 200, .color = false, .unicode = false}, 20);
  EXPECT_EQ(wide.size(), 6u) << "five on one line";
}

TEST(LiveBlock, WithoutAGpuTheReasonIsGiven) {
  Maker m = busy();
  m.state.gpus_wanted = true;
  ProbeReport absent, denied;
  absent.name = "nvml";
  absent.state = {ProbeState::Kind::absent, "no libnvidia-ml.so.1", ""};
  denied.name = "amdgpu";
  denied.state = {ProbeState::Kind::denied, "may not read card0", ""};
  m.state.probes = {absent};
  EXPECT_EQ(live_block(m.state, kPlain, 20).back(), "GPU n/a: no libnvidia-ml.so.1");
  m.state.probes = {absent, denied};
  EXPECT_EQ(live_block(m.state, kPlain, 20).back(), "GPU n/a: may not read card0");
  m.state.probes = {absent};
  m.state.probes[0].name = "remote";
  m.state.probes[0].state.reason = "nvml: no library; amdgpu: no AMD GPU";
  EXPECT_EQ(live_block(m.state, kPlain, 20).back(), "GPU n/a: no library");
}

TEST(LiveBlock, NeverIsWiderThanTheTerminalNorHigherThanAllowed) {
  Maker m = busy();
  m.state.command = "evil\x1b[2J\n語語語語語語語語語語語語語語語語語語語語語";
  auto process = denoising();
  process.stage = std::string(300, 'x') + "\x1b]0;title\x07";
  m.state.progress.processes.push_back(process);
  for (int i = 0; i < 3; ++i) m.gpu("g" + std::to_string(i));
  for (const bool grid : {false, true}) {
    if (grid) {
      for (int i = 3; i < 16; ++i) m.gpu("g" + std::to_string(i));
    }
    for (std::size_t width = 1; width <= 130; ++width) {
      const auto lines = live_block(m.state, {.width = width, .color = false, .unicode = true}, 9);
      EXPECT_LE(lines.size(), 9u);
      for (const std::string& line : lines) {
        EXPECT_LE(columns(line), width) << line;
        EXPECT_THAT(line, Not(HasSubstr("\x1b")));
        EXPECT_EQ(clean(line), line);
      }
    }
  }
}

TEST(LiveBlock, AtTwentyColumnsTheFiguresAreStillThere) {
  Maker m = busy();
  m.state.progress.processes.push_back(denoising());
  m.gpu("g");
  EXPECT_THAT(
      live_block(m.state, {.width = 20, .color = false, .unicode = false}, 20),
      ElementsAre("genscope python 1:23", "stage denoise  12/20", "CPU 2.81 of 8.00 cor",
                  "mem 3.21 GiB", "I/O read 12.0 MiB/s", "all CPU 45%", "GPU 0  20.0/80.0 GiB"));
}

TEST(LiveBlock, ShowsTheProcessWithKnownSteps) {
  Progress progress;
  EXPECT_EQ(shown_process(progress), nullptr);
  Progress::Process ended;
  ended.last_stage = "load";
  Progress::Process staged;
  staged.alive = true;
  staged.stage = "encode";
  progress.processes = {ended};
  EXPECT_EQ(shown_process(progress)->last_stage, "load");
  progress.processes = {ended, staged, denoising()};
  EXPECT_EQ(shown_process(progress)->stage, "denoise");
}

TEST(LiveBlock, ColoursOnlyWhenAsked) {
  Maker m = busy();
  m.gpu("g");
  const auto lines = live_block(m.state, {.width = 80, .color = true, .unicode = false}, 20);
  EXPECT_THAT(lines[0], HasSubstr("\x1b[1mgenscope\x1b[0m"));
  EXPECT_THAT(lines.back(), HasSubstr("\x1b[31mpower cap\x1b[0m"));
}

}  // namespace
}  // namespace genscope::watch
