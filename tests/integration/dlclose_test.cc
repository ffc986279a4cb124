// A shared library that contains the recorder may be unloaded.
#include "support.h"

namespace genscope::testing {
namespace {

void unload(int times, bool close) {
  if (kThreadSanitizer) GTEST_SKIP() << "tsan calls exit handlers of libraries that are gone";
  const TempDir dir;
  const Ended ended = run_helper(
      dir, "plugin_host",
      {helper_path("recorder_plugin.so"), dir / "run", std::to_string(times), close ? "1" : "0"});
  EXPECT_EQ(ended.exit_code, 0) << "signal " << ended.signal << " " << ended.err;
  for (int i = 0; i < times; ++i) {
    const Trace trace = only_trace(dir / ("run-" + std::to_string(i)));
    EXPECT_TRUE(trace.integrity.closed);
    EXPECT_EQ(trace.integrity.bad_words, 0u);
    EXPECT_NE(span_named(trace, "on the host's thread"), kNone);
    EXPECT_GT(spans_named(trace, "on the plugin's thread").size(), 0u);
  }
}

TEST(Dlclose, AfterTheSessionIsClosed) { unload(3, true); }
TEST(Dlclose, WithTheSessionStillOpen) { unload(3, false); }

}  // namespace
}  // namespace genscope::testing
