// tinydiff: the workload that ships with genscope. `genscope demo` runs it, and so may you:
//   tinydiff --arch unet --size 256 --threads 2 --out picture.png
#include <genscope/record.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include "faults.h"
#include "options.h"
#include "pipeline.h"
#include "png.h"
#include "ranks.h"
#include "training.h"

namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

class Program {
 public:
  explicit Program(const tinydiff::Options& options) : options_(options) {}

  int run() {
    const auto start = std::chrono::steady_clock::now();
    const genscope::Session session{"tinydiff"};
    make(options_);
    if (options_.second_size > 0) {
      tinydiff::Options second = options_;
      second.width = second.height = options_.second_size;
      make(second);
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    std::printf("total: %.2f s\n", elapsed.count());
    if (session.active()) std::printf("run: %s\n", session.run_dir().c_str());
    if (failure_.empty()) return 0;
    std::fprintf(stderr, "tinydiff: %s\n", failure_.c_str());
    return kExitFailed;
  }

 private:
  void make(const tinydiff::Options& options) {
    const tinydiff::Spoil spoil = tinydiff::make_spoil(options);
    tinydiff::Pipeline pipeline(options, spoil);
    std::printf("tinydiff: %s, %.1f million parameters, %dx%d, %d steps\n", options.arch.c_str(),
                static_cast<double>(pipeline.parameters()) / 1e6, static_cast<int>(options.width),
                static_cast<int>(options.height), options.steps);
    if (options.epochs > 0) {
      pipeline.encode_prompts();
      std::printf("loss: %.6f\n", tinydiff::train(pipeline, options, spoil));
      return;
    }
    const auto write = [&](tinydiff::Index sequence, tinydiff::Index frame,
                           const tinydiff::RgbImage& image) { save(sequence, frame, image); };
    if (options.requests == 0) pipeline.generate(write);
    for (int i = 0; i < options.requests; ++i) serve(pipeline, write);
  }

  void serve(tinydiff::Pipeline& pipeline, const tinydiff::Pipeline::Sink& write) {
    genscope::Request request{"generate"};
    try {
      pipeline.generate(write);
    } catch (const std::exception& error) {
      request.fail();
      failure_ = std::string("a request failed: ") + error.what();
    }
  }

  void save(tinydiff::Index sequence, tinydiff::Index frame, const tinydiff::RgbImage& image) {
    if (!options_.write_images || !failure_.empty()) return;
    GENSCOPE_STAGE("write_image");
    const std::string path = image_path(options_, sequence, frame);
    const std::string failed = tinydiff::write_file(path, tinydiff::encode_png(image));
    if (!failed.empty()) failure_ = "cannot write " + failed + "; choose another --out";
    if (failed.empty() && path != last_path_) std::printf("image: %s\n", path.c_str());
    last_path_ = path;
  }

  const tinydiff::Options& options_;
  std::string failure_;
  std::string last_path_;
};

}  // namespace

int main(int argc, char** argv) {
  const tinydiff::ParsedOptions parsed = tinydiff::parse_options(argc, argv);
  if (parsed.help) {
    std::fputs(tinydiff::help_text().c_str(), stdout);
    return 0;
  }
  if (!parsed.options) {
    std::fprintf(stderr, "tinydiff: %s\n", parsed.error.c_str());
    return kExitUsage;
  }
  if (parsed.options->fault == "list") {
    std::fputs(tinydiff::fault_list().c_str(), stdout);
    return 0;
  }
  Program program(*parsed.options);
  if (parsed.options->ranks == 1) return program.run();
  return tinydiff::run_ranks(parsed.options->ranks, [&] { return program.run(); });
}
