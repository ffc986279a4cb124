// plugin_host PLUGIN RUN_DIR TIMES CLOSE
// Loads the library, lets it record, unloads it; CLOSE 0 leaves the session to the unloading.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

// Read by AddressSanitizer: what a library leaves behind when it is unloaded is meant to stay.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    void* const library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::fprintf(stderr, "%s\n", ::dlerror());
      return 3;
    }
    const auto start = reinterpret_cast<void (*)(const char*)>(::dlsym(library, "plugin_start"));
    const auto stop = reinterpret_cast<void (*)(int)>(::dlsym(library, "plugin_stop"));
    if (start == nullptr || stop == nullptr) return 4;
    const std::string run_dir = std::string(argv[2]) + "-" + std::to_string(i);
    // A thread of the host that used the plugin outlives it.
    std::atomic<bool> gone{false};
    std::thread user([&] {
      start(run_dir.c_str());
      while (!gone) ::usleep(1000);
    });
    ::usleep(20'000);
    stop(std::atoi(argv[4]));
    if (::dlclose(library) != 0) return 5;
    if (::dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != nullptr) return 6;  // it did not go
    gone = true;
    user.join();
    const pid_t child = ::fork();  // no fork handler of the library may be left
    if (child == 0) ::_exit(0);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) return 7;
  }
  return 0;
}
