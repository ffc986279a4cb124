#include "serve/site.h"

#include <fmt/format.h>

#include <atomic>
#include <filesystem>

#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "report/page/bundle.h"
#include "report/page/page.h"
#include "serve/guard.h"
#include "serve/live.h"
#include "serve/metrics.h"
#include "serve/runs.h"

namespace genscope::serve {
namespace {

constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kJson = "application/json";

HttpResponse not_found() { return {.status = 404, .body = "there is no such page\n"}; }

// A run as it is now, read and summed up.
struct Whole {
  Run run;
  Analysis analysis;
  Advice advice;
};
Result<Whole> whole(const RunEntry& entry) {
  Result<Run> run = read_run(entry.path);
  if (!run) return run.error();
  Whole out{std::move(*run), {}, {}};
  out.analysis = analyze(out.run);
  out.advice = advise(facts_of(out.run, out.analysis));
  return out;
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
        guard_(options.token, options.address),
        live_(options_.folder, options_.interval) {}
  ~SiteImpl() override { stop(std::chrono::milliseconds(0)); }

  Status start() {
    Result<std::unique_ptr<HttpServer>> server =
        HttpServer::start({options_.address, options_.port, options_.limits},
                          [this](const HttpRequest& request) { return answer(request); });
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
  void stop(std::chrono::milliseconds grace) override {
    live_.stop();
    if (server_) server_->stop(grace);
  }

 private:
  HttpResponse answer(const HttpRequest& request) {
    std::optional<HttpResponse> refused = guard_.refuse(request);
    HttpResponse response = refused ? *std::move(refused) : route(request.path);
    guard_.dress(request, response);
    return response;
  }

  HttpResponse route(std::string_view path) {
    if (path == "/healthz") return {.body = "ok\n"};
    if (path == "/") return page();
    if (path == "/metrics") return metrics();
    if (path == "/api/v1/runs")
      return {.type = kJson, .body = runs_json(list_runs(options_.folder))};
    for (const std::string_view prefix : {"/runs/", "/api/v1/runs/"}) {
      if (!path.starts_with(prefix)) continue;
      path.remove_prefix(prefix.size());
      const std::size_t slash = path.find('/');
      const std::optional<RunEntry> run = find_run(options_.folder, path.substr(0, slash));
      if (!run) return {.status = 404, .body = "there is no such run\n"};
      if (prefix == "/runs/") return slash == std::string_view::npos ? page() : not_found();
      return part(*run, slash == std::string_view::npos ? "" : path.substr(slash + 1));
    }
    return not_found();
  }

  static HttpResponse page() { return {.type = kHtml, .body = std::string(report::live_page())}; }

  HttpResponse part(const RunEntry& run, std::string_view what) {
    if (what == "stream") {
      return {.type = "text/event-stream",
              .stream = LiveRuns::channel_of(run.id),
              .streams = [this, run] { live_.watch(run); }};
    }
    if (what != "page" && what != "report.html" && what != "report.json") return not_found();
    const Result<Whole> read = whole(run);
    if (!read) return {.status = 500, .body = read.error().message + "\n"};
    const auto& [recorded, analysis, advice] = *read;
    if (what == "report.html") {
      HttpResponse response =
          written(kHtml, [&](const Sink& sink) { report_html(recorded, analysis, advice, sink); });
      response.headers.emplace_back("Content-Disposition", "attachment; filename=report.html");
      return response;
    }
    HttpResponse response =
        written(kJson, [&](const Sink& sink) { report_json(recorded, analysis, advice, sink); });
    if (what == "report.json") return response;
    return {.type = "application/gzip",
            .body = report::gzip(report::page_container(recorded, analysis, response.body, {}))};
  }

  HttpResponse metrics() {
    std::vector<std::pair<RunEntry, Progress>> runs;
    for (const RunEntry& run : list_runs(options_.folder)) {
      if (run.in_progress) runs.emplace_back(run, live_.progress(run));
    }
    const HttpServer* const server = answering_.load(std::memory_order_acquire);
    return {.type = "text/plain; version=0.0.4; charset=utf-8",
            .body = metrics_text(runs, server != nullptr ? server->counts() : HttpCounts{})};
  }

  const SiteOptions options_;
  Guard guard_;
  LiveRuns live_;
  std::unique_ptr<HttpServer> server_;  // of the thread that starts and stops
  // The same for its own threads, which may answer before start() has returned; null until then.
  std::atomic<HttpServer*> answering_{nullptr};
};

}  // namespace

Result<std::unique_ptr<Site>> Site::open(const SiteOptions& options) {
  auto site = std::make_unique<SiteImpl>(options);
  if (const Status started = site->start(); !started) return started.error();
  return std::unique_ptr<Site>(std::move(site));
}

}  // namespace genscope::serve
