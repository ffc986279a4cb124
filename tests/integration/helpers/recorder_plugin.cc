// A shared library with a recorder of its own inside; plugin_host loads and unloads it.
#include <genscope/record.h>

#include <atomic>
#include <optional>
#include <thread>

namespace {
std::optional<genscope::Session> g_session;
std::optional<std::thread> g_thread;
std::atomic<bool> g_stop{false};
std::atomic<bool> g_started{false};
}  // namespace

// Opens a session and records on this thread and on one of its own.
extern "C" __attribute__((visibility("default"))) void plugin_start(const char* run_dir) {
  genscope::SessionOptions options;
  options.run_dir = run_dir;
  options.buffer_bytes = 1 << 20;
  g_session.emplace("plugin", options);
  { const genscope::Stage stage("on the host's thread"); }
  g_stop = false;
  g_thread.emplace([] {
    do {
      GENSCOPE_STAGE("on the plugin's thread");
    } while (!g_stop);
  });
  g_started = true;
}

// Ends its thread, which a library must do before it goes; `close` also ends the session.
extern "C" __attribute__((visibility("default"))) void plugin_stop(int close) {
  while (!g_started) std::this_thread::yield();
  g_stop = true;
  g_thread->join();
  g_thread.reset();
  if (close != 0) g_session.reset();
}
