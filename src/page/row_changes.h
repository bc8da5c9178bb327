#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/clock.h"

namespace nodepool::page {

// The rows of the status page and their recent changes, rendered once for all viewers. A row is a
// JSON object with a kind and an id.
//
// A client with the rows of one revision gets to the current one by the messages since then. If it
// is too far behind, it loads all rows again.
class RowChanges {
 public:
  using Text = std::shared_ptr<const std::string>;
  using TimePoint = async::Clock::TimePoint;

  // Limits of the messages that are kept.
  struct Limits {
    std::size_t messages = 256;
    std::size_t bytes = std::size_t{4} << 20;
  };

  // `name` distinguishes this log's revisions from those of other logs and processes.
  explicit RowChanges(std::string name) : name_(std::move(name)) {}
  RowChanges(std::string name, const Limits& limits) : name_(std::move(name)), limits_(limits) {}

  // Sets a row, from the next revision on. Does nothing if it is unchanged.
  void set(std::string_view kind, std::string_view id, std::string row);
  void erase(std::string_view kind, std::string_view id);

  // Creates a revision and its message from all changes since the last one. Returns false if there
  // were none.
  bool commit(TimePoint now);

  // The current revision: "<name>-<number>".
  std::string revision() const { return name_ + "-" + std::to_string(number_); }

  // All rows, of the current revision or a recent one that since() accepts. They are rendered at
  // most once a second, so the cost does not depend on the number of clients:
  //   {"revision":"…","rows":{"node":[…],…}}
  Text rows(TimePoint now);

  // The messages after `revision`, oldest first, each as an event of a stream (text/event-stream).
  // Returns nothing if the revision is too old or not one of this log:
  //   {"revision":"…","set":{"node":[…]},"gone":{"request":["…"]}}
  std::optional<std::vector<Text>> since(std::string_view revision) const;

 private:
  using Rows = std::map<std::string, std::string, std::less<>>;  // by id

  struct Message {
    std::uint64_t number;  // of the resulting revision
    Text text;
  };

  void trim(TimePoint now);
  void render(TimePoint now);
  // Whether the messages lead from the last rendered rows to the current revision.
  bool reaches_rendered() const;
  bool is_rendered_recently(TimePoint now) const;

  std::string name_;
  Limits limits_ = {};
  std::uint64_t number_ = 0;
  std::map<std::string, Rows, std::less<>> rows_;  // by kind
  std::size_t size_ = 0;                           // of all rows, in bytes
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> changed_;
  std::deque<Message> messages_;
  std::size_t messages_size_ = 0;  // bytes
  Text rendered_;
  std::uint64_t rendered_number_ = 0;
  TimePoint rendered_at_{};
  std::size_t size_since_rendered_ = 0;  // of messages, in bytes
};

}  // namespace nodepool::page
