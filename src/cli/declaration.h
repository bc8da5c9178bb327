#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"

// The commands as data: names, arguments, help. The parser, the help, the manual pages and the
// shell completion are generated from it.
namespace nodepool::cli {

// The value of an argument or an option.
struct ArgumentValue {
  std::string name;  // in the usage: "LABEL"; empty: an option without a value
  // If not empty: the only accepted values, which are also the usage if there is no name.
  std::vector<std::string> words = {};
  std::string listed_by = {};  // completed from this command's `-o name`: "label-list"
  bool is_file = false;

  std::string usage() const;  // "LABEL", "table|json"
  bool is_none() const { return name.empty() && words.empty(); }
};

// A value cannot be used; the text says why.
class BadValue : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Writes a given value into the arguments, which have the declared command. Throws BadValue.
using Read = std::function<void(Arguments& arguments, const std::string& given)>;

struct Option {
  std::string names;  // "-o,--output"
  ArgumentValue value;
  std::string help;
  Read read;
  bool is_required = false;
  bool may_repeat = false;
  std::string needs = {};  // another option that has to be given, too
};

// A positional argument.
struct Operand {
  enum class Count { one, optional, several, any };
  ArgumentValue value;
  std::string help;
  Read read;
  Count count = Count::one;
};

// The sections of the list of commands.
enum class Group { use, inspect, nodes, images, site };

struct Declaration {
  std::string name;  // "list"; "store copy" is below `store`
  Group group = Group::inspect;
  std::string summary;             // an imperative, without a full stop
  std::optional<Command> command;  // with its defaults; nothing for `help`
  // How the command opens the store, unless an option says otherwise.
  StoreUse store_use = StoreUse::write;
  std::vector<Operand> operands = {};
  std::vector<Option> options = {};
  std::string notes = {};  // sentences after the options, as lines
  Read read_rest = {};     // of `-- COMMAND…`; empty: the command has none
  bool is_rest_required = false;
  // Returns why the arguments are invalid together; empty if they are valid.
  std::function<std::string(const Arguments&)> validation_error = {};
};

// The heading of the group: "Images".
std::string_view heading(Group group);

// Whether the option has this name: "-o" or "--output".
bool has_name(const Option& option, std::string_view name);

// The option's names, separated: "-o", "--output".
std::vector<std::string> names_of(const Option& option);

// All commands in the order of the help, and the options that all of them have.
const std::vector<Declaration>& declarations();
const std::vector<Option>& common_options();

}  // namespace nodepool::cli
