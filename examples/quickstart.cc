// The whole recording API on one page: a pipeline with stages, steps, events and counters.
#include <genscope/record.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

std::vector<float> latents(4096, 0.5f);

void encode() {
  for (float& x : latents) x = std::sin(x + 1);
}
float denoise(int step) {
  for (float& x : latents) x = 0.9f * x + 0.01f * std::cos(x + static_cast<float>(step));
  return latents[0];
}
void decode() {
  for (float& x : latents) x = std::tanh(x);
}

}  // namespace

// [snippet main]
int main() {
  genscope::Session session{"quickstart"};  // opens a run, or joins that of `genscope run`
  {
    genscope::Stage stage{"text_encoding"};
    encode();
  }
  {
    GENSCOPE_STAGE("denoising", GENSCOPE_ARG("steps", 20));  // static name: the cheapest form
    for (int i = 0; i < 20; ++i) {
      genscope::Step step{i};
      genscope::counter("latent", denoise(i));
    }
  }
  {
    genscope::Stage stage{"vae_decode", {{"tiles", 4}, {"dtype", "fp32"}}};
    decode();
  }
  genscope::event("done", {{"images", 1}});
  std::printf("genscope report %s\n", session.run_dir().c_str());
  return session.active() ? 0 : 1;
}
// [/snippet]
