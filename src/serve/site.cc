#include "serve/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "report/page/bundle.h"
#include "report/page/page.h"
#include "serve/guard.h"
#include "serve/kept_runs.h"
#include "serve/live.h"
#include "serve/metrics.h"
#include "serve/run_figures.h"
#include "serve/runs.h"
#include "serve/url.h"

namespace genscope::serve {
namespace {

constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kJson = "application/json";

HttpResponse not_found() { return {.status = 404, .body = "there is no such page\n"}; }

// Not a 404, nor an empty list: what is there is not known.
HttpResponse cannot_look(const Error& error) {
  return {.status = 503, .body = error.message + "\n", .headers = {{"Retry-After", "5"}}};
}

// The policy that the page carries, with the hashes of its script and style, as a header: it then
// also says what only a header can.
std::string policy_of(std::string_view page) {
  constexpr std::string_view kMark = "http-equiv=\"Content-Security-Policy\" content=\"";
  const std::size_t at = page.find(kMark);
  if (at == std::string_view::npos) return "default-src 'none'";
  page.remove_prefix(at + kMark.size());
  return std::string(page.substr(0, page.find('"'))) + "; frame-ancestors 'none'";
}

HttpResponse page() {
  static const std::string policy = policy_of(report::live_page());
  return {.type = kHtml,
          .body = std::string(report::live_page()),
          .headers = {{"Content-Security-Policy", policy}}};
}

// Whether a person looks at it in a browser, whose address must not keep the token.
bool is_page(std::string_view path) { return path == "/" || path.starts_with("/runs/"); }

std::optional<HttpResponse> without_token(const HttpRequest& request) {
  if (!is_page(request.path) || !request.query.contains("token")) return std::nullopt;
  Target target{request.path, request.query};
  target.query.erase("token");
  return HttpResponse{.status = 303, .headers = {{"Location", target_text(target)}}};
}

// A run is known by the last name of its path, which "." and "runs/" do not have.
SiteOptions with_whole_path(SiteOptions options) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::canonical(options.folder, failed);
  if (!failed) options.folder = whole.string();
  return options;
}

template <class Write>
HttpResponse written(const char* type, Write&& write) {
  HttpResponse response{.type = type};
  write([&](std::string_view part) { response.body += part; });
  return response;
}

class SiteImpl final : public Site {
 public:
  explicit SiteImpl(const SiteOptions& options)
      : options_(with_whole_path(options)),
        guard_(options.token, hosts_of(options)),
        live_(options_.folder, options_.interval),
        figures_(options_.folder) {}
  // The live thread and the handlers use each other's half: both end before either goes.
  ~SiteImpl() override {
    stop(std::chrono::milliseconds(0));
    live_.join();
  }

  Status start() {
    HttpHandlers handlers{
        .answer = [this](const HttpRequest& request) { return dressed(request, route(request)); },
        .slow = [](const HttpRequest& request) { return reads_a_run(request.path); },
        .at_once = [this](const HttpRequest& request) { return at_once(request); }};
    Result<std::unique_ptr<HttpServer>> server =
        HttpServer::start({options_.address, options_.port, options_.limits}, std::move(handlers));
    if (!server) return server.error();
    server_ = std::move(*server);
    live_.start(*server_);
    answering_.store(server_.get(), std::memory_order_release);
    return Done{};
  }

  std::uint16_t port() const noexcept override { return server_->port(); }
  std::string url(const std::string& run_id) const override {
    const bool six = options_.address.find(':') != std::string::npos;
    return fmt::format("http://{}{}{}:{}/{}{}{}{}", six ? "[" : "", options_.address,
                       six ? "]" : "", port(), run_id.empty() ? "" : "runs/", run_id,
                       options_.token.empty() ? "" : "?token=", options_.token);
  }
  HttpCounts counts() const override { return server_->counts(); }
  bool stop(std::chrono::milliseconds grace) override {
    const auto deadline = std::chrono::steady_clock::now() + grace;
    live_.stop(std::chrono::milliseconds(0));
    const bool answered = !server_ || server_->stop(grace);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    const bool read = figures_.stop();
    return live_.stop(std::max(left, std::chrono::milliseconds(100))) && answered && read;
  }

 private:
  static std::vector<std::string> hosts_of(const SiteOptions& options) {
    std::vector<std::string> hosts = Guard::hosts_of(options.address);
    hosts.insert(hosts.end(), options.hosts.begin(), options.hosts.end());
    return hosts;
  }

