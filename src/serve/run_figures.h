// What only reading a run tells, kept beside the runs so that a list of hundreds is quick.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/runs.h"

namespace genscope::serve {

// The figures of the runs of `folder` that are over, by id. What was read before comes from the
// file
// `.genscope-list` in it, as long as the run is what it was; the others are read now, one at a
// time, and noted there if it can be written. `all`: these are all the runs there are, so that what
// is noted of others can go. A run that cannot be read has none.
std::map<std::string, RunFigures> figures_of(const std::vector<RunEntry>& runs,
                                             const std::string& folder, bool all);

// The same for a server, which must answer at once and writes nothing beside the runs: what is
// known now, while a thread of low priority reads the rest, a run at a time. Any thread may ask.
class ListFigures {
 public:
  explicit ListFigures(std::string folder) : folder_(std::move(folder)) {}
  ListFigures(const ListFigures&) = delete;
  ~ListFigures();  // waits for the run at hand

  std::map<std::string, RunFigures> of(const std::vector<RunEntry>& runs);
  // Reads no further run. False: one is still being read, and the end of this object waits for it.
  bool stop();

 private:
  struct Known {
    std::string mark;
    std::optional<RunFigures> figures;  // none: it cannot be read
  };
  void read(const std::vector<RunEntry>& runs);

  const std::string folder_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;
  bool noted_ = false;    // what `genscope list` has noted was looked at
  bool reading_ = false;  // the thread has not come to its end
  bool stop_ = false;
  std::thread reader_;
};

}  // namespace genscope::serve
