// The samples of docs/optimize-async.md.
#include <genscope/optimize.h>

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;

std::string paint(const std::string& prompt) { return "image of " + prompt; }

// [snippet service]
namespace go = genscope::optimize;

go::Task<std::string> answer(go::Lane* lane, go::Limiter* memory, std::string prompt) {
  go::Permit permit = co_await memory->acquire({.units = 4});  // 4 GB of this device
  auto body = [&prompt] { return paint(prompt); };
  co_return co_await lane->run(body);  // one function at a time
}

go::Task<std::vector<std::string>> answer_all(go::Pool* pool, go::Lane* lane, go::Limiter* memory,
                                              std::vector<std::string> prompts) {
  auto each = [=](const std::string& prompt) { return answer(lane, memory, prompt); };
  co_return co_await go::parallel_map(*pool, std::move(prompts), each, {.limit = 4});
}

std::vector<std::string> serve(const std::vector<std::string>& prompts) {
  go::Pool pool;
  go::Lane lane("cuda:0");
  go::Limiter memory(16);
  go::Context request = go::Context::root({.timeout = 30s, .priority = 1, .tenant = "acme"});
  return go::sync_wait(answer_all(&pool, &lane, &memory, prompts), request);
}
// [/snippet]

// [snippet timeout]
go::Task<std::string> answer_in_time(go::Lane* lane, go::Limiter* memory, std::string prompt) {
  try {
    co_return co_await go::with_timeout(2s, answer(lane, memory, std::move(prompt)));
  } catch (const go::Timeout&) {
    co_return "busy";  // at once; the lane and the 4 GB come back when the function has returned
  }
}
// [/snippet]

TEST(AsyncExample, Serves) {
  EXPECT_EQ(serve({"a cat", "a dog"}),
            (std::vector<std::string>{"image of a cat", "image of a dog"}));
  go::Lane lane("cuda:0");
  go::Limiter memory(16);
  EXPECT_EQ(go::sync_wait(answer_in_time(&lane, &memory, "a fox")), "image of a fox");
}

}  // namespace
