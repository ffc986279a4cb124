#include "cli/watch/live_server.h"

#include <csignal>
#include <filesystem>
#include <thread>

#include "serve/guard.h"
#include "serve/site.h"

namespace genscope::cli::watch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Few: the descriptors are this process's, which has to go on reading probes.
constexpr std::size_t kConnections = 256;
constexpr milliseconds kTold{4000};      // for the event that the run has ended
constexpr milliseconds kLastPage{1500};  // for the request that follows it
constexpr milliseconds kAnswered{5000};  // for what is then being answered
constexpr milliseconds kPoll{50};

}  // namespace

LiveServer::LiveServer(std::unique_ptr<serve::Site> site, std::string run_id)
    : site_(std::move(site)), run_id_(std::move(run_id)) {}
LiveServer::LiveServer(LiveServer&&) noexcept = default;
LiveServer::~LiveServer() = default;

Result<LiveServer> LiveServer::start(const std::string& run_dir, std::uint16_t port) {
  serve::SiteOptions options;
  options.folder = run_dir;
  options.port = port;
  options.token = serve::Guard::random_token();
  options.limits.connections = kConnections;
  Result<std::unique_ptr<serve::Site>> site = serve::Site::open(options);
  if (!site) return site.error();
  return LiveServer(std::move(*site), std::filesystem::path(run_dir).filename().string());
}

std::string LiveServer::url() const { return site_->url(run_id_); }

void LiveServer::wait_for_viewers() const {
  if (site_->counts().requests == 0) return;
  const auto told = Clock::now() + kTold;
  while (site_->counts().streams > 0 && Clock::now() < told) std::this_thread::sleep_for(kPoll);
  std::this_thread::sleep_for(kLastPage);
}

void LiveServer::finish(bool linger) {
  if (linger) {
    sigset_t ends, before;
    sigemptyset(&ends);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, number);
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    int number = 0;
    sigwait(&ends, &number);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  } else {
    wait_for_viewers();
  }
  site_->stop(kAnswered);
}

}  // namespace genscope::cli::watch
