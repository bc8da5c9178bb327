#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/tree.h"

namespace nodepool::coordination {

// Several sessions on one in-process store, in virtual time.
class RecipesTest : public testing::Test {
 protected:
  RecipesTest() { loop_.run(ensure_path(a_, "/lock")); }

  void settle() {
    while (loop_.poll()) {
    }
  }
  void pass(async::Duration duration) {
    settle();
    clock_.advance_by(duration);
    settle();
  }
  std::vector<std::string> children(const std::string& path) {
    return loop_.run(a_.children(path));
  }
  async::TaskScope::ErrorHandler note_errors() {
    return [this](const std::string& name, const std::string& error) {
      log_.push_back(name + ": " + error);
    };
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{3};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  MemoryServer server_;
  MemoryStore a_{server_, runtime_};
  MemoryStore b_{server_, runtime_};
  std::vector<std::string> log_;
  async::TaskScope scope_{runtime_, note_errors()};
};

}  // namespace nodepool::coordination
