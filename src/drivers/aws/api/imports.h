#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/images.h"
#include "drivers/aws/api/caller.h"

namespace nodepool::drivers::aws {

// What an object of S3 becomes.
enum class ImportKind { snapshot, image };

// An import of EC2's.
struct ImportTask {
  ImportKind kind = ImportKind::snapshot;
  std::string id;        // "import-snap-…", "import-ami-…"
  std::string status;    // "active", "completed", "deleting", "deleted"
  std::string message;   // what it is doing, or why it has failed
  std::string image_id;  // what it has made; empty as long as it has not
  std::vector<std::string> snapshot_ids;
  driver::Metadata tags;  // its own: what it makes has none

  bool is_complete() const { return status == "completed"; }
  bool is_under_way() const {
    return !is_complete() && status != "deleting" && status != "deleted";
  }
};

// All functions throw CloudError.
class Imports {
 public:
  explicit Imports(Caller& caller) : caller_(caller) {}

  // Begins an import of all the parameters, among them a ClientToken, and returns its id.
  // CloudError(quota): too many are under way.
  async::Task<std::string> begin(ImportKind kind, Query query);
  // Those of the last days.
  async::Task<std::vector<ImportTask>> tasks(ImportKind kind);
  // Nothing if it is not shown.
  async::Task<std::optional<ImportTask>> task(ImportKind kind, std::string id);
  // Ends it, and with it what it has made. Returns at once if it is not there.
  async::Task<> cancel(std::string id);

 private:
  Caller& caller_;
};

}  // namespace nodepool::drivers::aws
