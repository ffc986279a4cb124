// One file of a GPU and the series that it feeds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_reader.h"
#include "genscope/probe.h"

namespace genscope::probe::drm {

// What a reading says when the file failed with that errno. Status ok: say nothing yet, the driver
// was only busy.
struct Failure {
  SampleStatus status;
  const char* reason;
};
Failure failure_of(int error) noexcept;

// When a file that fails is asked again. Denied: after a minute. Failing five times in a row: ten
// times less often. Busy: at the next occasion; the third time in a row the value is stale.
class Patience {
 public:
  bool may_read(std::int64_t now_ns) const noexcept { return now_ns >= retry_ns_; }
  // After a read: sets `series` if the read failed. True if there is a value to set.
  bool note(int error, std::int64_t now_ns, std::uint32_t series, Board& board) noexcept;

 private:
  std::int64_t retry_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t period_ns_ = 0;  // between reads, before it waited
  int failed_ = 0;              // in a row
};

class Sensor {
 public:
  // How the text is understood.
  enum class Form : std::uint8_t {
    number,
    temperature,      // a number; 0 is a sensor that is not fitted
    limit,            // a number; 0 is a limit that is off
    starred_mhz,      // the row in force of pp_dpm_*
    highest_mhz,      // its highest row
    link_generation,  // current_link_speed
  };
  struct Spec {
    std::string path;
    double scale = 1;
    Form form = Form::number;
    std::string divisor_path = {};  // the value is divided by this file's number; empty: by 1
    double* keep = nullptr;         // where to put the last good value
    const double* most = nullptr;   // a value above this (if it is > 0) is implausible
  };

  Sensor(const Spec& spec, std::uint32_t series, base::Files& files);

  // Reads and sets the series. 0 or the errno.
  int sample(std::int64_t now_ns, Board& board) noexcept;
  // Reads, and sets nothing. 0 or the errno.
  int ask() noexcept;

 private:
  void set(double value, Board& board) noexcept;

  base::KeptFile file_;
  base::KeptFile divisor_;
  std::uint32_t series_;
  double scale_;
  Form form_;
  double* keep_;
  const double* most_;
  Patience patience_;
};

}  // namespace genscope::probe::drm
