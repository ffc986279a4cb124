// An image service in C++: admission by deadline, priorities, batches, cache, model swapping, spans
// of every request. The engine is examples/tinydiff; put your own there.
//
//   example_service_cpp 8000
//   curl -d '{"prompt": "a red cat"}' -H 'content-type: application/json' localhost:8000/generate
#include <genscope/record.h>
#include <genscope/service.h>

#include <cstdlib>

#include "pipeline.h"
#include "png.h"

// [snippet service]
class Tiny final : public genscope::ServiceEngine {
 public:
  explicit Tiny(const char* arch) : arch_(arch), weights_(tinydiff::Pipeline::load_model(arch)) {}

  // A picture for each request, one thread each: its bytes are those that it has alone.
  Answers run(Asks asks) override {
    std::vector<std::string> pictures(asks.size());
    pool_.run(static_cast<tinydiff::Index>(asks.size()), [&](tinydiff::Tiles& tiles) {
      for (auto i = tiles.take(); i >= 0; i = tiles.take()) {
        pictures[static_cast<std::size_t>(i)] = picture(*asks[static_cast<std::size_t>(i)]);
      }
    });
    return pictures;
  }

 private:
  std::string picture(const genscope::ServiceAsk& ask) const {
    tinydiff::Options options;
    options.arch = arch_;
    options.width = options.height = 32;
    options.prompt = ask.text("prompt");
    options.seed = static_cast<std::uint64_t>(ask.integer("seed"));
    options.steps = static_cast<int>(ask.integer("steps"));
    tinydiff::Pipeline pipeline(options, weights_);
    pipeline.begin_picture();
    while (!ask.stop.stop_requested() && pipeline.step_picture()) continue;
    return tinydiff::encode_png(pipeline.end_picture());
  }

  std::string arch_;
  std::shared_ptr<const tinydiff::Pipeline::Model> weights_;
  tinydiff::Pool pool_{2};
};

int main(int argc, char** argv) {
  const genscope::Session session{"service_cpp"};
  const auto load = [](const char* arch) {
    return [arch]() -> genscope::Result<std::unique_ptr<genscope::ServiceEngine>> {
      return std::unique_ptr<genscope::ServiceEngine>(std::make_unique<Tiny>(arch));
    };
  };
  constexpr std::uint64_t kMiB = 1u << 20;
  return genscope::serve_until_signal(
      {.models = {{"mmdit", 30 * kMiB, load("mmdit")}, {"unet", 30 * kMiB, load("unet")}},
       .budget_bytes = 40 * kMiB,  // room for one: they are swapped
       .fields = {genscope::field("prompt"), genscope::field("seed", 0),
                  genscope::field("steps", 4, 1, 500)},
       .alike = {"steps"},
       .cost = [](const auto& ask) { return static_cast<double>(ask.integer("steps")); },
       .type = "image/png",
       .port = static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0)});
}
// [/snippet]
