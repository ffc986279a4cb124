// `defaults`: how a cell is measured.
#include <fmt/format.h>

#include "bench/http/address.h"
#include "bench/http/endpoint.h"
#include "bench/suite/sections.h"

namespace genscope::bench {
namespace {

using config::YamlValue;

constexpr std::size_t kMostUnits = 100'000;

void read_command(Section& section, SuiteRunner& runner) {
  const YamlValue* const command = section.any("command");
  if (command == nullptr) return;
  if (command->kind == YamlValue::Kind::list) {
    section.texts("command", runner.argv);
  } else {
    section.text("command", runner.command);
  }
}

// What is no address whatever the values of {name} are.
void read_address(Section& section, const char* name, std::string& address) {
  if (!section.text(name, address) || address.empty()) return;
  std::string tried;
  for (std::size_t at = 0; at < address.size(); ++at) {
    const std::size_t end = address[at] == '{' ? address.find('}', at) : std::string::npos;
    tried += end == std::string::npos ? address[at] : '1';
    if (end != std::string::npos) at = end;
  }
  if (const Result<Address> parsed = parse_address(tried); !parsed) {
    section.wrong(section.any(name)->line, name, parsed.error().message);
  }
}

std::vector<std::string> endpoint_names() {
  std::vector<std::string> names;
  for (const EndpointKind& kind : endpoint_kinds()) names.emplace_back(kind.name);
  return names;
}

void read_runner(const YamlValue& value, SuiteRunner& runner, Mistakes& mistakes) {
  Section section(value, "defaults.runner", mistakes);
  section.word("kind", runner.kind, {"command", "recorder", "http", "callable"});
  read_command(section, runner);
  section.text("prepare", runner.prepare);
  section.text("cleanup", runner.cleanup);
  section.text("cwd", runner.cwd);
  section.pairs("env", runner.env);
  section.texts("outputs", runner.outputs);
  read_address(section, "url", runner.url);
  section.word("endpoint", runner.endpoint, endpoint_names());
  section.word("method", runner.method, {"GET", "POST", "PUT"});
  section.text("body", runner.body);
  section.pairs("headers", runner.headers);
  read_address(section, "ready", runner.ready);
  section.text("ok_pointer", runner.ok_pointer);
  section.text("cacert", runner.cacert);
  section.flag("insecure", runner.insecure);
  section.flag("warm_server", runner.warm_server);
}

// {min: 4, max: 12}, or one number for both.
void read_count(Section& section, const char* name, SuiteCount& count, Mistakes& mistakes) {
  const YamlValue* const value = section.any(name);
  if (value == nullptr) return;
  if (value->kind == YamlValue::Kind::scalar) {
    if (section.count(name, count.min, 1, kMostUnits)) count.max = count.min;
    return;
  }
  Section range(*value, section.path() + "." + name, mistakes);
  const bool has_max = range.has("max");
  if (range.count("min", count.min, 1, kMostUnits) && !has_max) {
    count.max = std::max(count.max, count.min);
  }
  range.count("max", count.max, 1, kMostUnits);
  if (count.max < count.min) {
    range.wrong(value->line, "max", fmt::format("{} is below min, {}", count.max, count.min));
  }
}

void read_warmup(const YamlValue& value, SuiteWarmup& warmup, Mistakes& mistakes) {
  Section section(value, "defaults.warmup", mistakes);
  std::string mode = "auto";
  section.word("mode", mode, {"auto", "none"});
  section.count("max_iters", warmup.max_iters, 0, 1000);
  section.number("max_seconds", warmup.max_seconds, 0, 1e6);
  section.flag("same_shape", warmup.same_shape);
  if (mode == "none") warmup.max_iters = 0;
}

void read_stop(const YamlValue& value, SuiteStop& stop, Mistakes& mistakes) {
  Section section(value, "defaults.stop", mistakes);
  section.number("ci", stop.confidence, 0.5, 0.9999);
  section.share("rel_half_width", stop.rel_half_width);
  section.duration("budget", stop.budget_s);
}

void read_timeout(const YamlValue& value, SuiteTimeout& timeout, Mistakes& mistakes) {
  Section section(value, "defaults.timeout", mistakes);
  section.duration("cell", timeout.cell_s);
  section.duration("iteration", timeout.iteration_s);
  section.duration("startup", timeout.startup_s);
}

void read_retry(const YamlValue& value, SuiteRetry& retry, Mistakes& mistakes) {
  Section section(value, "defaults.retry", mistakes);
  section.count("infra", retry.infra, 0, 100);
  section.count("throttled", retry.throttled, 0, 100);
  section.count("product_failure", retry.product_failure, 0, 100);
}

}  // namespace

void read_defaults(Section& root, Suite& suite, Mistakes& mistakes) {
  if (root.has("load")) suite.processes = {1, 1};  // a unit is then a load run, which is long
  const YamlValue* const value = root.any("defaults");
  if (value == nullptr) return;
  Section section(*value, "defaults", mistakes);
  if (const YamlValue* part = section.any("runner")) read_runner(*part, suite.runner, mistakes);
  section.word("isolation", suite.isolation, {"process", "server", "in_process"});
  std::string order = "random";
  section.word("order", order, {"abba", "latin", "random", "blocks"});
  suite.order = order == "blocks"  ? Order::blocks
                : order == "latin" ? Order::latin
                : order == "abba"  ? Order::abba
                                   : Order::random;
  read_count(section, "processes", suite.processes, mistakes);
  read_count(section, "iterations", suite.iterations, mistakes);
  if (const YamlValue* part = section.any("warmup")) read_warmup(*part, suite.warmup, mistakes);
  if (const YamlValue* part = section.any("stop")) read_stop(*part, suite.stop, mistakes);
  if (const YamlValue* part = section.any("timeout")) read_timeout(*part, suite.timeout, mistakes);
  if (const YamlValue* part = section.any("retry")) read_retry(*part, suite.retry, mistakes);
}

}  // namespace genscope::bench
