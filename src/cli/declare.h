#pragma once

#include <chrono>
#include <ranges>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/declaration.h"

// Helpers for the declarations in declare_*.cc.
namespace nodepool::cli {

// The declarations of each file.
std::vector<Declaration> use_declarations();
std::vector<Declaration> inspect_declarations();
std::vector<Declaration> node_declarations();
std::vector<Declaration> image_declarations();
std::vector<Declaration> site_declarations();

// Write a given value into a member of a command.
inline void write(bool& target, const std::string& /*given*/) {
  target = true;
}
inline void write(std::string& target, const std::string& given) {
  target = given;
}
inline void write(std::optional<std::string>& target, const std::string& given) {
  target = given;
}
inline void write(std::vector<std::string>& target, const std::string& given) {
  target.push_back(given);
}
// Throw BadValue.
void write(std::chrono::seconds& target, const std::string& given);
void write(std::optional<std::chrono::seconds>& target, const std::string& given);

// Reads a value into a member of a command.
template <typename Kind, typename Part>
Read into(Part Kind::* part) {
  return [part](Arguments& arguments, const std::string& given) {
    write(std::get<Kind>(arguments.command).*part, given);
  };
}

// An option without a value.
Option flag(std::string names, std::string help, Read read);

inline ArgumentValue duration_value() {
  return {.name = "DURATION"};
}

// Values that are completed from a listing.
inline ArgumentValue label_value() {
  return {.name = "LABEL", .listed_by = "label-list"};
}
inline ArgumentValue lease_value(std::string name = "LEASE") {
  return {.name = std::move(name), .listed_by = "lease-list"};
}
inline ArgumentValue node_value(std::string name = "NODE") {
  return {.name = std::move(name), .listed_by = "list"};
}
inline ArgumentValue image_value() {
  return {.name = "IMAGE", .listed_by = "image-status"};
}
inline ArgumentValue provider_value() {
  return {.name = "PROVIDER"};
}

// Which of the options of listings a command has.
struct ListingOptions {
  // Options and the columns that they filter: {"label", "node_types"}.
  std::vector<std::pair<std::string, std::string>> filters = {};
  std::vector<std::string> states = {};  // accepted by `--state`
  bool has_names = true;                 // -o name
  bool can_watch = true;                 // --watch
};

// The names of states, as the words of an option.
template <std::ranges::input_range States>
std::vector<std::string> names_of_states(const States& states) {
  std::vector<std::string> names;
  for (const auto state : states) names.emplace_back(to_string(state));
  return names;
}

std::vector<Option> listing_options(const std::function<Listing&(Arguments&)>& listing,
                                    const ListingOptions& which);

// The declaration of a command that only reads, with the options of a listing, which go to the
// command's member `listing`.
template <typename Kind>
Declaration with_listing(Declaration declaration, const ListingOptions& which) {
  auto listing = [](Arguments& arguments) -> Listing& {
    return std::get<Kind>(arguments.command).listing;
  };
  declaration.store_use = StoreUse::read;
  for (Option& option : listing_options(listing, which)) {
    declaration.options.push_back(std::move(option));
  }
  return declaration;
}

}  // namespace nodepool::cli
