// no_session N: N spans, and no Session anywhere.
#include <genscope/record.h>

#include <cstdlib>

int main(int argc, char** argv) {
  for (int i = 0; argc > 1 && i < std::atoi(argv[1]); ++i) {
    GENSCOPE_STAGE("without a session");
  }
  return 0;
}
