#include "cloud/xml/xml_element.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "cloud/xml/number.h"
#include "driver/cloud_error.h"

namespace nodepool::cloud {

using driver::CloudError;

XmlElement XmlElement::parse(const std::string& call, const std::string& text) {
  auto document = std::make_shared<Document>();
  document->size = text.size();
  const pugi::xml_parse_result result = document->xml.load_buffer(text.data(), text.size());
  if (!result || document->xml.document_element().empty()) {
    throw CloudError(CloudError::Kind::failed, call + ": the response is no XML");
  }
  const pugi::xml_node root = document->xml.document_element();
  return {std::move(document), root, call + ": the response"};
}

pugi::xml_node XmlElement::find(std::string_view name) const {
  for (const pugi::xml_node child : node_.children()) {
    if (child.name() == name) return child;
  }
  return {};
}

void XmlElement::fail(std::string_view name, std::string_view problem) const {
  throw CloudError(CloudError::Kind::failed, fmt::format("{}.{} {}", where_, name, problem));
}

std::string XmlElement::text(std::string_view name) const {
  std::string text = text_or(name);
  if (text.empty()) fail(name, "is missing");
  return text;
}

std::string XmlElement::text_or(std::string_view name, std::string otherwise) const {
  const pugi::xml_node child = find(name);
  return child.empty() ? std::move(otherwise) : std::string(child.text().get());
}

double XmlElement::number(std::string_view name) const {
  const std::optional<double> number = optional_number(name);
  if (!number) fail(name, "is missing");
  return *number;
}

std::optional<double> XmlElement::optional_number(std::string_view name) const {
  const std::string text = text_or(name);
  if (text.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail(name, "is no number");
  if (!is_plausible(value)) fail(name, "is out of range");
  return value;
}

std::int64_t XmlElement::integer(std::string_view name) const {
  const std::optional<std::int64_t> integer = optional_integer(name);
  if (!integer) fail(name, "is missing");
  return *integer;
}

std::optional<std::int64_t> XmlElement::optional_integer(std::string_view name) const {
  const std::optional<double> number = optional_number(name);
  if (!number) return std::nullopt;
  if (*number != std::floor(*number)) fail(name, "is no integer");
  return static_cast<std::int64_t>(*number);
}

bool XmlElement::boolean_or(std::string_view name, bool otherwise) const {
  const std::string text = text_or(name);
  return text.empty() ? otherwise : text == "true";
}

XmlElement XmlElement::child(std::string_view name) const {
  return {document_, find(name), where_ + "." + std::string(name)};
}

std::vector<XmlElement> XmlElement::items(std::string_view name) const {
  return child(name).all("item");
}

std::vector<XmlElement> XmlElement::list(std::string_view name) const {
  const XmlElement found = child(name);
  if (!found.exists()) fail(name, "is missing");
  return found.all("item");
}

std::vector<XmlElement> XmlElement::all(std::string_view name) const {
  std::vector<XmlElement> found;
  for (const pugi::xml_node node : node_.children()) {
    if (node.name() != name) continue;
    found.push_back({document_, node, fmt::format("{}.{}[{}]", where_, name, found.size())});
  }
  return found;
}

}  // namespace nodepool::cloud
