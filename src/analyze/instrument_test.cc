#include "analyze/instrument.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/testing/samples.h"

namespace genscope::analysis {
namespace {

using genscope::testing::add_event;
using genscope::testing::TraceBuilder;

TEST(Instrument, OneRowForEachThatSaysTheSame) {
  TraceBuilder one, two;
  add_event(one, "instrument", 5, {{"target", "diffusers"}, {"status", "hooked"}});
  add_event(one, "instrument", 6,
            {{"target", "comfyui"}, {"status", "failed"}, {"reason", "execute() has moved"}});
  add_event(one, "config", 7, {{"target", "not one"}});
  add_event(two, "instrument", 5, {{"status", "hooked"}, {"target", "diffusers"}});
  add_event(two, "instrument", 6, {{"status", "hooked"}});  // of nothing
  genscope::Run run;
  run.traces = {one.trace(), two.trace()};
  const std::vector<InstrumentRow> rows = instrument_table(run);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].target, "diffusers");
  EXPECT_TRUE(rows[0].hooked);
  EXPECT_EQ(rows[0].processes, 2U);
  EXPECT_EQ(rows[1].target, "comfyui");
  EXPECT_FALSE(rows[1].hooked);
  EXPECT_EQ(rows[1].reason, "execute() has moved");
}

}  // namespace
}  // namespace genscope::analysis
