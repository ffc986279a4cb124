// Raw requests as lines of JSON, so that several generators can be pooled and anybody can look.
// Times in the lines are nanoseconds since the start of the run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file_reader.h"
#include "base/text.h"
#include "bench/http/load.h"

namespace genscope::bench {
namespace {

using RawJson = nlohmann::json;
constexpr const char* kRawSchema = "genscope.load/1";

Error bad_line(std::string_view file, std::size_t line, std::string_view what) {
  return {ErrorCode::bad_data, fmt::format("{}:{}: {}", file, line, what)};
}

std::optional<Arrivals> arrivals_of(std::string_view text) {
  for (const Arrivals one : {Arrivals::closed, Arrivals::poisson, Arrivals::gamma,
                             Arrivals::constant, Arrivals::trace, Arrivals::at_once}) {
    if (name(one) == text) return one;
  }
  return std::nullopt;
}

template <class T>
bool take_whole(const RawJson& line, const char* key, T& value) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number_integer()) return false;
  value = found->get<T>();
  return true;
}

void take_float(const RawJson& line, const char* key, float& value) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number()) return;
  const float read = found->get<float>();
  if (std::isfinite(read)) value = read;
}

Status read_head(const RawJson& head, std::string_view file, LoadRun& run) {
  if (!head.is_object() || head.value("schema", RawJson()) != kRawSchema) {
    return bad_line(file, 1,
                    fmt::format("not raw requests of `genscope bench load --raw`: the "
                                "first line has no schema {}",
                                kRawSchema));
  }
  const auto text = [&](const char* key) {
    const auto found = head.find(key);
    return found != head.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  run.scenario = text("scenario");
  run.target = text("target");
  const std::optional<Arrivals> arrivals = arrivals_of(text("arrivals"));
  std::uint64_t concurrency = 0, samples = 0;
  const bool whole = take_whole(head, "concurrency", concurrency) &&
                     take_whole(head, "samples_per_query", samples) &&
                     take_whole(head, "seed", run.seed) &&
                     take_whole(head, "generator", run.generator) &&
                     take_whole(head, "generators", run.generators) &&
                     take_whole(head, "cancelled", run.cancelled) &&
                     take_whole(head, "started_unix_ns", run.started_unix_ns);
  const auto window = head.find("window_s"), rate = head.find("rate_per_s");
  if (!arrivals || !whole || window == head.end() || !window->is_number() || rate == head.end() ||
      !rate->is_number() || samples == 0 || run.started_unix_ns < 0 ||
      run.started_unix_ns > std::int64_t{8} * 1'000'000'000'000'000'000) {
    return bad_line(file, 1, "a setting is missing or of another type; the file was changed");
  }
  run.arrivals = *arrivals;
  run.concurrency = concurrency;
  run.samples_per_query = samples;
  run.window_s = window->get<double>();
  run.rate = rate->get<double>();
  const auto cv = head.find("cv");
  if (cv != head.end() && cv->is_number()) run.cv = cv->get<double>();
  const auto clock = head.find("clock_error_s");
  if (clock != head.end() && clock->is_number()) run.clock_error_s = clock->get<double>();
  return Done{};
}

Status read_request(const RawJson& line, std::string_view file, std::size_t number,
                    LoadRequest& out) {
  constexpr std::int64_t kYear = 31'536'000'000'000'000;  // ns; longer is no run
  const bool whole =
      line.is_object() && take_whole(line, "index", out.index) &&
      take_whole(line, "query", out.query) && take_whole(line, "scheduled_ns", out.scheduled_ns) &&
      take_whole(line, "began_ns", out.began_ns) && take_whole(line, "done_ns", out.done_ns);
  if (!whole)
    return bad_line(file, number, "index, query, scheduled_ns, began_ns and done_ns are needed");
  for (const std::int64_t time : {out.scheduled_ns, out.began_ns, out.done_ns}) {
    if (time < -kYear || time > kYear) return bad_line(file, number, "a time beyond a year");
  }
  take_whole(line, "sent_ns", out.sent_ns);
  take_whole(line, "first_byte_ns", out.first_byte_ns);
  take_whole(line, "bytes", out.bytes);
  take_whole(line, "status", out.status);
  take_float(line, "ttft_s", out.ttft_s);
  take_float(line, "tpot_s", out.tpot_s);
  take_float(line, "tokens", out.tokens);
  take_float(line, "poll_error_s", out.poll_error_s);
  const auto kind = line.find("class");
  if (kind == line.end() || !kind->is_string()) return bad_line(file, number, "class is missing");
  if (*kind == "ok") return Done{};
  out.failure = failure_class(kind->get_ref<const std::string&>());
  if (!out.failure) return bad_line(file, number, "class is neither ok nor a failure");
  return Done{};
}

}  // namespace

std::string load_to_jsonl(const LoadRun& run) {
  std::string out = fmt::format(
      R"({{"schema": "{}", "scenario": {}, "target": {}, "arrivals": "{}", "rate_per_s": {}, )"
      R"("cv": {}, "concurrency": {}, "samples_per_query": {}, "seed": {}, "generator": {}, "generators": {}, )"
      R"("started_unix_ns": {}, "window_s": {}, "cancelled": {}, "clock_error_s": {}}})"
      "\n",
      kRawSchema, base::json_quote(run.scenario), base::json_quote(run.target), name(run.arrivals),
      run.rate, run.cv, run.concurrency, run.samples_per_query, run.seed, run.generator,
      run.generators, run.started_unix_ns, run.window_s, run.cancelled,
      run.clock_error_s ? fmt::format("{}", *run.clock_error_s) : "null");
  const auto or_null = [](std::int64_t ns) { return ns < 0 ? "null" : std::to_string(ns); };
  for (const LoadRequest& request : run.requests) {
    out += fmt::format(
        R"({{"index": {}, "query": {}, "scheduled_ns": {}, "began_ns": {}, "sent_ns": {}, )"
        R"("first_byte_ns": {}, "done_ns": {}, "status": {}, "bytes": {}, "class": "{}")",
        request.index, request.query, request.scheduled_ns, request.began_ns,
        or_null(request.sent_ns), or_null(request.first_byte_ns), request.done_ns, request.status,
        request.bytes, request.failure ? name(*request.failure) : "ok");
    const auto add = [&](const char* key, float value) {
      if (!std::isnan(value)) out += fmt::format(R"(, "{}": {})", key, value);
    };
    add("ttft_s", request.ttft_s);
    add("tpot_s", request.tpot_s);
    add("tokens", request.tokens);
    add("poll_error_s", request.poll_error_s);
    out += "}\n";
  }
  return out;
}

Result<LoadRun> load_from_jsonl(std::string_view text, std::string_view file) {
  LoadRun run;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view part = base::next_part(text, '\n');
    if (part.empty()) continue;
    const RawJson line = RawJson::parse(part, nullptr, false);
    if (number == 1) {
      if (const Status fine = read_head(line, file, run); !fine) return fine.error();
      continue;
    }
    LoadRequest request;
    if (const Status fine = read_request(line, file, number, request); !fine) return fine.error();
    run.requests.push_back(request);
  }
  if (run.samples_per_query == 0 || run.started_unix_ns == 0) {
    return bad_line(file, 1, "the file is empty; give one that `bench load --raw` wrote");
  }
  return run;
}

}  // namespace genscope::bench
