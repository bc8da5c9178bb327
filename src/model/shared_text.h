#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace nodepool::model {

// Like std::optional<std::string>, but immutable: copies share the text. Records have many such
// fields, most of them absent or equal in thousands of records.
class SharedText {
 public:
  SharedText() = default;
  SharedText(std::nullopt_t) {}  // NOLINT(google-explicit-constructor): as std::optional
  template <typename Text>
    requires std::convertible_to<Text, std::string_view>
  SharedText(Text&& text)  // NOLINT(google-explicit-constructor): as std::optional
      : text_(std::make_shared<const std::string>(std::forward<Text>(text))) {}
  SharedText(std::optional<std::string> text) {  // NOLINT(google-explicit-constructor)
    if (text) text_ = std::make_shared<const std::string>(std::move(*text));
  }

  bool has_value() const { return text_ != nullptr; }
  explicit operator bool() const { return has_value(); }

  // Require a text.
  const std::string& operator*() const { return *text_; }
  const std::string* operator->() const { return text_.get(); }

  std::string value_or(std::string_view otherwise) const {
    return text_ ? *text_ : std::string(otherwise);
  }

  std::optional<std::string> to_optional() const {
    return text_ ? std::optional(*text_) : std::nullopt;
  }

  void reset() { text_.reset(); }

  // Whether the text is not shared.
  bool is_alone() const { return text_.use_count() == 1; }

  friend bool operator==(const SharedText& one, const SharedText& other) {
    if (one.text_ == other.text_) return true;
    return one.text_ && other.text_ && *one.text_ == *other.text_;
  }
  friend bool operator==(const SharedText& one, std::nullopt_t) { return !one.text_; }
  friend bool operator==(const SharedText& one, std::string_view other) {
    return one.text_ && *one.text_ == other;
  }
  friend bool operator==(const SharedText& one, const std::string& other) {
    return one == std::string_view(other);
  }
  friend bool operator==(const SharedText& one, const char* other) {
    return one == std::string_view(other);
  }

 private:
  std::shared_ptr<const std::string> text_;  // null: absent
};

// Deduplicates equal texts of many records.
class SharedTexts {
 public:
  // Replaces `text` by an equal known text, or adds it. Removes unused texts from time to time.
  void share(SharedText& text);

  std::size_t size() const { return texts_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const SharedText& text) const { return std::hash<std::string>()(*text); }
  };

  std::unordered_set<SharedText, Hash> texts_;  // without absent texts
  std::size_t purge_size_ = 64;                 // unused texts are removed at this size
};

}  // namespace nodepool::model
