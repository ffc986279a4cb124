#include "bench/suite/subject_of.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

namespace genscope::bench {
namespace {

// The words as one line for the shell, each in quotes.
std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += line.empty() ? "'" : " '";
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

// Relative to the suite file, so that a suite runs from anywhere.
std::string beside_suite(const Suite& suite, const std::string& path) {
  if (path.empty() || path.starts_with('/')) return path;
  return (std::filesystem::path(suite.file).parent_path() / path).string();
}

std::unique_ptr<Subject> suite_command(const Suite& suite, const std::string& folder) {
  const SuiteRunner& runner = suite.runner;
  CommandOptions options;
  options.command = runner.command;
  options.argv = runner.argv;
  options.shell = runner.argv.empty();
  options.prepare = runner.prepare;
  options.cleanup = runner.cleanup;
  options.cwd = beside_suite(suite, suite.runner.cwd);
  options.env = runner.env;
  options.timeout_s = suite.timeout.iteration_s;
  options.outputs = runner.outputs;
  if (!runner.outputs.empty()) options.keep_outputs = folder + "/outputs";
  if (runner.kind == "recorder") options.record = true;
  return command_subject(std::move(options));
}

std::unique_ptr<Subject> suite_endpoint(const Suite& suite, const std::string& folder) {
  HttpOptions http = suite_http(suite);
  if (suite.quality) http.outputs = folder + "/outputs";
  std::optional<ServerOptions> server = suite_server(suite, http);
  return server ? server_subject(*std::move(server)) : http_subject(std::move(http));
}

}  // namespace

HttpOptions suite_http(const Suite& suite) {
  const SuiteRunner& runner = suite.runner;
  HttpOptions http;
  http.url = runner.url;
  http.endpoint = runner.endpoint;
  http.method = runner.method;
  http.body = runner.body;
  http.headers = runner.headers;
  http.ok_pointer = runner.ok_pointer;
  http.ca_file = beside_suite(suite, runner.cacert);
  http.insecure = runner.insecure;
  if (suite.timeout.iteration_s) http.timeout_s = *suite.timeout.iteration_s;
  return http;
}

std::optional<ServerOptions> suite_server(const Suite& suite, const HttpOptions& http) {
  const SuiteRunner& runner = suite.runner;
  if (runner.command.empty() && runner.argv.empty()) return std::nullopt;
  ServerOptions server;
  server.command = runner.command.empty() ? shell_line(runner.argv) : runner.command;
  server.env = runner.env;
  server.cwd = beside_suite(suite, suite.runner.cwd);
  server.ready_url = runner.ready;
  if (suite.timeout.startup_s) server.startup_timeout_s = *suite.timeout.startup_s;
  server.once = runner.warm_server;
  server.http = http;
  return server;
}

std::string subject_label(const Suite& suite) {
  const SuiteRunner& runner = suite.runner;
  if (runner.kind == "callable") return "a function of the calling program";
  if (runner.kind == "http") return runner.url;
  return runner.command.empty() ? fmt::format("{}", fmt::join(runner.argv, " ")) : runner.command;
}

Result<std::unique_ptr<Subject>> subject_of(const Suite& suite, const SuiteOptions& options,
                                            const std::string& folder) {
  if (suite.runner.kind == "http") return suite_endpoint(suite, folder);
  if (suite.runner.kind != "callable") return suite_command(suite, folder);
  if (options.callable) return callable_subject(options.callable);
  return Error{ErrorCode::invalid_argument,
               fmt::format("{}: a runner of kind callable measures a function: call run_suite() "
                           "from C++ or Python",
                           suite.file)};
}

}  // namespace genscope::bench
