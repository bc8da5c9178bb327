#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/images.h"

namespace nodepool::drivers::aws {

// The parameters of a call in AWS's Query format: "TagSpecification.1.Tag.2.Key".
class Query {
 public:
  Query& add(std::string name, std::string value);
  Query& add(std::string name, const char* value) {
    return add(std::move(name), std::string(value));
  }
  Query& add(std::string name, std::int64_t value);
  Query& add(std::string name, bool value);
  // Adds nothing if the value is empty.
  Query& add_if_any(std::string name, std::string value);
  // NAME.1, NAME.2, …
  Query& add_list(const std::string& name, const std::vector<std::string>& values);
  // Adds a filter with the next number.
  Query& add_filter(std::string name, const std::vector<std::string>& values);

  const std::vector<std::pair<std::string, std::string>>& parameters() const { return parameters_; }
  // The encoded form body.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
  int filters_ = 0;
};

// Adds `TagSpecification.NUMBER` for a resource type.
void add_tags(Query& query, int number, std::string_view type, const driver::Metadata& tags);

}  // namespace nodepool::drivers::aws
