#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What an entry of the journal reports for programs: by event, one type. In a line it is the
// object `data`; its members are stable.
namespace nodepool::history {

// "fulfilled": how long the request waited.
struct Waited {
  std::vector<std::string> labels;  // sorted
  double seconds = 0;

  friend bool operator==(const Waited&, const Waited&) = default;
};

// "declined".
struct Declined {
  // Reasons that readers distinguish.
  static constexpr std::string_view kLaunchFailed = "launch-failed";
  static constexpr std::string_view kNotOffered = "labels-not-offered";
  static constexpr std::string_view kPoolFull = "pool-full";
  static constexpr std::string_view kProviderFull = "provider-full";

  std::string pool;    // its id
  std::string reason;  // name of planning::Reason::Code; empty: another launcher knows it

  friend bool operator==(const Declined&, const Declined&) = default;
};

// "failed", of a request.
struct DeclinedByAll {
  // Those that decided: without the pools that do not offer the labels, unless there are no others.
  std::vector<Declined> declines;

  friend bool operator==(const DeclinedByAll&, const DeclinedByAll&) = default;
};

// "decision".
struct Decided {
  std::string pool;  // its id
  std::string json;  // all of it: planning::to_json()

  friend bool operator==(const Decided&, const Decided&) = default;
};

// "launch": an attempt has ended.
struct Attempted {
  std::string failure;  // empty: it succeeded
  std::string json;     // all of it: driver::to_json(LaunchTrace)

  friend bool operator==(const Attempted&, const Attempted&) = default;
};

// "asks": the node waits for a backing node.
struct AskedFor {
  std::string request;

  friend bool operator==(const AskedFor&, const AskedFor&) = default;
};

// "on": the node was placed on a backing node.
struct PlacedOn {
  std::string node;

  friend bool operator==(const PlacedOn&, const PlacedOn&) = default;
};

// Of another event, or of another release in a form that this one does not know.
struct OtherFacts {
  std::string json;

  friend bool operator==(const OtherFacts&, const OtherFacts&) = default;
};

// std::monostate: there is only text.
using Facts = std::variant<std::monostate, Waited, Declined, DeclinedByAll, Decided, Attempted,
                           AskedFor, PlacedOn, OtherFacts>;

// A JSON object; empty: there are none.
std::string to_json(const Facts& facts);

// The facts of an event from their JSON. What is not of the event's form is OtherFacts.
Facts facts_of(std::string_view event, std::string json);

}  // namespace nodepool::history
