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

// The rows that everybody is shown, and what has changed of them lately: rendered once, for however
// many look on. A row is a JSON object, known by its kind and id.
//
// Whoever has the rows of one revision becomes those of the present one by the messages since then;
// who is too far behind for that takes all rows again.
class ChangeLog {
 public:
  using Text = std::shared_ptr<const std::string>;
  using TimePoint = async::Clock::TimePoint;

  // What is kept of changes that somebody may still ask for.
  struct Limits {
    std::size_t messages = 256;
    std::size_t bytes = std::size_t{4} << 20;
  };

  // `name` tells this log's revisions from those of others: of another process, for one.
  explicit ChangeLog(std::string name) : name_(std::move(name)) {}
  ChangeLog(std::string name, const Limits& limits) : name_(std::move(name)), limits_(limits) {}

  // The row is this from the next revision on; nothing changes if it is that already.
  void set(std::string_view kind, std::string_view id, std::string row);
  void erase(std::string_view kind, std::string_view id);

  // Makes a revision, and a message, of all that has changed since the last one; returns whether
  // there was anything.
  bool commit(TimePoint now);

  // The present one: "<name>-<number>".
  std::string revision() const { return name_ + "-" + std::to_string(number_); }

  // All rows, of this revision or one from which since() leads on. As all who ask within a second
  // get the same one, asking costs nothing that grows with the number of clients:
  //   {"revision":"…","rows":{"node":[…],…}}
  Text rows(TimePoint now);

  // The messages that came after `revision`, oldest first; nothing if it is too long ago, or is not
  // one of this log:
  //   {"revision":"…","set":{"node":[…]},"gone":{"request":["…"]}}
  // each as an event of a stream (text/event-stream).
  std::optional<std::vector<Text>> since(std::string_view revision) const;

 private:
  using Rows = std::map<std::string, std::string, std::less<>>;  // by id

  struct Message {
    std::uint64_t number;  // of the revision that it leads to
    Text text;
  };

  void trim(TimePoint now);
  void render(TimePoint now);
  // Whether whoever takes the rows as they were rendered last can go on from there.
  bool reaches_rendered() const;
  bool is_rendered_lately(TimePoint now) const;

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
