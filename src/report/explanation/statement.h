#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nodepool::report {

// One fact of an explanation, with its details.
struct Statement {
  std::string key;   // for programs: the sort of fact; stable
  std::string name;  // for people: the subject of the text; may be empty
  std::string text;  // a sentence
  std::vector<Statement> details = {};
};

using Statements = std::vector<Statement>;

// An explanation of a request, a node, a lease, a label or a host.
struct Explanation {
  Statements statements;
  // Explanations of related subjects, such as the backing nodes of a node.
  std::vector<Explanation> others = {};
  std::size_t omitted = 0;  // the requests that wait for a label beyond those in the statements
};

// Whether the reader of an explanation may see the request, lease or node with this id. Empty: all.
using MayName = std::function<bool(const std::string& id)>;

bool is_visible(const MayName& may_name, const std::string& id);

// "request 200-0000000008"; "another client's request" if the reader may not see it.
std::string request_title(const MayName& may_name, const std::string& id);

// The same for a node.
std::string node_title(const MayName& may_name, const std::string& id);

// Adds a statement and returns it, to add details.
Statement& say(Statements& statements, std::string key, std::string text);

// Adds a statement with a name, unless the text is empty.
void say_of(Statements& statements, std::string key, std::string name, std::string text);
void say_of(Statements& statements, std::string key, std::string text);  // the key is the name

// Seconds as "0:01:05", "26:00:00"; negative values as "0:00:00".
std::string duration_text(double seconds);

}  // namespace nodepool::report
