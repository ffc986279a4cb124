// The routes: docs/openapi.json.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <genscope/error.h>

#include "serve/http.h"

namespace genscope::serve {

struct SiteOptions {
  std::string folder;  // of runs, or one run
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  std::string token;  // "": everyone who can reach the address may look
  // Names by which the server is asked, beside the address, this machine's names and loopback.
  std::vector<std::string> hosts = {};
  std::chrono::milliseconds interval{1000};
  HttpLimits limits = {};
};

class Site {
 public:
  static Result<std::unique_ptr<Site>> open(const SiteOptions& options);
  virtual ~Site() = default;
  virtual std::uint16_t port() const noexcept = 0;
  // The address to open in a browser, with the token; `run_id`: of that run, "" of the list.
  virtual std::string url(const std::string& run_id = "") const = 0;
  virtual HttpCounts counts() const = 0;
  // As HttpServer's: false means that a report is still being made. Then do not destroy the Site,
  // which would wait for it, but end the process.
  virtual bool stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace genscope::serve
