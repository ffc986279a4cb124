// Trees captured from real machines (MIT, see their README; not part of this repository): every
// one is read, and what is read is what its files say.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "probe/drm/card.h"
#include "probe/drm/gpu_metrics.h"
#include "probe/drm/test_rig.h"
#include "testing/temp_dir.h"

#include "test_paths.h"

namespace genscope::probe::drm {
namespace {

namespace fs = std::filesystem;

// The folder gpu-sysfs, or empty.
std::string captures() {
  const char* const given = std::getenv("GENSCOPE_FIXTURES");
  const std::string root =
      given != nullptr && *given != '\0' ? given : GENSCOPE_SOURCE_DIR "/../shared/fixtures";
  for (const std::string& at : {root, std::string(GENSCOPE_SOURCE_DIR "/../../shared/fixtures")}) {
    if (fs::is_directory(at + "/gpu-sysfs")) return at + "/gpu-sysfs";
  }
  return {};
}

#define SKIP_WITHOUT_CAPTURES()                                                            \
  if (captures().empty()) {                                                                \
    GTEST_SKIP() << "no captured trees: set GENSCOPE_FIXTURES to the folder of gpu-sysfs"; \
  }

// The card folders of one vendor: .../amd/phoenix/card1.
std::vector<fs::path> cards_of(const char* vendor) {
  std::vector<fs::path> cards;
  for (const auto& model : fs::directory_iterator(captures() + "/" + vendor)) {
    if (!model.is_directory()) continue;
    for (const auto& entry : fs::directory_iterator(model)) {
      if (entry.path().filename().string().starts_with("card")) cards.push_back(entry.path());
    }
  }
  std::sort(cards.begin(), cards.end());
  return cards;
}

// A sysfs with that one card.
class CapturedCard {
 public:
  explicit CapturedCard(const fs::path& card) : card_(card.string()) {
    fs::create_directories(dir_ / "sys/class/drm");
    fs::create_directory_symlink(card, dir_ / ("sys/class/drm/" + card.filename().string()));
    for (const std::string& name : list(device("hwmon"))) hwmon_ = device("hwmon/" + name);
  }
  TestRig read(TestRig::Make make) {
    ProbeOptions options;
    options.sys_root = dir_ / "sys";
    options.proc_root = dir_ / "proc";
    TestRig rig(make, options, base::Files::system(), pci());
    rig.tick();
    rig.tick();
    return rig;
  }
  std::string device(const std::string& name) const { return card_ + "/device/" + name; }
  std::string hwmon(const std::string& name) const { return hwmon_ + "/" + name; }
  std::string card(const std::string& name) const { return card_ + "/" + name; }
  std::string pci() const {
    const std::string uevent = read_text(device("uevent"), base::Files::system());
    const std::size_t at = uevent.find("PCI_SLOT_NAME=") + 14;
    return uevent.substr(at, uevent.find('\n', at) - at);
  }
  // The number that a file starts with.
  static std::optional<double> number(const std::string& path) {
    const std::string text = read_text(path, base::Files::system());
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str()) return {};
    return value;
  }

