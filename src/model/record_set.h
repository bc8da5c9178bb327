#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "coordination/store.h"
#include "model/observers.h"
#include "model/record.h"
#include "telemetry/log.h"

namespace nodepool::model {

using IdSet = std::set<std::string, std::less<>>;

// The records of one kind in memory, with the indexes of a subclass. An invalid record is logged
// and left out.
template <typename Record>
class RecordSet {
 public:
  // A change of a record. `before` is nullptr for a new one, `after` for a removed one.
  struct Change {
    const std::string& id;
    const Record* before;
    const Record* after;
  };

  // Records are at `root`/<id>.
  RecordSet(std::string_view root, telemetry::Logger log) : log_(std::move(log)), root_(root) {}
  virtual ~RecordSet() = default;

  // The record with this id, or nullptr. Valid until the next co_await.
  const Record* find(std::string_view id) const {
    const auto found = records_.find(id);
    return found == records_.end() ? nullptr : &found->second;
  }

  // All records by id.
  const std::map<std::string, Record, std::less<>>& all() const { return records_; }

  // Calls `observer` after each change, with indexes up to date.
  coordination::Subscription observe(std::function<void(const Change&)> observer) {
    return changes_.subscribe(std::move(observer));
  }

  // Whether there is a record with this id that is invalid or cannot be read: what it describes is
  // unknown, not gone.
  bool is_unreadable(std::string_view id) const { return unreadable_.contains(id); }
  const IdSet& unreadable() const { return unreadable_; }

  // What is known of a record that is_unreadable(): what parse_partly() makes of it, or else its
  // last valid version. nullptr: nothing, or the record can be read. Valid until the next co_await.
  const Record* last_known(std::string_view id) const {
    const auto found = last_known_.find(id);
    return found == last_known_.end() ? nullptr : &found->second;
  }

  // Applies a version of the record.
  void record_changed(std::string_view id, const coordination::Entry& entry) {
    // A lock was taken below a record that was being removed.
    if (entry.data.empty()) return record_removed(id);
    try {
      replace(id, parse(std::string(id), entry));
    } catch (const RecordError& error) {
      log_.warning("Ignoring the record {}/{} (version {}): {}", root_, id, entry.stat.version,
                   error.what());
      unreadable_.emplace(id);
      drop_unreadable(id);
      if (std::optional<Record> part = parse_partly(std::string(id), entry)) {
        last_known_.insert_or_assign(std::string(id), std::move(*part));
      }
    }
  }

  // The record exists and cannot be read.
  void record_unreadable(std::string_view id, const std::string& reason) {
    if (!unreadable_.emplace(id).second) return;
    log_.warning("Ignoring the record {}/{}: {}", root_, id, reason);
    drop_unreadable(id);
  }

  // Adds or replaces a record.
  void insert(Record record) {
    const std::string id = record.id;
    replace(id, std::move(record));
  }

  void record_removed(std::string_view id) {
    forget_unreadable(id);
    drop(id);
  }

 protected:
  virtual Record parse(std::string id, const coordination::Entry& entry) const = 0;
  // What an invalid record says all the same.
  virtual std::optional<Record> parse_partly(const std::string& /*id*/,
                                             const coordination::Entry& /*entry*/) const {
    return std::nullopt;
  }
  // Update the subclass's indexes: unindex() before `record` is removed, index() after it was
  // added.
  virtual void unindex(const Record& record) = 0;
  virtual void index(const Record& record) = 0;
  // May share fields that are equal in many records. Called before a record is stored.
  virtual void share(Record& /*record*/) {}

 private:
  void forget_unreadable(std::string_view id) {
    if (const auto found = unreadable_.find(id); found != unreadable_.end()) {
      unreadable_.erase(found);
    }
    if (const auto found = last_known_.find(id); found != last_known_.end()) {
      last_known_.erase(found);
    }
  }

  void drop_unreadable(std::string_view id) {
    if (const Record* record = find(id)) last_known_.insert_or_assign(std::string(id), *record);
    drop(id);
  }

  void drop(std::string_view id) {
    const auto found = records_.find(id);
    if (found == records_.end()) return;
    unindex(found->second);
    const auto node = records_.extract(found);
    changes_.notify(Change{node.key(), &node.mapped(), nullptr});
  }

  void replace(std::string_view id, Record record) {
    forget_unreadable(id);
    share(record);
    const auto found = records_.find(id);
    if (found == records_.end()) {
      const auto [added, _] = records_.emplace(id, std::move(record));
      index(added->second);
      changes_.notify(Change{added->first, nullptr, &added->second});
      return;
    }
    unindex(found->second);
    const Record before = std::exchange(found->second, std::move(record));
    index(found->second);
    changes_.notify(Change{found->first, &before, &found->second});
  }

  telemetry::Logger log_;
  std::string root_;
  std::map<std::string, Record, std::less<>> records_;
  IdSet unreadable_;
  std::map<std::string, Record, std::less<>> last_known_;  // of the unreadable ones
  Observers<const Change&> changes_;
};

}  // namespace nodepool::model
