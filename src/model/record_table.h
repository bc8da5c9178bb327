#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "model/followed_tree.h"
#include "model/record_set.h"

namespace nodepool::model {

// The records of one kind, kept in memory as the store has them.
template <typename Record>
class RecordTable : public FollowedTree, protected RecordSet<Record> {
 public:
  RecordTable(const async::Runtime& runtime, coordination::Store& store, std::string_view root,
              telemetry::Logger log)
      : FollowedTree(runtime, store, root), RecordSet<Record>(root, std::move(log)) {}

  using typename RecordSet<Record>::Change;
  using RecordSet<Record>::find;
  using RecordSet<Record>::all;
  using RecordSet<Record>::observe;

  // Tells the table of an own successful write, so that decisions made next already see it.
  // The record is what was written, `stat` what the store answered.
  void written(Record record, const coordination::Stat& stat) {
    record.stat = stat;
    if (cache().apply_version(record.id, stat)) this->insert(std::move(record));
  }
  // … of a record that was read from the store.
  void seen(std::string_view id, const coordination::Entry& entry) { cache().apply(id, entry); }
  void removed(std::string_view id) { cache().apply_removed(id); }
};

}  // namespace nodepool::model
