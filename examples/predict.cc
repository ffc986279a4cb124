// What a generation should cost on a card, and how good a measured step is.
#include <genscope/predict.h>

#include <cstdio>
#include <string>

int main() {
  // [snippet predict]
  const auto spec = genscope::cost_spec("flux-dev");  // or of a Model from inspect_model()
  const auto gpu = genscope::find_hardware("NVIDIA GeForce RTX 4090");
  if (!spec || !gpu) return 1;
  const auto p = genscope::predict(*spec, {.width = 1024, .height = 1024, .steps = 28}, *gpu);
  if (!p) {
    std::fprintf(stderr, "%s\n", p.error().message.c_str());
    return 1;
  }
  std::printf("%.1f TFLOP a step, at least %.0f ms, bound by %s\n", p->step_flops / 1e12,
              p->step_seconds * 1e3, p->bound.c_str());
  for (const std::string& remedy : p->remedies) std::printf("to fit: %s\n", remedy.c_str());
  const genscope::Mfu mfu = genscope::judge(*p, 0.62);  // a step that took 620 ms
  std::printf("MFU %.0f %%, %s\n", 100 * mfu.ratio, mfu.band.c_str());
  // [/snippet]
  return p->step_seconds > 0.4 && p->step_seconds < 0.5 ? 0 : 1;
}
