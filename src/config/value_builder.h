#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/problem.h"
#include "config/value.h"

namespace nodepool::config {

// Builds a Value from the events of a YAML parser. Implements the rules for mapping keys, merges,
// anchors and aliases. The parser numbers anchors from 1; 0 is none. All functions throw
// ConfigError for content that is not allowed.
class ValueBuilder {
 public:
  explicit ValueBuilder(std::string_view file) : file_(file) {}

  void add_scalar(Value value, std::size_t anchor);
  void add_merge_key(Mark mark);  // an unquoted `<<`; a string where no key is expected
  void add_alias(std::size_t anchor, Mark mark);
  void begin_list(Mark mark, std::size_t anchor);
  void begin_mapping(Mark mark, std::size_t anchor);
  void end_collection();

  // The finished document.
  Value take() { return std::move(root_); }

  // The keys that replace an earlier one in the same mapping, not one that `<<` merges. Only the
  // first ones of a file with many.
  std::vector<Problem> take_repeated_keys() { return std::move(repeated_keys_); }

  // An error at a place in this file.
  ConfigError error(Mark mark, std::string message, std::string hint = {}) const;

 private:
  // The entries of a mapping. A repeated key takes the later value and keeps its position.
  class Entries {
   public:
    // A key that `<<` merges.
    void put_merged(Value::Entry entry) { place_of(std::move(entry)); }

    // A key of the mapping itself. Returns the line of the earlier one that it replaces; 0: none.
    int put(Value::Entry entry);

    Value::Mapping take() { return std::move(entries_); }

   private:
    struct Place {
      std::size_t index = 0;
      int line = 0;  // of the mapping's own key; 0: none yet
    };

    Place& place_of(Value::Entry entry);

    Value::Mapping entries_;
    std::unordered_map<std::string, Place> places_;
  };

  // An unfinished list or mapping.
  struct Open {
    bool is_mapping = false;
    Mark mark;
    std::size_t anchor = 0;
    Value::List items = {};       // of a list
    Value::Mapping entries = {};  // of a mapping; the last one may lack its value
    Value::Mapping merged = {};   // merged by `<<`, by increasing precedence
    bool awaits_value = false;
    bool awaits_merge = false;
  };

  void begin(Open open);
  void put_own(Value::Entry entry, Entries& entries);
  void add(Value value, std::size_t anchor);
  void add_to(Open& mapping, Value value);
  void merge(Open& mapping, const Value& value);
  void remember(std::size_t anchor, const Value& value);
  void count_copies(const Value& value, Mark mark);

  std::string file_;
  Value root_;
  std::vector<Problem> repeated_keys_;
  std::vector<Open> open_;
  std::unordered_map<std::size_t, Value> anchors_;
  std::size_t values_ = 0;       // added so far
  std::size_t copied_ = 0;       // values of anchors and aliases
  std::size_t copied_text_ = 0;  // bytes in them
};

}  // namespace nodepool::config
