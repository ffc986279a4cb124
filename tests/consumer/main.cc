// The smallest useful program: one session, two spans, the version it was built with.
#include <genscope/record.h>
#include <genscope/version.h>

#include <cstdio>

int main() {
  {
    genscope::Session session{"consumer"};
    { genscope::Stage stage{"text_encoding"}; }
    { GENSCOPE_STAGE("vae_decode"); }
  }
  std::printf("consumer: recorded 2 spans with genscope %s\n", GENSCOPE_VERSION_STRING);
  return 0;
}
