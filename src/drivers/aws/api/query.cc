#include "drivers/aws/api/query.h"

#include <fmt/format.h>

#include "cloud/url_text.h"

namespace nodepool::drivers::aws {

Query& Query::add(std::string name, std::string value) {
  parameters_.emplace_back(std::move(name), std::move(value));
  return *this;
}

Query& Query::add(std::string name, std::int64_t value) {
  return add(std::move(name), std::to_string(value));
}

Query& Query::add(std::string name, bool value) {
  return add(std::move(name), std::string(value ? "true" : "false"));
}

Query& Query::add_if_any(std::string name, std::string value) {
  return value.empty() ? *this : add(std::move(name), std::move(value));
}

Query& Query::add_list(const std::string& name, const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) add(fmt::format("{}.{}", name, i + 1), values[i]);
  return *this;
}

Query& Query::add_filter(std::string name, const std::vector<std::string>& values) {
  const std::string filter = fmt::format("Filter.{}", ++filters_);
  add(filter + ".Name", std::move(name));
  return add_list(filter + ".Value", values);
}

std::string Query::text() const {
  std::string text;
  for (const auto& [name, value] : parameters_) {
    if (!text.empty()) text += '&';
    text += cloud::url_text(name) + "=" + cloud::url_text(value);
  }
  return text;
}

void add_tags(Query& query, int number, std::string_view type, const driver::Metadata& tags) {
  const std::string specification = fmt::format("TagSpecification.{}", number);
  query.add(specification + ".ResourceType", std::string(type));
  int tag = 0;
  for (const auto& [key, value] : tags) {
    const std::string name = fmt::format("{}.Tag.{}", specification, ++tag);
    query.add(name + ".Key", key).add(name + ".Value", value);
  }
}

}  // namespace nodepool::drivers::aws
