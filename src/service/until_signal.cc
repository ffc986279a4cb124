#include <genscope/service.h>

#include <semaphore.h>
#include <signal.h>

#include <cerrno>
#include <cstdio>

namespace genscope {
namespace {

sem_t g_signalled;

extern "C" void genscope_service_signalled(int) {
  const int before = errno;
  sem_post(&g_signalled);
  errno = before;
}

// Until its end, SIGTERM and SIGINT are counted and do nothing else.
class SignalWait {
 public:
  SignalWait() {
    sem_init(&g_signalled, 0, 0);
    struct sigaction ours = {};
    ours.sa_handler = genscope_service_signalled;
    sigemptyset(&ours.sa_mask);
    ours.sa_flags = SA_RESTART;
    for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &ours, &before_[i]);
  }
  ~SignalWait() {
    for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  void wait() {
    while (sem_wait(&g_signalled) != 0 && errno == EINTR) {
    }
  }

 private:
  static constexpr int kSignals[2] = {SIGTERM, SIGINT};
  struct sigaction before_[2] = {};
};

}  // namespace

int serve_until_signal(ServiceOptions options) {
  Result<std::unique_ptr<Service>> service = Error{};
  {
    SignalWait signal;
    service = Service::start(std::move(options));
    if (!service) {
      std::fprintf(stderr, "%s\n", service.error().message.c_str());
      return 1;
    }
    std::printf("http://127.0.0.1:%d/generate\n", (*service)->port());
    std::fflush(stdout);
    signal.wait();
  }
  if ((*service)->drain()) return 0;
  std::fprintf(stderr, "some requests had not ended after 30 s; they were cut off\n");
  return 1;
}

}  // namespace genscope
