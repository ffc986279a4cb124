// Admission, batches, retries and a breaker around a model that is a stand-in here.
#include <cstdio>
#include <string>
#include <vector>

#include <genscope/optimize.h>

using namespace genscope::optimize;

namespace {

std::string generate(const std::string& prompt) { return "image of " + prompt; }

}  // namespace

int main() {
  // [snippet admission]
  Admission admission({.classes = {{"interactive", 32}, {"bulk", 256}}, .concurrency = 1});
  const std::int64_t deadline = flow_now_ns() + 5'000'000'000;
  {
    const Admission::Entry entry = admission.enter({.in_class = 0, .deadline_ns = deadline});
    if (!entry.admitted()) {
      std::printf("busy; again in %.1f s\n", entry.refusal().retry_after_seconds.value_or(1));
      return 1;
    }
    std::printf("%s\n", generate("a cat").c_str());  // the permit ends with the block
  }
  // [/snippet]

  // [snippet batcher]
  using Prompts = std::span<std::string* const>;
  Batcher<std::string, std::string> batcher(
      [](Prompts prompts) -> Tried<std::vector<std::string>> {
        std::vector<std::string> images;
        for (const std::string* prompt : prompts) images.push_back(generate(*prompt));
        return images;
      },
      {.most = 8, .max_delay_seconds = 0.02, .slo_seconds = 5});
  const CompatKey key{.model = "sdxl", .width = 1024, .height = 1024, .dtype = "bf16"};
  std::future<Tried<std::string>> image =
      batcher.submit(key.text(), "a dog", {.deadline_ns = deadline});
  std::printf("%s\n", image.get().value().c_str());
  // [/snippet]

  // [snippet retry]
  RetryBudget budget;  // one for each dependency
  Breaker breaker({.name = "upscaler"});
  const Tried<std::string> upscaled =
      retry<std::string>({.name = "upscaler", .attempts = 3},
                         [&](const Attempt& attempt) -> Tried<std::string> {
                           const std::optional<Breaker::Pass> pass = breaker.ask();
                           if (!pass) return Failed{Failure::rejected, "the upscaler is down"};
                           const bool ok = attempt.number > 1;  // the first attempt is lost
                           breaker.tell(*pass, ok, 0.01);
                           if (!ok) return Failed{Failure::transient, "connection reset"};
                           return "large " + generate("a cat");
                         },
                         {.deadline_ns = deadline, .budget = &budget});
  std::printf("%s\n",
              upscaled.ok() ? upscaled.value().c_str() : upscaled.failure().message.c_str());
  // [/snippet]

  // [snippet search]
  const BatchSearch found = optimal_batch(
      [](std::size_t batch) {
        BatchProbe seen;  // a device of 24 GB: weights 4 GB, 0.5 GB an image
        const double bytes = 4e9 + 0.5e9 * static_cast<double>(batch);
        seen.fits = bytes <= 24e9;
        if (seen.fits) seen.bytes = bytes;
        return seen;
      },
      24e9);
  std::printf("batch %zu: %s\n", found.batch, found.reason.c_str());
  // [/snippet]
  return upscaled.ok() && found.batch == 40 ? 0 : 1;
}
