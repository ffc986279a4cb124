// LogRelay: stands between a command's stdout and stderr and ours, passes every byte on as it is,
// and reads along.
//
// A stream that is a terminal is replaced by a pseudo-terminal of the same size, so that colours
// and bars stay; anything else by a pipe. Two streams that are one (2>&1, or one terminal) stay
// one, in order. A thread for each passes on: what it writes to may be slow without holding up the
// other. Bytes are written before they are looked at; too many of them are not looked at.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "watch/logs/reader.h"

namespace genscope::watch {

class LogRelay {
 public:
  // Null, and `why`, if there is nothing to stand between or the system does not give it.
  static std::unique_ptr<LogRelay> open(LogFormat format, LogSink& sink, std::string& why);
  // Descendants of the command may still write: from then on a process of its own passes that on.
  ~LogRelay();
  LogRelay(const LogRelay&) = delete;
  LogRelay& operator=(const LogRelay&) = delete;

  // What becomes stdout and stderr of the command; -1: leave it as it is.
  std::array<int, 2> outputs() const { return {outputs_[0], outputs_[1]}; }
  // The command has them now, or there will be none.
  void start();
  // The terminal has another size.
  void resize();
  // The command has ended. Returns when what it wrote is passed on, or has not come for a moment.
  void finish();

  // The last bytes that went to stderr, or to both where they are one.
  std::string last_of_stderr() const;
  std::uint64_t understood() const;  // lines
  std::uint64_t skipped_bytes() const;

 private:
  // From the command's end to ours.
  struct Stream {
    int from = -1, to = -1;
    bool terminal = false;
    bool has_stderr = false;
    bool over = false;  // under the lock
    Pieces pieces;
    std::thread thread;
  };

  LogRelay(LogFormat format, LogSink& sink) : reader_(format, sink) {}
  bool connect(int fd, std::string& why);
  void make_threads(std::string& why);
  void pass_on(Stream& stream);
  void remember(std::string_view bytes);
  void look_at(Stream& stream, std::string_view bytes);
  void hand_over();

  std::vector<std::unique_ptr<Stream>> streams_;
  std::array<int, 2> outputs_{-1, -1};
  int wake_ = -1;  // readable once the threads are to leave
  mutable std::mutex mutex_;
  std::condition_variable over_;
  LogReader reader_;
  bool reading_ = true;
  std::string last_;         // of stderr
  std::int64_t second_ = 0;  // in which so many bytes were looked at
  std::uint64_t bytes_ = 0, skipped_ = 0;
};

}  // namespace genscope::watch
