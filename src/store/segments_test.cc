#include "store/segments.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/temp_dir.h"

namespace genscope::store {
namespace {

using Paths = std::vector<std::string>;

void touch(const std::string& path) { std::ofstream out(path); }

TEST(Segments, OfAFileWithAnotherNameIsItself) {
  const testing::TempDir dir;
  touch(dir / "mine.gst");
  EXPECT_EQ(segments_of(dir / "mine.gst"), (Paths{dir / "mine.gst"}));
  EXPECT_EQ(segments_of("relative"), (Paths{"relative"}));
}

TEST(Segments, ComeInTheOrderOfTheirNumbers) {
  const testing::TempDir dir;
  for (const char* name : {"trace-7-0.10.gst", "trace-7-0.9.gst", "trace-7-0.gst", "trace-7-1.gst",
                           "trace-77-0.gst", "trace-7-0.live", "trace-7-0.x.gst", "run.json"}) {
    touch(dir / name);
  }
  const Paths wanted = {dir / "trace-7-0.gst", dir / "trace-7-0.9.gst", dir / "trace-7-0.10.gst"};
  EXPECT_EQ(segments_of(dir / "trace-7-0.gst"), wanted);
  EXPECT_EQ(segments_of(dir / "trace-7-0.10.gst"), wanted) << "from any of them";
}

TEST(Segments, OfATraceThatIsGoneIsThePath) {
  const testing::TempDir dir;
  EXPECT_EQ(segments_of(dir / "trace-1-0.gst"), (Paths{dir / "trace-1-0.gst"}));
  EXPECT_EQ(segments_of(dir / "none/trace-1-0.gst"), (Paths{dir / "none/trace-1-0.gst"}));
}

TEST(Segments, TracesOfAFolderOnceEach) {
  const testing::TempDir dir;
  for (const char* name : {"trace-7-0.3.gst", "trace-7-0.4.gst", "trace-8-0.gst", "trace-8-0.1.gst",
                           "trace.gst", "other", "trace-8-0.live"}) {
    touch(dir / name);
  }
  EXPECT_EQ(traces_in(dir.path()),
            (std::vector<Paths>{{dir / "trace-7-0.3.gst", dir / "trace-7-0.4.gst"},
                                {dir / "trace-8-0.gst", dir / "trace-8-0.1.gst"}}));
  EXPECT_TRUE(traces_in(dir / "none").empty());
}

}  // namespace
}  // namespace genscope::store
