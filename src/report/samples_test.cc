#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "report/testing/sample.h"

namespace genscope {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

genscope::Run run_with_counters() {
  testing::TraceBuilder a(7);
  a.counter("gpu:0/power_watts", 10, 100.5);
  a.counter("loss, \"x\"", 20, 1);
  a.counter("gpu:0/power_watts", 30, 300);
  a.counter("gpu:0/power_watts", 40, std::nan(""));
  return testing::make_run(a.trace());
}

TEST(SampleDump, CsvHasEveryReadingSeriesBySeries) {
  const genscope::Run run = run_with_counters();
  const Analysis analysis = analyze(run);
  const auto lines =
      lines_of(testing::written([&](const Sink& sink) { samples_csv(run, analysis, 0, sink); }));
  EXPECT_THAT(lines, ElementsAre("pid,counter,at_ns,value", "7,gpu:0/power_watts,0,100.5",
                                 "7,gpu:0/power_watts,20,300", "7,gpu:0/power_watts,30,",
                                 "7,\"loss, \"\"x\"\"\",10,1"));
}

TEST(SampleDump, JsonLinesAreBoundedPerSeries) {
  const genscope::Run run = run_with_counters();
  const Analysis analysis = analyze(run);
  const auto lines =
      lines_of(testing::written([&](const Sink& sink) { samples_json(run, analysis, 1, sink); }));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], R"({"pid":7,"counter":"gpu:0/power_watts","at_ns":20,"value":300})");
  EXPECT_EQ(lines[1], R"({"pid":7,"counter":"loss, \"x\"","at_ns":10,"value":1})");
}

}  // namespace
}  // namespace genscope
