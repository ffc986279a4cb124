#include "record/rivals.h"

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/measure.h"

namespace bench {
namespace {

struct NaiveSpan {
  std::string name;
  std::thread::id thread;
  std::chrono::steady_clock::time_point begin, end;
};
std::mutex g_mutex;
std::vector<NaiveSpan> g_spans;

}  // namespace

void naive_span(std::uint64_t n) {
  while (n-- > 0) {
    NaiveSpan span;
    span.name = "denoise_step.forward";  // longer than a small string
    span.thread = std::this_thread::get_id();
    span.begin = std::chrono::steady_clock::now();
    clobber();
    span.end = std::chrono::steady_clock::now();
    const std::lock_guard lock(g_mutex);
    g_spans.push_back(std::move(span));
  }
}

void naive_clear() {
  const std::lock_guard lock(g_mutex);
  g_spans = {};
}

}  // namespace bench
