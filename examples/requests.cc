// Overlapping requests: spans by handle, which begin on one thread and end on another.
#include <genscope/record.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

double work(int n) {
  double x = n;
  for (int i = 0; i < 200'000; ++i) x = std::sqrt(x + i);
  return x;
}

}  // namespace

// [snippet main]
int main() {
  genscope::Session session{"requests"};
  const genscope::Track gpu{"gpu stream 0"};  // a row of the timeline that is not a thread
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    // Begins here, ends on the worker: a Request is detached, its children name it as parent.
    genscope::Request request{"request " + std::to_string(i)};
    workers.emplace_back([request = std::move(request), gpu, i]() mutable {
      {
        genscope::Stage stage{"queue", genscope::Under{request.handle()}};
        work(i);
      }
      const genscope::Handle kernel = genscope::begin(genscope::SpanKind::forward, "denoise_kernel",
                                                      {request.handle(), gpu}, {{"step", i}});
      const double result = work(i + 1);
      genscope::end(kernel);
      kernel.device_time(1'500'000);  // what the driver reported, kept apart from host time
      request.arg("result", result);
      if (result < 0) request.fail();
    });
  }
  for (std::thread& worker : workers) worker.join();
  std::printf("genscope report %s\n", session.run_dir().c_str());
  return session.active() ? 0 : 1;
}
// [/snippet]