 private:
  std::string card_;
  std::string hwmon_;
  testing::TempDir dir_;
};

// The reading equals the file; if there is no such file, there is no value of it.
void expect_file(const TestRig& rig, const char* metric, const std::string& path, double scale) {
  const auto expected = CapturedCard::number(path);
  if (!expected) return;
  const Reading reading = rig.get(metric);
  EXPECT_EQ(reading.status, SampleStatus::ok) << metric << " of " << path;
  EXPECT_NEAR(reading.value, *expected * scale, std::abs(*expected * scale) * 1e-12) << path;
}

TEST(CapturedTrees, AmdReadsWhatTheFilesSay) {
  SKIP_WITHOUT_CAPTURES();
  for (const fs::path& path : cards_of("amd")) {
    SCOPED_TRACE(path.string());
    CapturedCard card(path);
    const TestRig rig = card.read(make_amdgpu_probe);
    ASSERT_EQ(rig.board.entities.size(), 1u);
    EXPECT_EQ(rig.board.entities[0].id, card.pci());
    expect_file(rig, "memory_total_bytes", card.device("mem_info_vram_total"), 1);
    expect_file(rig, "memory_used_bytes", card.device("mem_info_vram_used"), 1);
    expect_file(rig, "memory_shared_total_bytes", card.device("mem_info_gtt_total"), 1);
    expect_file(rig, "memory_shared_used_bytes", card.device("mem_info_gtt_used"), 1);
    expect_file(rig, "busy_ratio", card.device("gpu_busy_percent"), 0.01);
    expect_file(rig, "memory_busy_ratio", card.device("mem_busy_percent"), 0.01);
    expect_file(rig, "power_watts", card.hwmon("power1_average"), 1e-6);
    expect_file(rig, "power_limit_watts", card.hwmon("power1_cap"), 1e-6);
    expect_file(rig, "temperature_celsius", card.hwmon("temp1_input"), 1e-3);
    expect_file(rig, "temperature_hotspot_celsius", card.hwmon("temp2_input"), 1e-3);
    if (CapturedCard::number(card.hwmon("temp3_input")) != 0) {
      expect_file(rig, "temperature_memory_celsius", card.hwmon("temp3_input"), 1e-3);
    } else {
      EXPECT_EQ(rig.status("temperature_memory_celsius"), SampleStatus::not_supported);
    }
    expect_file(rig, "clock_core_mhz", card.hwmon("freq1_input"), 1e-6);
    expect_file(rig, "clock_memory_mhz", card.hwmon("freq2_input"), 1e-6);
    expect_file(rig, "pcie_lanes", card.device("current_link_width"), 1);
    for (const TestBoard::Series& series : rig.board.series) {
      EXPECT_NE(series.reading.status, SampleStatus::error) << series.metric->id;
      EXPECT_NE(series.reading.status, SampleStatus::implausible) << series.metric->id;
    }
  }
}

TEST(CapturedTrees, AnApuIsUnified) {
  SKIP_WITHOUT_CAPTURES();
  for (const fs::path& path : cards_of("amd")) {
    const bool apu = path.string().find("phoenix") != std::string::npos;
    const TestRig rig = CapturedCard(path).read(make_amdgpu_probe);
    EXPECT_EQ(rig.board.entities[0].facts[4].second, apu ? "unified" : "dedicated") << path;
  }
}

// An oracle that we did not write: the driver fills the blob and the hwmon files of a discrete card
// from the same table.
TEST(CapturedTrees, TheBlobOfADiscreteCardEqualsHwmon) {
  SKIP_WITHOUT_CAPTURES();
  int compared = 0;
  for (const fs::path& path : cards_of("amd")) {
    SCOPED_TRACE(path.string());
    const CapturedCard card(path);
    const auto bytes = base::read_file(card.device("gpu_metrics"));
    if (!bytes.ok()) continue;
    GpuMetrics metrics;
    ASSERT_TRUE(decode_gpu_metrics(*bytes, metrics));
    ASSERT_TRUE(metrics.known);
    const auto equal = [&](const std::optional<double>& value, const char* name, double scale) {
      const auto file = CapturedCard::number(card.hwmon(name));
      ASSERT_TRUE(value && file) << name;
      EXPECT_NEAR(*value, *file * scale, 1e-9) << name;
    };
    if (metrics.format != 1) {
      EXPECT_NEAR(metrics.power_watts.value(),
                  CapturedCard::number(card.hwmon("power1_average")).value() * 1e-6,
                  0.1 * metrics.power_watts.value());
      continue;
    }
    equal(metrics.temperature_celsius, "temp1_input", 1e-3);
    equal(metrics.temperature_hotspot_celsius, "temp2_input", 1e-3);
    equal(metrics.temperature_memory_celsius, "temp3_input", 1e-3);
    equal(metrics.power_watts, "power1_average", 1e-6);
    equal(metrics.clock_core_mhz, "freq1_input", 1e-6);
    equal(metrics.clock_memory_mhz, "freq2_input", 1e-6);
    compared++;
  }
  EXPECT_GE(compared, 2);
}

TEST(CapturedTrees, IntelReadsWhatTheFilesSay) {
  SKIP_WITHOUT_CAPTURES();
  for (const fs::path& path : cards_of("intel")) {
    SCOPED_TRACE(path.string());
    CapturedCard card(path);
    const TestRig rig = card.read(make_intel_probe);
    ASSERT_EQ(rig.board.entities.size(), 1u);
    EXPECT_EQ(rig.board.entities[0].id, card.pci());
    expect_file(rig, "energy_joules", card.hwmon("energy1_input"), 1e-6);
    expect_file(rig, "power_limit_watts", card.hwmon("power1_max"), 1e-6);
    expect_file(rig, "temperature_celsius", card.hwmon("temp1_input"), 1e-3);
    expect_file(rig, "temperature_celsius", card.hwmon("temp2_input"), 1e-3);
    expect_file(rig, "temperature_memory_celsius", card.hwmon("temp3_input"), 1e-3);
    expect_file(rig, "clock_core_mhz", card.card("gt_act_freq_mhz"), 1);
    expect_file(rig, "clock_core_mhz", card.device("tile0/gt0/freq0/act_freq"), 1);
    expect_file(rig, "clock_media_mhz", card.device("tile0/gt1/freq0/act_freq"), 1);
    EXPECT_EQ(rig.value("throttle_reasons"), 0);
    EXPECT_EQ(rig.status("memory_used_bytes"), SampleStatus::not_supported);
    EXPECT_EQ(rig.status("pcie_lanes"), SampleStatus::not_supported) << "no switch was captured";
    for (const TestBoard::Series& series : rig.board.series) {
      EXPECT_NE(series.reading.status, SampleStatus::error) << series.metric->id;
      EXPECT_NE(series.reading.status, SampleStatus::implausible) << series.metric->id;
    }
  }
}

TEST(CapturedTrees, EachProbeTakesItsVendorOnly) {
  SKIP_WITHOUT_CAPTURES();
  for (const fs::path& path : cards_of("nvidia")) {
    EXPECT_TRUE(CapturedCard(path).read(make_amdgpu_probe).board.entities.empty()) << path;
    EXPECT_TRUE(CapturedCard(path).read(make_intel_probe).board.entities.empty()) << path;
  }
  for (const fs::path& path : cards_of("amd")) {
    EXPECT_TRUE(CapturedCard(path).read(make_intel_probe).board.entities.empty()) << path;
  }
}

}  // namespace
}  // namespace genscope::probe::drm
