#include "drivers/aws/terminator.h"

#include <algorithm>
#include <exception>

#include "driver/cloud_error.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;

namespace {

// Less than the API's limit, because a refused call fails for the whole batch.
constexpr std::size_t kMostInOneCall = 50;

}  // namespace

struct Terminator::Termination {
  explicit Termination(std::string instance) : id(std::move(instance)) {}

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
  const auto termination = std::make_shared<Termination>(std::move(id));
  terminations_.push_back(termination);
  if (!is_working_) {
    is_working_ = true;
    scope_.spawn("terminating instances", work());
  }
  while (!termination->ended) co_await termination->changed.wait();
  if (termination->failure) std::rethrow_exception(termination->failure);
  co_return termination->was_there;
}

Task<> Terminator::work() {
  while (!terminations_.empty()) {
    const std::size_t count = std::min(terminations_.size(), kMostInOneCall);
    const auto end = terminations_.begin() + static_cast<std::ptrdiff_t>(count);
    const std::vector<std::shared_ptr<Termination>> batch(terminations_.begin(), end);
    terminations_.erase(terminations_.begin(), end);
    const bool is_done = batch.size() > 1 && co_await terminate_all(batch);
    if (is_done) continue;
    for (const auto& termination : batch) co_await terminate_one(termination);
  }
  is_working_ = false;
}

// Returns false if the batch failed because of a single instance: one that does not exist, is
// protected or not accessible. Then they are terminated one by one.
Task<bool> Terminator::terminate_all(std::vector<std::shared_ptr<Termination>> batch) {
  std::vector<std::string> ids;
  ids.reserve(batch.size());
  for (const auto& termination : batch) ids.push_back(termination->id);
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
  for (const auto& termination : batch) termination->end(failure);
  co_return true;
}

Task<> Terminator::terminate_one(std::shared_ptr<Termination> termination) {
  std::exception_ptr failure;
  try {
    co_await ec2_.terminate({termination->id});
  } catch (const CloudError& error) {
    termination->was_there = error.kind() != CloudError::Kind::not_found;
    if (termination->was_there) failure = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  termination->end(failure);
}

}  // namespace nodepool::drivers::aws
