#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "tests/integration/builder_host.h"

// What builders promise on every store, as tests. An executable that runs them on one compiles
// builder_store_test.cc, and writes, in this namespace,
//
//   INSTANTIATE_TEST_SUITE_P(SQLite, BuilderOnStore,
//   testing::Values(store_for_builders<Records>()));
namespace nodepool::integration {

// The records of all hosts of a test, empty at first. One is made for each test.
class SharedRecords {
 public:
  SharedRecords() = default;
  virtual ~SharedRecords() = default;
  SharedRecords(const SharedRecords&) = delete;
  SharedRecords& operator=(const SharedRecords&) = delete;

  // Top-level keys of nodepool.yaml.
  virtual std::string keys() = 0;
};

// A store under test.
struct StoreForBuilders {
  std::function<std::unique_ptr<SharedRecords>()> make;

  // Keeps addresses out of the test names.
  friend void PrintTo(const StoreForBuilders& /*store*/, std::ostream* out) { *out << "store"; }
};

template <typename Records>
StoreForBuilders store_for_builders() {
  return {[] { return std::make_unique<Records>(); }};
}

class BuilderOnStore : public testing::TestWithParam<StoreForBuilders> {
 protected:
  std::unique_ptr<SharedRecords> records_ = GetParam().make();
  BuilderHost host_{records_->keys()};
};

}  // namespace nodepool::integration
