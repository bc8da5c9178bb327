#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "async/task.h"
#include "async/thread_pool.h"
#include "builder/image_store.h"
#include "model/image_table.h"

namespace nodepool::builder {

using async::Task;

// The image files on the disk of this builder, as of the last scan.
class LocalImages {
 public:
  // `fqdn`: this builder's, as in its builds. The references outlive it.
  LocalImages(ImageStore files, std::string fqdn, const model::ImageTable& images,
              async::ThreadPool& threads)
      : files_(std::move(files)), fqdn_(std::move(fqdn)), images_(images), threads_(threads) {}

  // Reads the id of this builder from the disk; the first builder there stores `new_id`. Throws
  // std::runtime_error.
  Task<> identify(std::string new_id);

  // Deletes what an earlier process has left incomplete, then scans. Throws std::runtime_error.
  Task<> start();

  // Updates contents() from the disk. Throws std::runtime_error.
  Task<> scan();

  const ImageStore& files() const { return files_; }
  const std::string& builder_id() const { return builder_id_; }
  const ImageStore::Contents& contents() const { return contents_; }

  // Whether files with its name on this disk belong to the build. Gearman clients choose ids, so
  // they may be left from an earlier attempt at a build that a builder on another host has then
  // completed. The host's name counts as well, because builder_id.txt may get lost.
  bool has_files_of(const model::ImageBuild& build) const {
    return build.builder_id.value_or(builder_id_) == builder_id_ || build.builder == fqdn_;
  }

  // The formats of a build on this disk. Returns null if there are none.
  const std::set<std::string>* formats_of(const std::string& image,
                                          const std::string& build_id) const;

 private:
  ImageStore files_;
  std::string fqdn_;
  const model::ImageTable& images_;
  async::ThreadPool& threads_;
  std::string builder_id_;
  ImageStore::Contents contents_;
  std::uint64_t scans_begun_ = 0;
  std::uint64_t scan_seen_ = 0;
};

}  // namespace nodepool::builder
