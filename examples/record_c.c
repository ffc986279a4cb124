/* A pipeline in C: the same stages and steps through genscope/c.h. */
#include <genscope/c.h>
#include <stdio.h>

static double denoise(int step) {
  double x = 1.0 + step;
  for (int i = 0; i < 100000; ++i) x = x * 0.999 + 0.001;
  return x;
}

int main(void) {
  gs_session* session = gs_session_open("c-pipeline", NULL);
  gs_name_thread("main");

  gs_span load = gs_begin(GS_LOAD, "load_model");
  gs_arg_int(load, "parameters", 12000000);
  gs_end(load);

  static gs_site denoising = GS_SITE(GS_STAGE, "denoising"); /* a static name: the cheapest form */
  gs_span stage = gs_begin_site(&denoising);
  for (int i = 0; i < 8; ++i) {
    gs_span step = gs_begin_step(i);
    gs_counter("latent_rms", denoise(i));
    gs_end(step);
  }
  gs_end(stage);

  /* A request may begin here and end on any other thread. */
  gs_span request = gs_begin_detached(GS_REQUEST, "request 1", 0, 0);
  gs_event(request, "queued");
  gs_end(request);

  printf("run: %s\n", gs_session_run_dir(session));
  int active = gs_session_active(session);
  gs_session_close(session);
  return active ? 0 : 1;
}
