#pragma once

#include <functional>
#include <map>
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

// The records of one kind in memory, with whatever indexes a subclass adds. A record that cannot be
// understood is reported once and left out; it disturbs no other.
template <typename Record>
class RecordSet {
 public:
  // One record's change; `before` is null for a new one, `after` for one that is gone.
  struct Change {
    const std::string& id;
    const Record* before;
    const Record* after;
  };

  // Records are at `root`/<id>, which warnings say.
  RecordSet(std::string_view root, telemetry::Logger log) : log_(std::move(log)), root_(root) {}
  virtual ~RecordSet() = default;

  // The record with this id, or null. Valid until the next co_await.
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

  // Takes in one version of the record with this id.
  void record_changed(std::string_view id, const coordination::Entry& entry) {
    // Empty data: a lock was taken below a record that was just being removed.
    if (entry.data.empty()) return record_removed(id);
    try {
      replace(id, parse(std::string(id), entry));
    } catch (const RecordError& error) {
      log_.warning("Ignoring the record {}/{} (version {}): {}", root_, id, entry.stat.version,
                   error.what());
      record_removed(id);
    }
  }

  // … or a record of its own making.
  void insert(Record record) {
    const std::string id = record.id;
    replace(id, std::move(record));
  }

  void record_removed(std::string_view id) {
    const auto found = records_.find(id);
    if (found == records_.end()) return;
    unindex(found->second);
    const auto node = records_.extract(found);
    changes_.notify(Change{node.key(), &node.mapped(), nullptr});
  }

 protected:
  virtual Record parse(std::string id, const coordination::Entry& entry) const = 0;
  // Keeps the subclass's indexes; called before `record` is forgotten, and after it is known.
  virtual void unindex(const Record& record) = 0;
  virtual void index(const Record& record) = 0;
  // A record is going to be kept: what it has in common with others may be shared.
  virtual void share(Record& /*record*/) {}

 private:
  void replace(std::string_view id, Record record) {
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
  Observers<const Change&> changes_;
};

}  // namespace nodepool::model
