#include "probe/builtin.h"
#include "probe/host/test_tree.h"
#include "probe/test_board.h"
#include "testing/fault_plan.h"
#include "testing/temp_dir.h"
#include "testing/units.h"

namespace genscope::probe {
namespace {

using testing::kSecond;

class RaplProbeTest : public ::testing::Test {
 protected:
  void zone(const std::string& zone, const std::string& name, std::uint64_t energy_uj,
            const std::string& range_uj = "262143328850\n") {
    const std::string folder = dir_ / ("class/powercap/" + zone);
    put(folder + "/name", name + "\n");
    put(folder + "/energy_uj", std::to_string(energy_uj) + "\n");
    if (!range_uj.empty()) put(folder + "/max_energy_range_uj", range_uj);
  }
  void energy(const std::string& zone, std::uint64_t uj) {
    put(dir_ / ("class/powercap/" + zone + "/energy_uj"), std::to_string(uj) + "\n");
  }
  ProbeState open() {
    ProbeOptions options;
    options.sys_root = dir_.path();
    probe_ = make_rapl_probe(options, plan_);
    return probe_->open(board_);
  }
  void sample() { probe_->sample(Tier::fast, now_ += kSecond, board_); }
  double joules(std::string_view package) {
    const Reading reading = board_.get(package, "energy_joules");
    EXPECT_EQ(reading.status, SampleStatus::ok);
    return reading.value;
  }

  genscope::testing::TempDir dir_;
  genscope::testing::FaultPlan plan_;
  TestBoard board_;
  std::unique_ptr<Probe> probe_;
  std::int64_t now_ = 0;
};

TEST_F(RaplProbeTest, SumsPackageAndDramOnly) {
  zone("intel-rapl:0", "package-0", 1'000'000);
  zone("intel-rapl:0:0", "core", 5'000'000);
  zone("intel-rapl:0:1", "dram", 2'000'000);
  zone("intel-rapl:0/intel-rapl:0:0", "core", 5'000'000);
  zone("intel-rapl:0/intel-rapl:0:1", "dram", 2'000'000);
  zone("intel-rapl:1", "package-1", 4'000'000);
  zone("intel-rapl:2", "psys", 9'000'000);
  zone("intel-rapl-mmio:0", "package-0", 7'000'000);
  ASSERT_EQ(open().kind, ProbeState::Kind::works);
  ASSERT_EQ(board_.entities.size(), 2u);
  EXPECT_EQ(board_.entities[0].id, "package-0");
  sample();
  EXPECT_DOUBLE_EQ(joules("package-0"), 3);
  EXPECT_DOUBLE_EQ(joules("package-1"), 4);
}

TEST_F(RaplProbeTest, FindsDramBesideItsPackage) {
  zone("intel-rapl:0", "package-0", 1'000'000);
  zone("intel-rapl:0:0", "dram", 2'000'000);
  open();
  sample();
  EXPECT_DOUBLE_EQ(joules("package-0"), 3);
}

TEST_F(RaplProbeTest, WrapsAtTheRange) {
  zone("intel-rapl:0", "package-0", 262'143'000'000);
  open();
  sample();
  const double before = joules("package-0");
  energy("intel-rapl:0", 100'000'000);
  sample();
  EXPECT_NEAR(joules("package-0") - before, 100.328850, 1e-6);
}

TEST_F(RaplProbeTest, DropsADecreaseThatIsNoWrap) {
  zone("intel-rapl:0", "package-0", 5'000'000, "");  // a range that is unknown
  zone("intel-rapl:1", "package-1", 100'000'000'000);
  open();
  sample();
  energy("intel-rapl:0", 1'000'000);
  energy("intel-rapl:1", 0);  // as a wrap that would be 162 kJ in a second
  sample();
  EXPECT_DOUBLE_EQ(joules("package-0"), 5);
  EXPECT_DOUBLE_EQ(joules("package-1"), 100'000);
  ASSERT_EQ(board_.events.size(), 2u);
  EXPECT_EQ(board_.events[0].name, "energy_interval_dropped");
  energy("intel-rapl:0", 1'500'000);
  sample();
  EXPECT_DOUBLE_EQ(joules("package-0"), 5.5);
}

TEST_F(RaplProbeTest, DenialNamesTheRemedy) {
  zone("intel-rapl:0", "package-0", 1);
  plan_.add("energy_uj", {.error = EACCES, .on_open = true});
  const ProbeState state = open();
  EXPECT_EQ(state.kind, ProbeState::Kind::denied);
  EXPECT_NE(state.remedy.find("chmod"), std::string::npos);
  EXPECT_EQ(board_.get("package-0", "energy_joules").status, SampleStatus::not_permitted);
  sample();
  EXPECT_EQ(board_.get("package-0", "energy_joules").status, SampleStatus::not_permitted);
  EXPECT_TRUE(board_.events.empty());
}

TEST_F(RaplProbeTest, AFailedReadLosesNoEnergy) {
  zone("intel-rapl:0", "package-0", 1'000'000);
  zone("intel-rapl:0:0", "dram", 1'000'000);
  open();
  sample();
  energy("intel-rapl:0", 3'000'000);
  plan_.add("intel-rapl:0:0/energy_uj", {.error = EIO});
  sample();
  EXPECT_EQ(board_.get("package-0", "energy_joules").status, SampleStatus::error);
  plan_.clear();
  sample();
  EXPECT_DOUBLE_EQ(joules("package-0"), 4);
  plan_.add("energy_uj", {.replace = true, .content = "garbage"});
  sample();
  EXPECT_EQ(board_.get("package-0", "energy_joules").status, SampleStatus::error);
}

TEST_F(RaplProbeTest, IsAbsentWithoutPackages) {
  EXPECT_EQ(open().kind, ProbeState::Kind::absent);
  zone("intel-rapl:0", "psys", 1);
  EXPECT_EQ(open().kind, ProbeState::Kind::absent);
  EXPECT_TRUE(board_.entities.empty());
}

}  // namespace
}  // namespace genscope::probe
