// What a server may send us beyond HTTP itself: event streams in any pieces, JSON of any shape,
// base64; and what a user may write: templates, traces, raw requests, addresses.
#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include "bench/http/load.h"

#include "bench/http/address.h"
#include "bench/http/base64.h"
#include "bench/http/endpoint.h"
#include "bench/http/event_stream.h"
#include "bench/http/template.h"
#include "check_trace.h"

namespace {

using namespace genscope::bench;

std::vector<std::string> events_of(std::string_view text, std::size_t piece) {
  EventStreamReader reader(1 << 16);
  std::vector<std::string> events;
  while (!text.empty()) {
    const bool fits = reader.take(text.substr(0, piece),
                                  [&](std::string data) { events.push_back(std::move(data)); });
    if (!fits) break;
    text.remove_prefix(std::min(piece, text.size()));
  }
  return events;
}

void check_judge(const std::string& text) {
  for (const char* const path :
       {"/x", "/v1/images/generations", "/v1/chat/completions", "/prompt"}) {
    HttpOptions options;
    options.url = std::string("http://127.0.0.1:1") + path;
    options.body = "{}";
    const auto endpoint = Endpoint::open(options, {});
    GENSCOPE_FUZZ_CHECK(endpoint.ok());
    Reply reply;
    reply.status = 200;
    reply.type = "application/json";
    reply.body = text;
    reply.poll_error_s = 0.1;
    judge(*endpoint, reply, true);
    reply.event_stream = true;
    for (std::string& data : events_of(text, 7)) reply.events.push_back({1, std::move(data)});
    judge(*endpoint, reply, false);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (size < (1 << 16)) GENSCOPE_FUZZ_CHECK(events_of(text, 1) == events_of(text, 1 << 20));
  from_base64(text);
  check_judge(text);
  if (const auto address = parse_address(text); address.ok()) {
    GENSCOPE_FUZZ_CHECK(!address->host.empty() && address->target.starts_with('/'));
    for (const char c : address->target) GENSCOPE_FUZZ_CHECK(static_cast<unsigned char>(c) > 0x20);
  }
  // Whatever a value is, JSON stays JSON.
  const auto filled = fill(R"({"a": "{v}", "b": {v}, "c": "\"{v}"})", {{"v", text}}, Filling::json);
  GENSCOPE_FUZZ_CHECK(filled.ok() && nlohmann::json::accept(*filled));
  for (const std::string& name : names_in(text)) GENSCOPE_FUZZ_CHECK(!name.empty());
  const auto own = fill(text, {{"prompt", "x"}}, Filling::json);
  GENSCOPE_FUZZ_CHECK(own.ok() || !own.error().message.empty());
  const auto trace = parse_trace(text, "fuzz");
  GENSCOPE_FUZZ_CHECK(!trace.ok() || std::is_sorted(trace->begin(), trace->end()));
  const auto slo = parse_slo(text);
  GENSCOPE_FUZZ_CHECK(!slo.ok() || (slo->latency_s > 0 && slo->percentile < 1));
  if (const auto run = load_from_jsonl(text, "fuzz"); run.ok()) {
    summarize_load({&*run, 1}, Slo{1, 0.99});
    GENSCOPE_FUZZ_CHECK(load_from_jsonl(load_to_jsonl(*run), "again").ok());
  }
  return 0;
}
