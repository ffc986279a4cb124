#include "probe/wire.h"

#include <gtest/gtest.h>

#include <cstring>

#include "testing/random.h"
#include "trace/metrics.h"

namespace genscope::probe {
namespace {

// Writes down what it is told.
struct Log final : WireReader::Handler {
  std::vector<std::string> lines;
  std::vector<ProcessRow> rows;
  double value = 0;

  void on_entity(std::uint32_t entity, Entity what) override {
    lines.push_back("entity " + std::to_string(entity) + " " + std::string(name(what.kind)) + " " +
                    what.id + " " + what.name + " " + what.facts.at(0).first + "=" +
                    what.facts.at(0).second);
  }
  void on_series(std::uint32_t series, std::uint32_t entity, std::string_view metric,
                 std::string_view source) override {
    lines.push_back("series " + std::to_string(series) + " " + std::to_string(entity) + " " +
                    std::string(metric) + " " + std::string(source));
  }
  void on_reading(std::uint32_t series, SampleStatus status, double v,
                  std::string_view reason) override {
    lines.push_back("reading " + std::to_string(series) + " " + std::string(name(status)) + " " +
                    std::string(reason));
    value = v;
  }
  void on_event(std::uint32_t, std::string_view what, std::string_view detail) override {
    lines.push_back("event " + std::string(what) + " " + std::string(detail));
  }
  void on_processes(std::uint32_t, std::span<const ProcessRow> r) override {
    rows.assign(r.begin(), r.end());
  }
  void on_state(std::string_view probe, ProbeState state) override {
    lines.push_back("state " + std::string(probe) + " " + std::string(name(state.kind)) + " " +
                    state.reason + " " + state.remedy);
  }
};

std::string everything() {
  WireWriter writer;
  writer.add_entity(3, {EntityKind::gpu, "GPU-1", "A GPU", {{"pci", "0000:01:00.0"}}});
  writer.add_series(7, 3, trace::metric("power_watts"), "field 186");
  writer.add_reading(7, {250.5, SampleStatus::ok, nullptr, 9});
  writer.add_reading(7, {0, SampleStatus::not_permitted, "no right", 9});
  writer.add_event(3, "device_lost", "gone");
  ProcessRow row;
  row.pid = 42;
  std::strcpy(row.name, "python3");
  row.gpu_memory_bytes = {1e9, SampleStatus::ok, nullptr, 0};
  writer.set_processes(3, std::span(&row, 1));
  writer.add_state("nvml", {ProbeState::Kind::broken, "mismatch", "reboot"});
  return writer.out();
}

TEST(Wire, CarriesEveryMessageByteByByte) {
  WireReader reader;
  Log log;
  for (const char byte : everything()) ASSERT_TRUE(reader.feed(std::string_view(&byte, 1), log));
  const std::vector<std::string> expected = {"entity 3 gpu GPU-1 A GPU pci=0000:01:00.0",
                                             "series 7 3 power_watts field 186",
                                             "reading 7 ok ",
                                             "reading 7 not_permitted no right",
                                             "event device_lost gone",
                                             "state nvml broken mismatch reboot"};
  EXPECT_EQ(log.lines, expected);
  ASSERT_EQ(log.rows.size(), 1u);
  EXPECT_EQ(log.rows[0].pid, 42u);
  EXPECT_STREQ(log.rows[0].name, "python3");
  EXPECT_EQ(log.rows[0].gpu_memory_bytes.value, 1e9);
  EXPECT_EQ(log.rows[0].rss_bytes.status, SampleStatus::pending);
}

TEST(Wire, KeepsTheValueExactly) {
  WireWriter writer;
  writer.add_reading(0, {0.1, SampleStatus::ok, nullptr, 0});
  WireReader reader;
  Log log;
  ASSERT_TRUE(reader.feed(writer.out(), log));
  EXPECT_EQ(log.value, 0.1);
}

TEST(Wire, SurvivesAnyBytes) {
  testing::Random random(1);
  const std::string good = everything();
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    for (int flips = 0; flips < 4; ++flips) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    }
    bytes.resize(random.below(bytes.size()) + 1);
    WireReader reader;
    struct Quiet final : WireReader::Handler {
      void on_entity(std::uint32_t, Entity) override {}
      void on_series(std::uint32_t, std::uint32_t, std::string_view, std::string_view) override {}
      void on_reading(std::uint32_t, SampleStatus, double, std::string_view) override {}
      void on_event(std::uint32_t, std::string_view, std::string_view) override {}
      void on_processes(std::uint32_t, std::span<const ProcessRow>) override {}
      void on_state(std::string_view, ProbeState) override {}
    } quiet;
    reader.feed(bytes, quiet);
  }
}

TEST(Wire, GivesUpOnAMessageThatCannotBe) {
  WireReader reader;
  Log log;
  EXPECT_FALSE(reader.feed(std::string("\xff\xff\xff\xff\x01", 5), log));
}

}  // namespace
}  // namespace genscope::probe
