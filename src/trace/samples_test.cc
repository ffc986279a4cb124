#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>

#include "genscope/trace.h"
#include "trace/sample_names.h"

namespace genscope::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A trace as a sampler writes it.
class SampledTrace {
 public:
  using Texts = std::initializer_list<std::pair<std::string, std::string>>;

  void event(const std::string& name, std::int64_t at_ns, Texts args) {
    const auto owner = static_cast<std::uint32_t>(trace.events.size());
    trace.events.at_ns.push_back(at_ns);
    trace.events.name.push_back(number(name));
    trace.events.track.push_back(0);
    trace.events.span.push_back(kNone);
    for (const auto& [key, value] : args) {
      trace.event_args.owner.push_back(owner);
      trace.event_args.key.push_back(number(key));
      trace.event_args.type.push_back(ArgType::text);
      trace.event_args.bits.push_back(trace.texts.size());
      trace.texts.push_back(value);
    }
  }
  void entity(const std::string& id, const std::string& kind) {
    event("genscope.entity", 0, {{"id", id}, {"kind", kind}, {"facts", "a=b=c\nnothing\n"}});
  }
  void counter(const std::string& name, std::int64_t at_ns, double value) {
    trace.counters.at_ns.push_back(at_ns);
    trace.counters.name.push_back(number(name));
    trace.counters.track.push_back(0);
    trace.counters.value.push_back(value);
  }
  const Samples& decoded() {
    decode_samples(trace);
    return trace.samples;
  }
  std::uint32_t number(const std::string& text) {
    for (std::uint32_t n = 0; n < trace.names.size(); ++n) {
      if (trace.names[n].text == text) return n;
    }
    trace.names.push_back({text, SpanKind::none});
    return static_cast<std::uint32_t>(trace.names.size() - 1);
  }

  Trace trace;
};

TEST(Samples, AreTheCountersOfAKnownEntityAndMetric) {
  SampledTrace t;
  t.entity("gpu/0", "gpu");
  t.counter("gpu/0/power_watts", 10, 300);
  t.counter("loss", 11, 0.5);
  t.counter("gpu/1/power_watts", 12, 1);  // nobody announced that GPU
  t.counter("gpu/0/power", 13, 2);        // no metric of ours
  const Samples& samples = t.decoded();
  ASSERT_THAT(samples.entities, SizeIs(1));
  EXPECT_EQ(samples.entities[0].kind, EntityKind::gpu);
  EXPECT_THAT(samples.entities[0].facts, ElementsAre(std::pair("a", "b=c")));
  ASSERT_THAT(samples.series, SizeIs(1));
  EXPECT_EQ(samples.series[0].metric.get(), find_metric("power_watts"));
  EXPECT_THAT(samples.series[0].rows, ElementsAre(0));
  EXPECT_EQ(samples.of_name(t.number("gpu/0/power_watts")), &samples.series[0]);
  for (const char* own : {"loss", "gpu/1/power_watts", "gpu/0/power"}) {
    EXPECT_EQ(samples.of_name(t.number(own)), nullptr) << own;
  }
}

TEST(Samples, OfATraceWithoutASamplerAreNone) {
  SampledTrace t;
  t.counter("tree/rss_bytes", 1, 1);
  const Samples& samples = t.decoded();
  EXPECT_THAT(samples.series, IsEmpty());
  EXPECT_EQ(samples.of_name(0), nullptr);
  EXPECT_EQ(samples.of_name(kNone), nullptr);
}

TEST(Samples, AMetricOfTheProgramsOwnKeepsWhatWasSaidOfIt) {
  SampledTrace t;
  t.entity("queue", "other");
  t.event("genscope.series", 0,
          {{"counter", "queue/queue_length"},
           {"source", "the queue itself"},
           {"unit", "requests"},
           {"kind", "counter"},
           {"description", "Requests that wait"}});
  t.counter("queue/queue_length", 5, 3);
  Samples samples = t.decoded();
  t.trace = {};  // a series owns its metric
  ASSERT_THAT(samples.series, SizeIs(1));
  const Metric& metric = *samples.series[0].metric;
  EXPECT_EQ(metric.id, "queue_length");
  EXPECT_EQ(metric.unit, "requests");
  EXPECT_EQ(metric.kind, MetricKind::counter);
  EXPECT_EQ(metric.description, "Requests that wait");
  EXPECT_EQ(samples.series[0].source, "the queue itself");
}

TEST(Samples, RowsAreFiniteAndInTheOrderOfTime) {
  SampledTrace t;
  t.entity("tree", "process_tree");
  for (const auto& [at, value] : {std::pair{30, 3.0}, {10, 1.0}, {20, std::nan("")}, {20, 2.0}}) {
    t.counter("tree/rss_bytes", at, value);
  }
  EXPECT_THAT(t.decoded().series.at(0).rows, ElementsAre(1, 3, 0));
}

TEST(Samples, ASeriesThatNeverHadAValueSaysWhy) {
  SampledTrace t;
  t.entity("tree", "process_tree");
  t.event("genscope.status", 7,
          {{"counter", "tree/io_read_bytes"}, {"status", "not_permitted"}, {"reason", "no"}});
  t.event("genscope.status", 8, {{"counter", "nobody/io_read_bytes"}, {"status", "absent"}});
  const Samples& samples = t.decoded();
  ASSERT_THAT(samples.series, SizeIs(1));
  EXPECT_EQ(samples.series[0].name, kNone);
  EXPECT_EQ(samples.series[0].status, SampleStatus::not_permitted);
  EXPECT_EQ(samples.series[0].status_at_ns, 7);
  EXPECT_EQ(samples.series[0].reason, "no");
}

TEST(Samples, AnAllocatorNeedsNoAnnouncement) {
  SampledTrace t;
  t.counter("allocator:cuda:0/allocator_reserved_bytes", 1, 5);
  const Samples& samples = t.decoded();
  ASSERT_THAT(samples.entities, SizeIs(1));
  EXPECT_EQ(samples.entities[0].kind, EntityKind::allocator);
  EXPECT_EQ(samples.entities[0].name, "cuda:0");
  ASSERT_THAT(samples.series, SizeIs(1));
}

TEST(Samples, OtherEventsOfASamplerAreKept) {
  SampledTrace t;
  t.event("genscope.device_lost", 3, {{"entity", "GPU-1"}, {"detail", "gone"}});
  t.event("genscope.process", 4, {{"entity", "tree"}, {"name", "python"}});
  t.event("mine", 5, {{"entity", "GPU-1"}});
  const Samples& samples = t.decoded();
  ASSERT_THAT(samples.events, SizeIs(1));
  EXPECT_EQ(samples.events[0].name, "device_lost");
  EXPECT_EQ(samples.events[0].detail, "gone");
  ASSERT_THAT(samples.processes, SizeIs(1));
  EXPECT_EQ(samples.processes[0].name, "python");
  EXPECT_FALSE(samples.processes[0].rss_bytes);
  EXPECT_TRUE(is_sampler_event(t.trace, 0));
  EXPECT_FALSE(is_sampler_event(t.trace, 2));
}

}  // namespace
}  // namespace genscope::trace
