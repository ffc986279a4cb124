// The async core: tasks that can be stopped, and order for who waits.
//
//   using namespace genscope::optimize;
//   Task<Image> answer(Lane& lane, Limiter& memory, std::string prompt) {
//     Permit permit = co_await memory.acquire({.units = 4});          // 4 GB of this device
//     co_return co_await lane.run([&] { return pipeline(prompt); });  // one body at a time
//   }
//   Image image = sync_wait(answer(lane, memory, prompt));
//
//   task      Task<T>: lazy, awaited once, its exception comes out of the co_await
//   context   deadline, priority, tenant, stop, trace: inherited by what a task awaits and spawns
//   scope     Scope: tasks that end together; sync_wait; live_tasks
//   pool      Pool and BlockingPool; `co_await pool.schedule()` hops
//   lane      Lane: the queue of a device
//   limiter   Limiter: units, fair by priority, age and tenant; Permit
//   timeout   with_timeout, sleep_for, under
//   map       parallel_map, parallel_stream
//   channel   Channel<T>: bounded
//   timers    Clock, VirtualClock, Timers: one wheel; tests move the clock themselves
//   asio      beside Boost.Asio; not included here
//
// Rules that hold throughout:
// 1. No task outlives its scope, and no permit is back before its body returned.
// 2. Stopping is asked for, never forced: waits end at once, running code at its next checkpoint.
// 3. Nothing of the user's runs under a lock of ours, nor on the timers' thread except callbacks,
//    which must not block.
// 4. Inside tasks, failures are exceptions. The callback and blocking calls of Lane and Limiter
//    give an WaitResult, throw nothing of their own and need no coroutine.
#pragma once

#include <genscope/internal/optimize/async/channel.h>
#include <genscope/internal/optimize/async/context.h>
#include <genscope/internal/optimize/async/executor.h>
#include <genscope/internal/optimize/async/function.h>
#include <genscope/internal/optimize/async/lane.h>
#include <genscope/internal/optimize/async/limiter.h>
#include <genscope/internal/optimize/async/map.h>
#include <genscope/internal/optimize/async/pool.h>
#include <genscope/internal/optimize/async/scope.h>
#include <genscope/internal/optimize/async/task.h>
#include <genscope/internal/optimize/async/timeout.h>
#include <genscope/internal/optimize/async/timers.h>
