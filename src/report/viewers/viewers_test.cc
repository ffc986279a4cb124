#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "report/testing/sample.h"
#include "report/viewers/sheets.h"

namespace genscope::report {
namespace {

using genscope::testing::make_run;
using genscope::testing::TraceBuilder;
using ViewerJson = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Two requests at once, each with a stage; then a third.
Trace requests_at_once() {
  TraceBuilder t(7);
  const auto a = t.span("a", SpanKind::request, 0, 100, {.flags = kSpanDetached});
  const auto b = t.span("b", SpanKind::request, 50, 100, {.flags = kSpanDetached});
  t.span("in a", SpanKind::stage, 10, 60, {.parent = a, .flags = kSpanDetached});
  t.span("in b", SpanKind::stage, 60, 20, {.parent = b, .flags = kSpanDetached});
  t.span("c", SpanKind::request, 150, 10, {.flags = kSpanDetached});
  return t.trace();
}

TEST(ViewerSheets, WhatOverlapsGoesToASheetOfItsOwn) {
  const std::vector<Sheets> tracks = sheets_of(requests_at_once());
  ASSERT_EQ(tracks.size(), 1u);
  EXPECT_THAT(tracks[0], ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3)));
}

TEST(ViewerSheets, SpansOfASheetNestOrFollow) {
  std::mt19937 random(1);  // NOLINT: the same spans each time
  for (int round = 0; round < 50; ++round) {
    TraceBuilder t(7);
    for (std::uint32_t i = 0; i < 200; ++i) {
      const std::uint32_t parent =
          i > 0 && random() % 2 == 0 ? static_cast<std::uint32_t>(random() % i) : kNone;
      t.span("s", SpanKind::none, static_cast<std::int64_t>(random() % 500),
             static_cast<std::int64_t>(random() % 60), {.parent = parent});
    }
    std::size_t seen = 0;
    const SpanColumns& spans = t.trace().spans;
    const std::vector<Sheets> tracks = sheets_of(t.trace());
    for (const Sheet& sheet : tracks[0]) {
      seen += sheet.size();
      std::vector<std::int64_t> open;
      for (const std::uint32_t span : sheet) {
        while (!open.empty() && open.back() <= spans.begin_ns[span]) open.pop_back();
        EXPECT_TRUE(open.empty() || open.back() >= end_of(spans, span)) << round << ' ' << span;
        open.push_back(end_of(spans, span));
      }
    }
    EXPECT_EQ(seen, spans.size());
  }
}

