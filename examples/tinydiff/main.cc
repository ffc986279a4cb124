// tinydiff: the workload that ships with genscope. `genscope demo` runs it, and so may you:
//   tinydiff --arch unet --size 256 --threads 2 --out picture.png
#include <genscope/record.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "options.h"
#include "pipeline.h"
#include "png.h"

namespace {

constexpr int kExitWriteFailed = 1;
constexpr int kExitUsage = 2;

int run(const tinydiff::Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const genscope::Session session{"tinydiff"};
  std::string failure;
  {
    tinydiff::Pipeline pipeline(options);
    std::printf("tinydiff: %s, %.1f million parameters, %dx%d, %d steps\n", options.arch.c_str(),
                static_cast<double>(pipeline.parameters()) / 1e6, static_cast<int>(options.width),
                static_cast<int>(options.height), options.steps);
    const auto write = [&](tinydiff::Index sequence, tinydiff::Index frame,
                           const tinydiff::RgbImage& image) {
      if (!options.write_images || !failure.empty()) return;
      GENSCOPE_STAGE("write_image");
      const std::string path = image_path(options, sequence, frame);
      failure = tinydiff::write_file(path, tinydiff::encode_png(image));
      if (failure.empty()) std::printf("image: %s\n", path.c_str());
    };
    pipeline.generate(write);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("total: %.2f s\n", elapsed.count());
  if (session.active()) std::printf("run: %s\n", session.run_dir().c_str());
  if (failure.empty()) return 0;
  std::fprintf(stderr, "tinydiff: cannot write %s; choose another --out\n", failure.c_str());
  return kExitWriteFailed;
}

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
  return run(*parsed.options);
}
