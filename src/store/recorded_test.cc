#include "store/recorded.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/file.h"
#include "testing/temp_dir.h"
#include "trace/frame.h"
#include "trace/live.h"

namespace genscope::store {
namespace {

// A run with one trace, as a recorder leaves it that was killed: not closed, its buffer beside it.
class RecordedTest : public ::testing::Test {
 protected:
  void write_trace(const std::string& host, const std::string& boot_id, bool closed) const {
    const trace::Preamble preamble;
    std::vector<std::byte> bytes(sizeof preamble);
    std::memcpy(bytes.data(), &preamble, sizeof preamble);
    const auto add = [&](trace::FrameType type, const std::string& json) {
      trace::FrameHeader header;
      header.type = type;
      trace::append_frame(header, std::as_bytes(std::span(json)), bytes);
    };
    add(trace::FrameType::process,
        R"({"trace_id":"00000000000000000000000000000000","pid":1,"host":")" + host +
            R"(","boot_id":")" + boot_id + R"(","live":"trace-1-0.live"})");
    if (closed) add(trace::FrameType::close, "{}");
    ASSERT_TRUE(base::write_file(dir_ / "trace-1-0.gst",
                                 {reinterpret_cast<const char*>(bytes.data()), bytes.size()})
                    .ok());
    const trace::LiveHeader live;
    ASSERT_TRUE(base::write_file(dir_ / "trace-1-0.live",
                                 {reinterpret_cast<const char*>(&live), sizeof live})
                    .ok());
  }
  static std::string this_host() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
  }

  genscope::testing::TempDir dir_;
};

TEST_F(RecordedTest, WhileTheLockIsHeldWhateverThePid) {
  ASSERT_FALSE(*is_recorded(dir_.path())) << "nothing is there";
  write_trace(this_host(), this_boot(), false);
  EXPECT_FALSE(*is_recorded(dir_.path())) << "process 1 lives, and has no lock";
  {
    const base::UniqueFd live(::open((dir_ / "trace-1-0.live").c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::flock(live.get(), LOCK_EX | LOCK_NB), 0);
    EXPECT_TRUE(*is_recorded(dir_.path()));
  }
  EXPECT_FALSE(*is_recorded(dir_.path()));
}

TEST_F(RecordedTest, OfAnotherContainerByTheLockToo) {
  write_trace("another-container", this_boot(), false);
  EXPECT_FALSE(*is_recorded(dir_.path()));
}

TEST_F(RecordedTest, OnAnotherHostWhileItWritesAndHasNotClosed) {
  write_trace("elsewhere", "another-boot", false);
  EXPECT_TRUE(*is_recorded(dir_.path()));
  write_trace("elsewhere", "another-boot", true);
  EXPECT_FALSE(*is_recorded(dir_.path()));
  write_trace("elsewhere", "another-boot", false);
  const std::array<timespec, 2> long_ago = {timespec{1000, 0}, timespec{1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (dir_ / "trace-1-0.gst").c_str(), long_ago.data(), 0), 0);
  EXPECT_FALSE(*is_recorded(dir_.path()));
  write_trace(this_host(), "before-a-reboot", false);
  EXPECT_FALSE(*is_recorded(dir_.path()));
}

TEST_F(RecordedTest, IsAnErrorWhereItCannotBeFoundOut) {
  write_trace(this_host(), this_boot(), false);
  EXPECT_FALSE(is_recorded(dir_ / "none").ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Result<bool> recorded = is_recorded(dir_.path());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(recorded.ok());
}

}  // namespace
}  // namespace genscope::store
