#include "drivers/aws/terminator.h"

#include <algorithm>
#include <exception>

#include "driver/cloud_error.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;

namespace {

// Fewer than the API takes: a call that is refused is refused for all.
constexpr std::size_t kMostInOneCall = 50;

}  // namespace

struct Terminator::Order {
  explicit Order(std::string instance) : id(std::move(instance)) {}

  void end(std::exception_ptr with = {}) {
    failure = std::move(with);
    ended = true;
    changed.set();
  }

  std::string id;
  bool ended = false;
  bool was_there = true;
  std::exception_ptr failure;
  async::Event changed{"instances are being terminated"};
};

Terminator::Terminator(const async::Runtime& runtime, Ec2& ec2)
    : ec2_(ec2), scope_(runtime, [](const std::string&, const std::string&) {}) {}

Task<bool> Terminator::terminate(std::string id) {
  const auto order = std::make_shared<Order>(std::move(id));
  orders_.push_back(order);
  if (!is_working_) {
    is_working_ = true;
    scope_.spawn("terminating instances", work());
  }
  while (!order->ended) co_await order->changed.wait();
  if (order->failure) std::rethrow_exception(order->failure);
  co_return order->was_there;
}

Task<> Terminator::work() {
  while (!orders_.empty()) {
    const std::size_t count = std::min(orders_.size(), kMostInOneCall);
    const auto end = orders_.begin() + static_cast<std::ptrdiff_t>(count);
    const std::vector<std::shared_ptr<Order>> batch(orders_.begin(), end);
    orders_.erase(orders_.begin(), end);
    const bool is_done = batch.size() > 1 && co_await terminate_all(batch);
    if (is_done) continue;
    for (const auto& order : batch) co_await terminate_one(order);
  }
  is_working_ = false;
}

// Whether all orders have ended. One that is not there, is protected, or that the account may not
// touch, keeps all others: then they go one by one.
Task<bool> Terminator::terminate_all(std::vector<std::shared_ptr<Order>> batch) {
  std::vector<std::string> ids;
  ids.reserve(batch.size());
  for (const auto& order : batch) ids.push_back(order->id);
  std::exception_ptr failure;
  try {
    co_await ec2_.terminate(std::move(ids));
  } catch (const CloudError& error) {
    using Kind = CloudError::Kind;
    const bool is_of_one = error.kind() == Kind::not_found || error.kind() == Kind::failed ||
                           error.kind() == Kind::permanent;
    if (is_of_one) co_return false;
    failure = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  for (const auto& order : batch) order->end(failure);
  co_return true;
}

Task<> Terminator::terminate_one(std::shared_ptr<Order> order) {
  std::exception_ptr failure;
  try {
    co_await ec2_.terminate({order->id});
  } catch (const CloudError& error) {
    order->was_there = error.kind() != CloudError::Kind::not_found;
    if (order->was_there) failure = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  order->end(failure);
}

}  // namespace nodepool::drivers::aws
