#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "async/call_tracer.h"
#include "async/event_loop.h"
#include "async/task_scope.h"

namespace nodepool::drivers {

// Runs the calls, and returns the cloud's ids of their requests, as a launch trace gets them.
inline std::vector<std::string> request_ids(async::EventLoop& loop, const async::Runtime& runtime,
                                            async::Task<> calls) {
  struct Tracer final : async::CallTracer {
    void called(const Call& call) override { ids.emplace_back(call.id); }
    std::vector<std::string> ids;
  };
  const auto tracer = std::make_shared<Tracer>();
  const auto traced = [](std::shared_ptr<Tracer> tracer, async::Task<> calls) -> async::Task<> {
    async::set_tracer(co_await boost::asio::this_coro::executor, tracer);
    co_await std::move(calls);
  };
  async::TaskScope scope(runtime, [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  scope.spawn("calls", traced(tracer, std::move(calls)));
  loop.run(scope.join());
  return tracer->ids;
}

}  // namespace nodepool::drivers
