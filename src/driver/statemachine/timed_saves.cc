#include "driver/statemachine/timed_saves.h"

#include <exception>

namespace nodepool::driver {

async::Task<> TimedSaves::save() {
  since_ = clock_.now();
  std::exception_ptr failure;
  try {
    co_await launch_.save();
  } catch (...) {
    failure = std::current_exception();
  }
  taken_ = taken();
  since_.reset();
  if (failure) std::rethrow_exception(failure);
}

async::Duration TimedSaves::taken() const {
  return since_ ? taken_ + (clock_.now() - *since_) : taken_;
}

}  // namespace nodepool::driver
