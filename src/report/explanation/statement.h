#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nodepool::report {

// One thing that an explanation says, and what belongs to it.
struct Statement {
  std::string key;   // for programs, which sort of thing it is: it does not change
  std::string name;  // for people: what the text is about; empty: the text says it
  std::string text;  // a sentence
  std::vector<Statement> details = {};
};

using Statements = std::vector<Statement>;

// What there is to say about a request, a node, a label or a host.
struct Explanation {
  Statements statements;
  // The same of others that belong to it: the requests that wait for a label. `omitted`: how many
  // more there are.
  std::vector<Explanation> others = {};
  std::size_t omitted = 0;
};

// Adds a statement, and returns it for details to be added to.
Statement& say(Statements& statements, std::string key, std::string text);

// Adds what is known of something; nothing if there is no text.
void say_of(Statements& statements, std::string key, std::string name, std::string text);
void say_of(Statements& statements, std::string key, std::string text);  // which is the name, too

// Seconds as "0:01:05", "26:00:00"; less than none as none.
std::string duration_text(double seconds);

}  // namespace nodepool::report
