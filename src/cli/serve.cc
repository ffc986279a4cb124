// genscope serve
#include <signal.h>

#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "serve/guard.h"
#include "serve/site.h"

namespace genscope::cli {
namespace {

constexpr std::chrono::milliseconds kGrace{5000};

class Serve final : public Command {
 public:
  const char* name() const override { return "serve"; }
  const char* summary() const override { return "Show runs in the browser, live while they run"; }

  void add_options(Options& options) override {
    options.add("DIR", options_.folder, "", "Folder of runs, or one run; default: $GENSCOPE_OUT");
    options
        .add("--address", options_.address, "IP",
             "Listen there; anything but loopback lets others see the runs")
        .show_default();
    options.add("--port", port_, "N", "Port; 0 takes any that is free")
        .range(0, 65535)
        .show_default();
    options.add("--token", options_.token, "TEXT", "That the address must hold; default: random");
    options.flag("--no-token", no_token_, "Everyone who can reach the address may look");
    options.footer(
        std::string("Prints the address to open. What is shown is read from the run directories;\n"
                    "the programs that record are not touched. /metrics is for Prometheus, the\n"
                    "rest of the interface is described in docs/openapi.json. Ctrl-C or TERM ends\n"
                    "it, after what is being answered.\n\n"
                    "Examples:\n"
                    "  genscope serve\n"
                    "  genscope serve genscope-runs/20260101-120000-demo-4242 --port 8080\n\n") +
        kExitCodesHelp);
  }

  Result<int> run(const Globals& globals) override {
    if (options_.folder.empty()) {
      const char* const out = std::getenv("GENSCOPE_OUT");
      options_.folder = out != nullptr && *out != '\0' ? out : "genscope-runs";
    }
    if (!std::filesystem::is_directory(options_.folder)) {
      return Error{ErrorCode::not_found,
                   options_.folder + ": there is no such folder; name one that holds runs"};
    }
    if (no_token_) {
      options_.token.clear();
    } else if (options_.token.empty()) {
      options_.token = serve::Guard::random_token();
    } else if (!serve::Guard::usable(options_.token)) {
      return Error{ErrorCode::invalid_argument,
                   "--token: give at most 256 letters, digits and -_.~"};
    }
    options_.port = static_cast<std::uint16_t>(port_);
    sigset_t ends;
    sigemptyset(&ends);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, number);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before the server's threads are made
    Result<std::unique_ptr<serve::Site>> site = serve::Site::open(options_);
    if (!site) return site.error();
    std::printf("%s\n", (*site)->url().c_str());
    std::fflush(stdout);
    if (!globals.quiet) std::fprintf(stderr, "genscope: serving %s\n", options_.folder.c_str());
    int number = 0;
    sigwait(&ends, &number);
    (*site)->stop(kGrace);
    return number == SIGINT ? kInterrupted : kFine;
  }

 private:
  serve::SiteOptions options_;
  int port_ = 0;
  bool no_token_ = false;
};

}  // namespace

std::unique_ptr<Command> make_serve() { return std::make_unique<Serve>(); }

}  // namespace genscope::cli
