#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "model/followed_tree.h"
#include "model/record_set.h"

namespace nodepool::model {

// The records of one kind, which follow the store.
template <typename Record>
class RecordTable : public FollowedTree, protected RecordSet<Record> {
 public:
  RecordTable(const async::Runtime& runtime, coordination::Store& store, std::string_view root,
              telemetry::Logger log)
      : FollowedTree(runtime, store, root, log), RecordSet<Record>(root, std::move(log)) {}

  using typename RecordSet<Record>::Change;
  using RecordSet<Record>::find;
  using RecordSet<Record>::all;
  using RecordSet<Record>::observe;
  using RecordSet<Record>::is_unreadable;
  using RecordSet<Record>::unreadable;
  using RecordSet<Record>::last_known;

  // Applies an own successful write, before its event arrives. `stat` is from the store's response.
  void written(Record record, const coordination::Stat& stat) {
    record.stat = stat;
    if (cache().apply_version(record.id, stat)) this->insert(std::move(record));
  }
  // Applies a record that was read from the store.
  void seen(std::string_view id, const coordination::Entry& entry) { cache().apply(id, entry); }
  void removed(std::string_view id) { cache().apply_removed(id); }

 protected:
  bool on_unreadable(std::string_view path, const std::string& reason) override {
    this->record_unreadable(path, reason);
    return true;
  }
};

}  // namespace nodepool::model
