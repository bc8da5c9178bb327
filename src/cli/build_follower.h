#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>

#include "async/event.h"
#include "cli/session.h"
#include "model/image_table.h"

namespace nodepool::cli {

// Shows what the next build of an image writes, as it is written, where the builder is on this
// host; elsewhere it only tells how the build ends, and why if it fails.
class BuildFollower {
 public:
  // Builds that there are already are not followed. Both outlive this.
  BuildFollower(Session& session, model::ImageTable& images, std::string image);

  // Returns when the build has ended: 0 if it is ready, otherwise 1. Throws Cancelled.
  Task<int> run();

 private:
  Task<std::string> next_build();
  Task<> wait_for_end(std::string id);
  Task<> watch_log();
  void show_news();

  Session& session_;
  const model::ImageTable& images_;
  std::string image_;
  std::set<std::string> known_;
  std::filesystem::path log_;
  std::size_t shown_ = 0;  // bytes of the log
  async::Event changed_{"the image, or the log of its build, has changed"};
  coordination::Subscription subscription_;
};

}  // namespace nodepool::cli
