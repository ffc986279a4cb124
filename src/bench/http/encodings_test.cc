// What has no socket in it: addresses, templates, base64, event streams.
#include <gtest/gtest.h>

#include "bench/http/address.h"
#include "bench/http/base64.h"
#include "bench/http/event_stream.h"
#include "bench/http/load.h"
#include "bench/http/template.h"

namespace genscope::bench {
namespace {

TEST(HttpAddress, TakesHostPortAndTarget) {
  const Result<Address> plain = parse_address("http://localhost");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->port, 80);
  EXPECT_EQ(plain->target, "/");
  EXPECT_EQ(plain->authority(), "localhost");
  const Result<Address> whole = parse_address("http://[::1]:8000/a/b?c=d#e");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->host, "::1");
  EXPECT_EQ(whole->authority(), "[::1]:8000");
  EXPECT_EQ(whole->target, "/a/b?c=d");
  EXPECT_EQ(whole->path(), "/a/b");
}

TEST(HttpAddress, RefusesWhatItCannotAsk) {
  for (const char* const url :
       {"ftp://x", "x", "http://", "http://u:p@x/", "http://x:0/", "http://x:99999/",
        "http://x:1y/", "http://x/a b", "http://x/\r\nX: y", "http://[::1/"}) {
    EXPECT_FALSE(parse_address(url)) << url;
  }
}

TEST(HttpAddress, HttpsHasAPortOfItsOwn) {
  const Result<Address> usual = parse_address("https://x/y");
  ASSERT_TRUE(usual);
  EXPECT_TRUE(usual->tls);
  EXPECT_EQ(usual->port, 443);
  EXPECT_EQ(usual->authority(), "x");
  EXPECT_EQ(parse_address("https://x:80/")->authority(), "x:80");
  EXPECT_EQ(parse_address("http://x:443/")->authority(), "x:443");
  EXPECT_FALSE(parse_address("http://x")->tls);
}

TEST(HttpTemplate, EscapesWithinStringsAndQuotesOutside) {
  const Params values = {{"prompt", "a \"cat\"\n"}, {"seed", "7"}, {"size", "512x512"}};
  const Result<std::string> made =
      fill(R"({"a": "x {prompt}", "b": {seed}, "c": {size}, "d": "{seed}", "e": {"f": 1}})", values,
           Filling::json);
  ASSERT_TRUE(made);
  EXPECT_EQ(*made,
            R"({"a": "x a \"cat\"\u000a", "b": 7, "c": "512x512", "d": "7", "e": {"f": 1}})");
}

TEST(HttpTemplate, KeepsEscapedQuotesAndOtherBraces) {
  const Result<std::string> made =
      fill(R"({"a": "\"{seed}\" \\", "b": {}, "c": {seed}})", {{"seed", "1"}}, Filling::json);
  ASSERT_TRUE(made);
  EXPECT_EQ(*made, R"({"a": "\"1\" \\", "b": {}, "c": 1})");
}

TEST(HttpTemplate, NamesTheOneThatWasMeant) {
  const Result<std::string> made = fill("{promt}", {{"prompt", "x"}}, Filling::plain);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("did you mean {prompt}?"), std::string::npos);
}

TEST(HttpTemplate, SeedOfARequestIsItsIterationWhereItHasNone) {
  Request request;
  request.iteration = 4;
  EXPECT_EQ(*fill("{seed} {iteration}", template_values(request), Filling::plain), "4 4");
  request.seed = -9;
  EXPECT_EQ(*fill("{seed}", template_values(request), Filling::plain), "-9");
}

TEST(HttpBase64, DecodesAndRefuses) {
  EXPECT_EQ(from_base64("aGVsbG8="), "hello");
  EXPECT_EQ(from_base64("data:image/png;base64,aGk="), "hi");
  EXPECT_EQ(from_base64("aGVs\nbG8"), "hello");
  EXPECT_EQ(from_base64(""), "");
  for (const char* const text : {"a", "a===", "aGk=x", "aG?k", "data:x,aGk="}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
}

std::vector<std::string> events_of(std::string_view text, std::size_t piece) {
  EventStreamReader reader(1000);
  std::vector<std::string> events;
  for (std::size_t i = 0; i < text.size(); i += piece) {
    reader.take(text.substr(i, piece),
                [&](std::string data) { events.push_back(std::move(data)); });
  }
  return events;
}

TEST(HttpEventStream, IsTheSameInAnyPieces) {
  const std::string text =
      "\xEF\xBB\xBF"
      ": hello\r\nevent: x\r\ndata: one\r\n\r\ndata:two\ndata: lines\n\n\n"
      "id: 3\n\ndata\n\rdata: last\r\rdata: unfinished";
  const std::vector<std::string> expected = {"one", "two\nlines", "", "last"};
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    EXPECT_EQ(events_of(text, piece), expected) << piece;
  }
}

TEST(HttpEventStream, IsBounded) {
  EventStreamReader reader(10);
  const auto ignore = [](const std::string&) {};
  EXPECT_TRUE(reader.take("data: 1234", ignore));
  EXPECT_FALSE(reader.take("5678901", ignore));
  EXPECT_FALSE(reader.take("\n\n", ignore));
}

TEST(LoadOptions, ReadsTimesAndSlos) {
  EXPECT_DOUBLE_EQ(*parse_seconds("250ms"), 0.25);
  EXPECT_DOUBLE_EQ(*parse_seconds("2"), 2);
  EXPECT_DOUBLE_EQ(*parse_seconds("10m"), 600);
  EXPECT_DOUBLE_EQ(*parse_seconds("1.5h"), 5400);
  for (const char* const text : {"", "s", "0s", "-1s", "1d", "1 s", "nan", "inf"}) {
    EXPECT_FALSE(parse_seconds(text)) << text;
  }
  EXPECT_DOUBLE_EQ(parse_slo("20s@p99")->percentile, 0.99);
  EXPECT_DOUBLE_EQ(parse_slo("1s@p99.9")->percentile, 0.999);
  EXPECT_DOUBLE_EQ(parse_slo("1s")->percentile, 0.99);
  EXPECT_NE(parse_slo("500@p99").error().message.find("needs its unit"), std::string::npos);
  EXPECT_FALSE(parse_slo("@p99").ok());
  for (const char* const text : {"@p99", "20s@", "20s@p0", "20s@p100", "20s@x"}) {
    EXPECT_FALSE(parse_slo(text)) << text;
  }
}

TEST(LoadOptions, ReadsATraceAndNamesTheLine) {
  const auto times = parse_trace("# arrivals\n0\n\n0.5 # later\n0.5\r\n2e0\n", "t");
  ASSERT_TRUE(times);
  EXPECT_EQ(*times, (std::vector<double>{0, 0.5, 0.5, 2}));
  EXPECT_NE(parse_trace("0\n1\n0.5\n", "t").error().message.find("t:3"), std::string::npos);
  EXPECT_NE(parse_trace("0\nx\n", "t").error().message.find("t:2"), std::string::npos);
  EXPECT_FALSE(parse_trace("# nothing\n", "t"));
}

}  // namespace
}  // namespace genscope::bench
