#include "record/callgrind.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <genscope/record.h>

#include "record/bodies.h"

// Kept out of line and under a plain name, so that callgrind can switch its counting on here.
extern "C" __attribute__((noinline)) void genscope_bench_counted(bench::Body body,
                                                                 std::uint64_t count) {
  body(count);
  asm volatile("");
}

namespace bench {
namespace {

struct Named {
  const char* name;
  Body body;
};
constexpr Named kBodies[] = {
    {"empty_loop", empty_loop},         {"tsc_pair", tsc_pair},
    {"static_span", static_span},       {"span_with_arguments", span_with_arguments},
    {"dynamic_span", dynamic_span},     {"compiled_out_span", compiled_out_span},
    {"detached_span", detached_span},   {"detached_dynamic_span", detached_dynamic_span},
    {"static_counter", static_counter}, {"counter_by_name", counter_by_name},
    {"event_by_name", event_by_name},   {"span_of_many_names", span_of_many_names}};

// Instructions inside genscope_bench_counted, or -1.
double count(const std::string& program, const char* body, std::uint64_t n, bool enabled) {
  const std::string out =
      std::filesystem::temp_directory_path() / ("genscope-callgrind-" + std::to_string(::getpid()));
  const std::string command =
      "valgrind --tool=callgrind --toggle-collect=genscope_bench_counted --callgrind-out-file=" +
      out + " " + program + " --callgrind-body " + body + " " + std::to_string(n) +
      (enabled ? " on" : " off") + " >/dev/null 2>&1";
  const bool ran = std::system(command.c_str()) == 0;
  double total = -1;
  std::ifstream in(out);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("totals: ")) total = std::strtod(line.c_str() + 8, nullptr);
    if (line.starts_with("summary: ") && total < 0) total = std::strtod(line.c_str() + 9, nullptr);
  }
  std::filesystem::remove(out);
  return ran ? total : -1;
}

// The difference of two lengths, so that what happens once does not count.
double per_item(const std::string& program, const char* body, bool enabled = true) {
  constexpr std::uint64_t kShort = 20'000, kLong = 220'000;
  const double a = count(program, body, kShort, enabled), b = count(program, body, kLong, enabled);
  return a < 0 || b < 0 ? -1 : (b - a) / double{kLong - kShort};
}

}  // namespace

int callgrind_body(const std::vector<std::string>& args) {
  if (args.size() != 4) return 2;
  const std::string dir =
      std::filesystem::temp_directory_path() / ("genscope-bench-" + std::to_string(::getpid()));
  genscope::SessionOptions options;
  options.out = dir;
  {
    const genscope::Session session("callgrind", options);
    genscope::set_enabled(args[3] == "on");
    for (const Named& b : kBodies) {
      if (args[1] != b.name) continue;
      b.body(args[1] == "span_of_many_names" ? 1'000'000
                                             : 10);  // names and the lane exist before it counts
      genscope_bench_counted(b.body, std::strtoull(args[2].c_str(), nullptr, 10));
    }
  }
  std::filesystem::remove_all(dir);
  return 0;
}

void instruction_rows(const char* program, Table& table) {
  if (std::system("valgrind --version >/dev/null 2>&1") != 0) {
    std::printf("valgrind is not installed: no instruction counts\n");
    return;
  }
  const double loop = per_item(program, "empty_loop");
  const auto row = [&](const char* name, double n, double bar) {
    std::string text;
    if (bar > 0) text = "<= " + std::to_string(static_cast<int>(bar));
    if (bar == 0) text = "= empty loop";
    table.add({name, n, "instructions", "", 0, text, bar < 0 || n <= (bar == 0 ? loop : bar), ""});
  };
  row("instructions: empty loop", loop, -1);
  row("instructions: two time-stamp reads", per_item(program, "tsc_pair"), -1);
  row("instructions: span, static name", per_item(program, "static_span"), 65);
  row("instructions: span + 2 integer arguments", per_item(program, "span_with_arguments"), -1);
  row("instructions: span, dynamic name", per_item(program, "dynamic_span"), -1);
  row("instructions: span, 65,536 dynamic names", per_item(program, "span_of_many_names"), -1);
  row("instructions: detached begin and end", per_item(program, "detached_span"), 130);
  row("instructions: detached, dynamic name", per_item(program, "detached_dynamic_span"), -1);
  row("instructions: counter, static name", per_item(program, "static_counter"), -1);
  row("instructions: counter by name", per_item(program, "counter_by_name"), 130);
  row("instructions: event by name", per_item(program, "event_by_name"), 130);
  row("instructions: disabled at run time", per_item(program, "static_span", false), 8);
  row("instructions: compiled out", per_item(program, "compiled_out_span"), 0);
}

}  // namespace bench
