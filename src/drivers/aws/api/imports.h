#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/images.h"
#include "drivers/aws/api/caller.h"

namespace nodepool::drivers::aws {

// The result of an import.
enum class ImportKind { snapshot, image };

// An import task of EC2.
struct ImportTask {
  ImportKind kind = ImportKind::snapshot;
  std::string id;        // "import-snap-…", "import-ami-…"
  std::string status;    // "active", "completed", "deleting", "deleted"
  std::string message;   // progress, or the reason for a failure
  std::string image_id;  // of the result; empty: none yet
  std::vector<std::string> snapshot_ids;
  driver::Metadata tags;  // of the task; its results have none

  bool is_complete() const { return status == "completed"; }
  bool is_under_way() const {
    return !is_complete() && status != "deleting" && status != "deleted";
  }
};

// All functions throw CloudError.
class Imports {
 public:
  explicit Imports(Caller& caller) : caller_(caller) {}

  // Begins an import, and returns the task's id. `query` contains a ClientToken. CloudError(quota):
  // too many imports are running.
  async::Task<std::string> begin(ImportKind kind, Query query);
  // The tasks of the last days.
  async::Task<std::vector<ImportTask>> tasks(ImportKind kind);
  // Returns nothing if the task is not listed.
  async::Task<std::optional<ImportTask>> task(ImportKind kind, std::string id);
  // Cancels the task, and deletes its results. Succeeds if it does not exist.
  async::Task<> cancel(std::string id);

 private:
  Caller& caller_;
};

}  // namespace nodepool::drivers::aws