TEST(ViewerSheets, ManyAtOnceTakeNoLongerThanAFew) {
  TraceBuilder t(7);
  for (int i = 0; i < 50'000; ++i) t.span("r", SpanKind::request, i, 1'000'000);
  EXPECT_EQ(sheets_of(t.trace())[0].size(), 50'000u);
}

ViewerJson chrome_of(const genscope::Run& run) {
  const std::string text =
      genscope::testing::written([&](const Sink& sink) { report_chrome(run, analyze(run), sink); });
  return ViewerJson::parse(text);
}

std::vector<ViewerJson> with_phase(const ViewerJson& trace, const char* phase) {
  std::vector<ViewerJson> found;
  for (const ViewerJson& event : trace["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

TEST(ChromeTrace, HasSpansEventsAndCounters) {
  TraceBuilder t(4242);
  const auto stage = t.span("denoise", SpanKind::stage, 1'000'000'001, 2'500);
  t.arg(stage, "index", ArgType::uint64, 3).arg(stage, "dtype", ArgType::text, 0, "bf\"16");
  t.event("done", 1'000'001'001, {{"images", 2}});
  t.counter("loss", 1'000'000'501, 0.5);
  const ViewerJson trace = chrome_of(make_run(t.trace()));
  const auto spans = with_phase(trace, "X");
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0]["name"], "denoise");
  EXPECT_EQ(spans[0]["cat"], "stage");
  EXPECT_DOUBLE_EQ(spans[0]["dur"].get<double>(), 2.5);
  EXPECT_EQ(spans[0]["args"], ViewerJson({{"index", 3}, {"dtype", "bf\"16"}}));
  ASSERT_EQ(with_phase(trace, "i").size(), 1u);
  EXPECT_EQ(with_phase(trace, "i")[0]["tid"], spans[0]["tid"]);
  EXPECT_DOUBLE_EQ(with_phase(trace, "i")[0]["ts"].get<double>(), spans[0]["ts"].get<double>() + 1);
  ASSERT_EQ(with_phase(trace, "C").size(), 1u);
  EXPECT_EQ(with_phase(trace, "C")[0]["args"]["value"], 0.5);
  EXPECT_EQ(with_phase(trace, "M").size(), 2u) << "a process and its thread have names";
}

TEST(ChromeTrace, SaysWhatFailedAndIsUtf8) {
  const ViewerJson trace = chrome_of(make_run(genscope::testing::sample_trace()));
  std::map<std::string, std::string> flags;
  for (const ViewerJson& span : with_phase(trace, "X")) {
    if (span.contains("args") && span["args"].contains("genscope")) {
      flags[span["name"]] = span["args"]["genscope"];
    }
  }
  EXPECT_THAT(flags, UnorderedElementsAre(Pair("vae\x1b[31m,\xEF\xBF\xBD", "failed"),
                                          Pair("save", "unfinished")));
}

TEST(ChromeTrace, RowsAndProcessesDoNotMeet) {
  Trace one = requests_at_once();
  genscope::Run run = make_run(one);
  run.traces.push_back(one);  // the same pid on another host
  run.traces[1].process.host = "host-b";
  std::map<std::pair<int, int>, int> rows;
  for (const ViewerJson& span : with_phase(chrome_of(run), "X")) rows[{span["pid"], span["tid"]}]++;
  EXPECT_EQ(rows.size(), 4u);
}

TEST(ChromeTrace, ALaunchLeadsToItsKernel) {
  TraceBuilder t(7);
  const auto launch = t.span("launch", SpanKind::none, 0, 10);
  t.span("kernel", SpanKind::none, 20, 30, {.parent = launch, .track = t.track("stream 7", 0)});
  const ViewerJson trace = chrome_of(make_run(t.trace()));
  ASSERT_EQ(with_phase(trace, "s").size(), 1u);
  ASSERT_EQ(with_phase(trace, "f").size(), 1u);
  EXPECT_EQ(with_phase(trace, "s")[0]["id"], with_phase(trace, "f")[0]["id"]);
}

// A reader of protobuf that knows no message: fields as number and raw value, texts as bytes.
struct Field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::string bytes;
};
std::vector<Field> fields_of(std::string_view bytes) {
  std::vector<Field> fields;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0; at < bytes.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < bytes.size()) {
    const std::uint64_t key = varint();
    Field field{static_cast<std::uint32_t>(key >> 3), 0, {}};
    switch (key & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        for (int i = 0; i < 8; ++i) {
          field.value |= std::uint64_t{static_cast<unsigned char>(bytes.at(at++))} << (8 * i);
        }
        break;
      case 2: {
        const std::size_t size = varint();
        EXPECT_LE(size, bytes.size() - at);
        field.bytes = bytes.substr(at, size);
        at += size;
        break;
      }
      default:
        ADD_FAILURE() << "wire type " << (key & 7);
        return fields;
    }
    fields.push_back(field);
  }
  return fields;
}
std::optional<Field> field(const std::vector<Field>& fields, std::uint32_t number) {
  for (const Field& one : fields) {
    if (one.number == number) return one;
  }
  return std::nullopt;
}
std::vector<std::vector<Field>> packets_of(const genscope::Run& run) {
  const std::string bytes = genscope::testing::written(
      [&](const Sink& sink) { report_perfetto(run, analyze(run), sink); });
  std::vector<std::vector<Field>> packets;
  for (const Field& packet : fields_of(bytes)) {
    EXPECT_EQ(packet.number, 1u);
    packets.push_back(fields_of(packet.bytes));
  }
  return packets;
}

TEST(PerfettoTrace, SlicesOfEachRowAreBalancedAndNested) {
  const auto packets = packets_of(make_run(requests_at_once()));
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, int>>> rows;  // time, +1 or -1
  std::map<std::uint64_t, std::string> names;
  std::vector<std::string> begun;
  for (const auto& packet : packets) {
    if (const auto interned = field(packet, 12)) {
      for (const Field& name : fields_of(interned->bytes)) {
        const auto entry = fields_of(name.bytes);
        names[field(entry, 1)->value] = field(entry, 2)->bytes;
      }
    }
    const auto event = field(packet, 11);
    if (!event) continue;
    const auto parts = fields_of(event->bytes);
    const std::uint64_t type = field(parts, 9)->value;
    ASSERT_TRUE(type == 1 || type == 2);
    rows[field(parts, 11)->value].emplace_back(field(packet, 8)->value, type == 1 ? 1 : -1);
    if (type == 1) begun.push_back(names.at(field(parts, 10)->value));
  }
  EXPECT_THAT(begun, UnorderedElementsAre("a", "in a", "c", "b", "in b"));
  ASSERT_EQ(rows.size(), 2u);
  for (const auto& [row, moments] : rows) {
    int open = 0;
    std::uint64_t last = 0;
    for (const auto& [at, step] : moments) {
      EXPECT_GE(at, last);
      last = at;
      open += step;
      EXPECT_GE(open, 0);
    }
    EXPECT_EQ(open, 0);
  }
}

TEST(PerfettoTrace, HasProcessThreadCounterAndArguments) {
  TraceBuilder t(4242);
  const auto stage = t.span("denoise", SpanKind::stage, 5, 10);
  t.args(stage, {{"scale", 4.5}, {"dtype", "bf16"}});
  t.counter("loss", 7, 0.25);
  std::vector<std::string> processes, threads, others;
  std::optional<double> value;
  std::map<std::string, std::string> texts;
  for (const auto& packet : packets_of(make_run(t.trace()))) {
    if (const auto descriptor = field(packet, 60)) {
      const auto parts = fields_of(descriptor->bytes);
      if (const auto process = field(parts, 3)) {
        processes.push_back(field(fields_of(process->bytes), 6)->bytes);
      } else if (const auto thread = field(parts, 4)) {
        EXPECT_EQ(field(fields_of(thread->bytes), 2)->value, 4242u);
        threads.push_back(field(fields_of(thread->bytes), 5)->bytes);
      } else {
        others.push_back(field(parts, 2)->bytes);
      }
    }
    const auto event = field(packet, 11);
    if (!event) continue;
    const auto parts = fields_of(event->bytes);
    if (const auto real = field(parts, 44)) value = std::bit_cast<double>(real->value);
    for (const Field& one : parts) {
      if (one.number != 4) continue;
      const auto note = fields_of(one.bytes);
      const auto real = field(note, 5), text = field(note, 6);
      texts[field(note, 10)->bytes] =
          real ? std::to_string(std::bit_cast<double>(real->value)) : text->bytes;
    }
  }
  EXPECT_THAT(processes, ElementsAre("process (pid 4242)"));
  EXPECT_THAT(threads, ElementsAre("main"));
  EXPECT_THAT(others, ElementsAre("loss"));
  EXPECT_EQ(value, 0.25);
  EXPECT_THAT(texts, UnorderedElementsAre(Pair("scale", "4.500000"), Pair("dtype", "bf16")));
}

}  // namespace
}  // namespace genscope::report
