#include "genscope/record.h"
#include "record/control.h"

namespace genscope {
inline namespace on {

Session::Session(std::string_view name, const SessionOptions& options) noexcept {
  const record::Control::Opened opened = record::Control::instance().open_session(name, options);
  open_ = true;
  run_dir_ = opened.run_dir;
  handle_ = begin(SpanKind::session, name);
}

Session::~Session() { close(); }

void Session::close() noexcept {
  if (!open_) return;
  open_ = false;
  flush();  // so that full buffers cannot cost the session its end
  genscope::end(handle_);
  handle_ = Handle();
  record::Control::instance().close_session();
}

bool Session::active() const noexcept {
  return open_ && record::Control::instance().stats().active;
}

std::string Session::error() const { return record::Control::instance().error(); }

std::string Session::run_dir() const { return run_dir_; }

}  // namespace on
}  // namespace genscope
