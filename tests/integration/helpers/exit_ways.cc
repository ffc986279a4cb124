// exit_ways RUN_DIR HOW
// Ways for a process to end, and moments at which it records.
#include <genscope/record.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

namespace {

// Constructed before main, destroyed after it.
struct AtExit {
  std::optional<genscope::Session> session;
  bool record = false;
  ~AtExit() {
    if (record) genscope::Stage stage("in static destructor");
    session.reset();
    if (record) genscope::Stage stage("after the session");
  }
};
AtExit g_at_exit;

// A thread's own object, destroyed after the recorder may have let the thread go.
struct AtThreadExit {
  bool record = false;
  ~AtThreadExit() {
    if (record) genscope::Stage stage("in thread destructor");
  }
};
thread_local AtThreadExit t_at_exit;

void record_for_ever() {
  for (;;) {
    GENSCOPE_STAGE("for ever");
    const genscope::Stage named("for ever by name", {{"a", 1}});
  }
}

}  // namespace

// Read by AddressSanitizer: one of the ways is a span that is never ended.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string how = argv[2];
  genscope::SessionOptions options;
  options.run_dir = argv[1];
  g_at_exit.record = true;
  g_at_exit.session.emplace("exit", options);
  if (!g_at_exit.session->active()) return 3;
  { const genscope::Stage stage("in main"); }
  if (how == "return") return 0;
  if (how == "open span") {
    new genscope::Stage("never ended");
    return 0;
  }
  if (how == "exit") std::exit(0);
  if (how == "quick_exit") std::quick_exit(0);
  if (how == "_exit") ::_exit(0);
  if (how == "exit in thread") {
    std::thread([] {
      { const genscope::Stage stage("in thread"); }
      std::exit(0);
    }).join();
  }
  if (how == "thread destructor") {
    std::thread([] {
      t_at_exit.record = true;
      const genscope::Stage stage("in thread");
    }).join();
    return 0;
  }
  if (how == "running threads") {
    for (int i = 0; i < 3; ++i) std::thread(record_for_ever).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return 0;
  }
  return 4;
}
