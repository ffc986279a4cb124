// genscope serve
#include <signal.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "serve/guard.h"
#include "serve/site.h"

namespace genscope::cli {
namespace {

constexpr std::chrono::milliseconds kGrace{4500};  // 5 s, with what ending takes
constexpr std::size_t kTokenFileBytes = 4096;
constexpr const char* kTokenHelp = "give at most 256 letters, digits and -_.~";

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
    options.add("--port", port_, "N", "Port; 0 takes any free one").range(0, 65535).show_default();
    const Option token =
        options.add("--token", options_.token, "TEXT",
                    "Token that a request needs; default: $GENSCOPE_TOKEN, else random");
    Option file = options.add("--token-file", token_file_, "FILE",
                              "Read the token from this file; `ps` does not show it");
    Option none =
        options.flag("--no-token", no_token_, "Let everyone look who can reach the address");
    file.excludes(token);
    none.excludes(token).excludes(file);
    options.add("--allow-host", hosts_, "NAMES", "More names of the server, separated by commas");
    options.footer(
        std::string(
            "Prints the address to open. It only reads the run directories, and never touches\n"
            "the programs that record. /metrics is for Prometheus; docs/openapi.json\n"
            "describes the rest. Ctrl-C or TERM ends it after its last answers.\n\n"
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
    if (const Status chosen = choose_token(); !chosen) return chosen.error();
    for (std::string_view rest = hosts_; !rest.empty();) {
      const std::string_view host = rest.substr(0, rest.find(','));
      if (!host.empty()) options_.hosts.emplace_back(host);
      rest.remove_prefix(std::min(rest.size(), host.size() + 1));
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
    warn();
    int number = 0;
    sigwait(&ends, &number);
    const int code = number == SIGINT ? kInterrupted : kFine;
    if (!(*site)->stop(kGrace)) leave_at_once(code);
    return code;
  }

 private:
  Status choose_token() {
    const char* const given = std::getenv("GENSCOPE_TOKEN");
    const char* source = "--token";
    if (no_token_) return Done{};
    if (!token_file_.empty()) {
      Result<std::string> text = base::read_file(token_file_, kTokenFileBytes);
      if (!text) return text.error();
      while (!text->empty() && std::isspace(static_cast<unsigned char>(text->back()))) {
        text->pop_back();
      }
      options_.token = std::move(*text);
      source = "--token-file";
    } else if (options_.token.empty() && given != nullptr && *given != '\0') {
      options_.token = given;
      source = "GENSCOPE_TOKEN";
    } else if (options_.token.empty()) {
      options_.token = serve::Guard::random_token();
    }
    if (serve::Guard::usable(options_.token)) return Done{};
    return Error{ErrorCode::invalid_argument, std::string(source) + ": " + kTokenHelp};
  }

  // Also with --quiet: who shows runs to others should know.
  void warn() const {
    const bool open = !serve::Guard::is_loopback(options_.address);
    if (open) {
      std::fprintf(stderr,
                   "genscope: warning: other machines can reach %s; %s can read the runs, and the "
                   "connection is not encrypted\n",
                   options_.address.c_str(), no_token_ ? "everyone there" : "who has the token");
    } else if (no_token_) {
      std::fprintf(
          stderr,
          "genscope: warning: without a token every user and every program of this machine "
          "can read the runs\n");
    }
  }

  serve::SiteOptions options_;
  int port_ = 0;
  std::string token_file_, hosts_;
  bool no_token_ = false;
};

}  // namespace

std::unique_ptr<Command> make_serve() { return std::make_unique<Serve>(); }

}  // namespace genscope::cli
