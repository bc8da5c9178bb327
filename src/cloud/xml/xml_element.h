#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pugixml.hpp>

namespace nodepool::cloud {

// An element of an XML response. Its readers throw CloudError(failed), which names the call and the
// path, for missing or invalid values. Numbers must be valid by number.h.
class XmlElement {
 public:
  // Parses a document, and returns its root. `call` is for messages. Throws if it is no XML.
  static XmlElement parse(const std::string& call, const std::string& text);

  // The text of a child. text() throws if it is missing or empty; text_or() returns the default.
  std::string text(std::string_view name) const;
  std::string text_or(std::string_view name, std::string otherwise = {}) const;
  double number(std::string_view name) const;
  std::optional<double> optional_number(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  std::optional<std::int64_t> optional_integer(std::string_view name) const;
  bool boolean_or(std::string_view name, bool otherwise) const;

  // A child; if it is missing, an empty element.
  XmlElement child(std::string_view name) const;
  bool exists() const { return !node_.empty(); }
  // The children `item` of a child: EC2's format of a list.
  std::vector<XmlElement> items(std::string_view name) const;
  // The same, but the child is required: a response without it is not from EC2.
  std::vector<XmlElement> list(std::string_view name) const;
  // The size of the parsed text, in bytes.
  std::size_t document_size() const { return document_->size; }
  // The children with this name.
  std::vector<XmlElement> all(std::string_view name) const;
  // The text of the element itself.
  std::string own_text() const { return node_.text().get(); }

 private:
  struct Document {
    pugi::xml_document xml;
    std::size_t size = 0;  // bytes
  };

  XmlElement(std::shared_ptr<const Document> document, pugi::xml_node node, std::string where)
      : document_(std::move(document)), node_(node), where_(std::move(where)) {}

  pugi::xml_node find(std::string_view name) const;
  [[noreturn]] void fail(std::string_view name, std::string_view problem) const;

  std::shared_ptr<const Document> document_;
  pugi::xml_node node_;
  std::string where_;
};

}  // namespace nodepool::cloud
