#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>

#include <genscope/optimize/asio.h>
#include <genscope/optimize/async.h>

#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace genscope::optimize {
namespace {

namespace asio = boost::asio;

TEST(Asio, TasksRunOnAnIoContextAndAwaitItsOperations) {
  asio::io_context io;
  auto guard = asio::make_work_guard(io);
  std::thread runner([&io] { io.run(); });
  AsioExecutor executor(io.get_executor());
  const auto body = [](asio::io_context* on) -> Task<std::string> {
    asio::steady_timer timer(*on);
    timer.expires_after(std::chrono::milliseconds(1));
    co_await from_callback([&timer](auto done) {
      timer.async_wait([done](boost::system::error_code) mutable { done(); });
    });
    std::string seen(current_executor()->name());
    timer.expires_after(std::chrono::hours(1));
    try {
      co_await from_callback<int>([&timer](auto done) {
        timer.async_wait([done](boost::system::error_code error) mutable {
          if (error) {
            done.fail(std::make_exception_ptr(boost::system::system_error(error)));
          } else {
            done(1);
          }
        });
        timer.cancel();
      });
    } catch (const boost::system::system_error& error) {
      if (error.code() == asio::error::operation_aborted) seen += ", aborted";
    }
    co_return seen;
  };
  std::string seen;
  {
    Scope scope(executor);
    internal::Kept<std::string> kept;
    scope.spawn(internal::keep_result(body(&io), &kept));
    scope.wait();
    seen = *kept.value;
  }
  guard.reset();
  runner.join();
  EXPECT_EQ(seen, "asio, aborted");
}

}  // namespace
}  // namespace genscope::optimize
