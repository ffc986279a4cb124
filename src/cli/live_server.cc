#include "cli/live_server.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "serve/guard.h"
#include "serve/site.h"

namespace genscope::cli {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Few: the descriptors are this process's, which has to go on reading probes.
constexpr std::size_t kConnections = 256, kSpareDescriptors = 128;
constexpr std::size_t kAnswerBytes = 64u << 20;  // the memory is the watched program's too
constexpr milliseconds kTold{4000};              // for the event that the run has ended
constexpr milliseconds kLastPage{1500};          // for the request that follows it
constexpr milliseconds kAnswered{4500};          // for what is then being answered
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
  const char* const token = std::getenv("GENSCOPE_TOKEN");
  options.token = token != nullptr && *token != '\0' ? token : serve::Guard::random_token();
  if (!serve::Guard::usable(options.token)) {
    return Error{ErrorCode::invalid_argument,
                 "GENSCOPE_TOKEN: give at most 256 letters, digits and -_.~"};
  }
  options.limits.connections = kConnections;
  options.limits.spare_descriptors = kSpareDescriptors;
  options.limits.answer_bytes = kAnswerBytes;
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

bool LiveServer::finish(bool linger) {
  if (linger) {
    sigset_t ends, before;
    sigemptyset(&ends);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, number);
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    // Not before the signals are blocked: who reads it may press Ctrl-C at once.
    std::fprintf(stderr, "\ngenscope: still at %s; Ctrl-C ends it\n", url().c_str());
    int number = 0;
    sigwait(&ends, &number);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  } else {
    wait_for_viewers();
  }
  if (site_->stop(kAnswered)) return true;
  (void)site_.release();  // its destructor would wait
  return false;
}

}  // namespace genscope::cli
