// victim FOLDER [HOW...]
// A program with a life of its own, which also records: what it prints, writes, returns and holds
// open must be the same whatever happens to the recording. FOLDER gets its file; the run goes where
// the environment says. HOW: what it does besides, in this order:
//   closefrom    closes all descriptors from 3 on, as daemons do
//   daemon       forks, lets the parent go, starts a session, leaves its folder, closes 0 to 2
//   setsid, drop (becomes nobody), vanish (removes $GENSCOPE_OUT), much (a million spans),
//   save (12 MB to the same disk), threads, fork, rawfork, exit (leaves by _exit)
// GENSCOPE_DISABLE=1 is the run without us.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <genscope/record.h>

namespace {

// Of fault_plugin, if it is loaded.
void (*fault_begin)() = nullptr;
void (*fault_pause)(int) = nullptr;
void (*fault_end)() = nullptr;

void find_faults() {
  fault_begin = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "fault_begin"));
  fault_pause = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "fault_pause"));
  fault_end = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "fault_end"));
}

// What the program does for itself must not fail: that would not be our doing.
class OwnWork {
 public:
  OwnWork() {
    if (fault_pause != nullptr) fault_pause(1);
  }
  ~OwnWork() {
    if (fault_pause != nullptr) fault_pause(0);
  }
};

int g_out = 1;  // where the words of the program go

void say(const std::string& text) {
  if (write(g_out, text.data(), text.size()) < 0) _exit(8);
}

// Under a sanitizer our thread has no descriptor table of its own, and its files are up there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kOurs = 256;
#else
constexpr int kOurs = 1 << 20;
#endif

std::string descriptors() {
  std::string list;
  std::vector<int> numbers;
  DIR* const folder = opendir("/proc/self/fd");
  while (const dirent* const entry = readdir(folder)) {
    const int number = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || number == dirfd(folder) || number >= kOurs) continue;
    numbers.push_back(number);
  }
  closedir(folder);
  std::sort(numbers.begin(), numbers.end());
  for (const int number : numbers) list += " " + std::to_string(number);
  return list;
}

void record_some(int spans) {
  for (int i = 0; i < spans; ++i) {
    GENSCOPE_STAGE("work");
    if (i % 64 == 0) {
      const genscope::Stage named("named " + std::to_string(i % 7), {{"i", i}});
      genscope::event("event", {{"text", "some text"}});
      genscope::counter("counter", i);
    }
  }
}

void save(const std::string& path, int turn) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string text(1000, static_cast<char>('a' + turn));
  if (fd < 0 || write(fd, text.data(), text.size()) != 1000) _exit(7);
  say("saved as " + std::to_string(fd) + "\n");
  close(fd);
}

void in_child(bool bare) {
  const long pid = bare ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
  if (pid == 0) {
    record_some(100);
    _exit(3);
  }
  const OwnWork own;
  int status = 0;
  waitpid(static_cast<pid_t>(pid), &status, 0);
  say("child " + std::to_string(status) + "\n");
}

void become_daemon(const std::string& folder) {
  if (fork() != 0) {
    // The first process waits for the daemon's last word, so that a test can compare.
    const std::string done = folder + "/done";
    while (access(done.c_str(), F_OK) != 0) usleep(1000);
    _exit(0);
  }
  setsid();
  if (chdir("/") != 0) _exit(6);
  for (int fd = 0; fd < 1024; ++fd) close(fd);
  // Its own files get the low numbers, 2 among them.
  for (const char* name : {"/zero", "/one", "/two"}) {
    g_out = open((folder + name).c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
  }
}

void do_it(const std::string& folder, const std::string& how) {
  const OwnWork own;
  if (how == "closefrom") {
    for (int fd = 3; fd < 1024; ++fd) close(fd);
    // Whoever still writes to those numbers writes into these.
    for (int i = 0; i < 4; ++i) {
      const int fd = open((folder + "/mine" + std::to_string(i)).c_str(), O_RDWR | O_CREAT, 0600);
      if (write(fd, "precious", 8) != 8) _exit(5);
    }
  } else if (how == "daemon") {
    become_daemon(folder);
  } else if (how == "setsid") {
    setsid();
  } else if (how == "vanish") {
    std::error_code ignored;
    std::filesystem::remove_all(std::getenv("GENSCOPE_OUT"), ignored);
  } else if (how == "save") {
    const int fd = open((folder + "/large").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 12; ++i) {
      if (write(fd, block.data(), block.size()) != 1 << 20) say("my own save failed\n");
    }
    close(fd);
  } else if (how == "drop") {
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(4);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::string folder = argv[1];
  const std::vector<std::string> how(argv + 2, argv + argc);
  const auto has = [&](const char* word) {
    return std::find(how.begin(), how.end(), word) != how.end();
  };
  find_faults();
  if (fault_begin != nullptr) fault_begin();
  {
    genscope::Session session("victim");
    record_some(2000);
    for (const std::string& word : how) {
      if (word == "much") record_some(1'000'000);
      do_it(folder, word);
    }
    for (int turn = 0; turn < 3; ++turn) {
      record_some(5000);
      const OwnWork own;
      save(folder + "/saved", turn);
    }
    if (has("threads")) {
      std::vector<std::thread> threads;
      {
        const OwnWork own;
        for (int i = 0; i < 3; ++i) threads.emplace_back([] { record_some(3000); });
        for (std::thread& thread : threads) thread.join();
      }
    }
    if (has("fork")) in_child(false);
    if (has("rawfork")) in_child(true);
    genscope::flush();
    {
      const OwnWork own;
      say("descriptors" + descriptors() + "\n");
    }
    if (has("exit")) {
      if (fault_end != nullptr) fault_end();
      _exit(9);
    }
  }
  record_some(100);
  {
    const genscope::Session again("again");
    record_some(100);
  }
  if (fault_end != nullptr) fault_end();
  say("descriptors" + descriptors() + "\n");
  sigset_t pending;
  sigpending(&pending);
  say(sigisemptyset(&pending) != 0 ? "quiet\n" : "a signal is pending\n");
  if (has("daemon")) close(open((folder + "/done").c_str(), O_WRONLY | O_CREAT, 0600));
  return 9;
}
