// A pipeline of fixed work, for compare_verdicts.py: encode, 8 steps, decode. Its two arguments
// multiply the work of the steps and of the decoder: 1.2 is a regression of 20 %.
#include <genscope/record.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace {

double sum = 1;  // printed, so that the work is done

void work(double amount) {
  constexpr double kUnit = 1'000'000;
  for (long i = 0; i < static_cast<long>(amount * kUnit); ++i) {
    sum = std::sqrt(sum + static_cast<double>(i));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double steps = argc > 1 ? std::atof(argv[1]) : 1,
               decode = argc > 2 ? std::atof(argv[2]) : 1;
  {
    const genscope::Session session{"compare-work"};
    session.arg("steps", 8);
    {
      const genscope::Stage stage{"text_encoder"};
      work(1);
    }
    {
      const genscope::Stage stage{"denoising"};
      for (int i = 0; i < 8; ++i) {
        const genscope::Step step{i};
        work(steps);
      }
    }
    const genscope::Stage stage{"vae_decode"};
    work(3 * decode);
  }
  std::printf("%g\n", sum);
  return 0;
}
