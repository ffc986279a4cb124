// The live page of `genscope run --serve`: the run's own server, on threads of this process. What
// goes wrong with it is said and changes nothing for the command.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <genscope/error.h>

namespace genscope::serve {
class Site;
}

namespace genscope::cli {

class LiveServer {
 public:
  // Call it when the signals are blocked, so that its threads take none.
  static Result<LiveServer> start(const std::string& run_dir, std::uint16_t port);
  LiveServer(LiveServer&&) noexcept;
  ~LiveServer();

  std::string url() const;
  // The run has ended and is written: until whoever looks has been told and has the last page, a
  // few seconds at most; or, to `linger`, until INT, TERM or HUP, and says so. False: somebody's
  // report is still being made; leave_at_once() then, since what waits for threads would wait for
  // it.
  [[nodiscard]] bool finish(bool linger);

 private:
  LiveServer(std::unique_ptr<serve::Site> site, std::string run_id);
  void wait_for_viewers() const;

  std::unique_ptr<serve::Site> site_;
  std::string run_id_;
};

}  // namespace genscope::cli