  HttpResponse dressed(const HttpRequest& request, HttpResponse response) const {
    guard_.add_standard_headers(request, response);
    return response;
  }

  std::optional<HttpResponse> at_once(const HttpRequest& request) const {
    std::optional<HttpResponse> known = guard_.refuse(request);
    if (!known) known = without_token(request);
    if (!known && request.path == "/healthz") known = HttpResponse{.body = "ok\n"};
    if (!known && request.path == "/") known = page();
    if (!known) return std::nullopt;
    return dressed(request, *std::move(known));
  }

  static bool reads_a_run(std::string_view path) {
    return path.ends_with("/page") || path.ends_with("/report.html") ||
           path.ends_with("/report.json");
  }

  HttpResponse route(const HttpRequest& request) {
    std::string_view path = request.path;
    if (path == "/metrics") return metrics();
    if (path == "/api/v1/runs") {
      const Result<std::vector<RunEntry>> runs = list_runs(options_.folder);
      if (!runs) return cannot_look(runs.error());
      return {.type = kJson, .body = runs_json(*runs, figures_.of(*runs))};
    }
    for (const std::string_view prefix : {"/runs/", "/api/v1/runs/"}) {
      if (!path.starts_with(prefix)) continue;
      path.remove_prefix(prefix.size());
      const std::size_t slash = path.find('/');
      const Result<std::optional<RunEntry>> found =
          find_run(options_.folder, path.substr(0, slash));
      if (!found) return cannot_look(found.error());
      const std::optional<RunEntry>& run = *found;
      if (!run) return {.status = 404, .body = "there is no such run\n"};
      if (prefix == "/runs/") return slash == std::string_view::npos ? page() : not_found();
      return part(*run, slash == std::string_view::npos ? "" : path.substr(slash + 1));
    }
    return not_found();
  }

  HttpResponse part(const RunEntry& run, std::string_view what) {
    if (what == "stream") {
      return {.type = "text/event-stream",
              .stream = LiveRuns::channel_of(run.id),
              .streams = [this, run] { live_.watch(run); }};
    }
    if (what != "page" && what != "report.html" && what != "report.json") return not_found();
    const Result<std::shared_ptr<const WholeRun>> read = kept_.get(run);
    if (!read && read.error().code == ErrorCode::io) return cannot_look(read.error());
    if (!read) return {.status = 500, .body = read.error().message + "\n"};
    const WholeRun& all = **read;
    if (what == "report.html") {
      HttpResponse response = written(
          kHtml, [&](const Sink& sink) { report_html(all.run, all.analysis, all.advice, sink); });
      response.headers.emplace_back("Content-Disposition", "attachment; filename=report.html");
      return response;
    }
    HttpResponse response = written(
        kJson, [&](const Sink& sink) { report_json(all.run, all.analysis, all.advice, sink); });
    if (what == "report.json") return response;
    return {.type = "application/gzip",
            .body = report::gzip(report::page_container(all.run, all.analysis, response.body, {}))};
  }

  HttpResponse metrics() {
    Result<std::vector<RunEntry>> found = list_runs(options_.folder);
    if (!found) return cannot_look(found.error());
    std::erase_if(*found, [](const RunEntry& run) { return !run.in_progress; });
    const std::vector<std::shared_ptr<const Progress>> progress = live_.scrape(*found);
    std::vector<MeasuredRun> runs;
    for (std::size_t i = 0; i < found->size(); ++i) runs.push_back({(*found)[i].id, progress[i]});
    const HttpServer* const server = answering_.load(std::memory_order_acquire);
    return {.type = "text/plain; version=0.0.4; charset=utf-8",
            .body = metrics_text(runs, server != nullptr ? server->counts() : HttpCounts{})};
  }

  const SiteOptions options_;
  Guard guard_;
  LiveRuns live_;
  KeptRuns kept_;
  ListFigures figures_;
  std::unique_ptr<HttpServer> server_;  // of the thread that starts and stops
  // The same for its own threads, which may answer before start() has returned; null until then.
  std::atomic<HttpServer*> answering_{nullptr};
};

}  // namespace

Result<std::unique_ptr<Site>> Site::open(const SiteOptions& options) {
  try {
    auto site = std::make_unique<SiteImpl>(options);
    if (const Status started = site->start(); !started) return started.error();
    return std::unique_ptr<Site>(std::move(site));
  } catch (const std::exception& error) {  // no thread, no memory
    return Error{ErrorCode::io, std::string("cannot start a server: ") + error.what()};
  }
}

}  // namespace genscope::serve
