#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"

// What the commands are called, take and do, as data. The parser, the help, the manual pages and
// the completion of shells are made from it.
namespace nodepool::cli {

// What may stand for an argument or an option's value.
struct Value {
  std::string name;  // in the usage: "LABEL"; empty: an option without a value
  std::vector<std::string> words =
      {};                      // nothing else is accepted; they are the name if it has none
  std::string listed_by = {};  // the command whose names (-o name) these are: "label-list"
  bool is_file = false;

  std::string usage() const;  // "LABEL", "table|json"
  bool is_none() const { return name.empty() && words.empty(); }
};

// What is given cannot be used; the text says why.
class BadValue : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Writes what is given into the arguments, whose command is the declared one. Throws BadValue.
using Read = std::function<void(Arguments& arguments, const std::string& given)>;

struct Option {
  std::string names;  // "-o,--output"
  Value value;
  std::string help;
  Read read;
  bool is_required = false;
  bool may_repeat = false;
  std::string needs = {};  // another option, without which it makes no sense
};

// An argument that is no option.
struct Operand {
  enum class Count { one, optional, several, any };
  Value value;
  std::string help;
  Read read;
  Count count = Count::one;
};

// The parts of the list of commands.
enum class Group { use, look, nodes, images, site };

struct Declaration {
  std::string name;  // "list"; "store copy" is below `store`
  Group group = Group::look;
  std::string summary;             // what it does, without a full stop
  std::optional<Command> command;  // with its defaults; nothing for `help`
  std::vector<Operand> operands = {};
  std::vector<Option> options = {};
  std::string notes = {};  // sentences after the options, as lines
  Read read_rest = {};     // of `-- COMMAND…`; not there: it has none
  bool is_rest_required = false;
  // What does not fit together; empty if all does.
  std::function<std::string(const Arguments&)> validation_error = {};
};

// "Nodes": the heading of the group.
std::string_view heading(Group group);

// Whether the option has this name: "-o" or "--output".
bool has_name(const Option& option, std::string_view name);

// The option's names, each by itself.
std::vector<std::string> names_of(const Option& option);

// All commands, in the order of the help; and the options of all of them.
const std::vector<Declaration>& declarations();
const std::vector<Option>& common_options();

}  // namespace nodepool::cli
