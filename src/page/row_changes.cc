#include "page/row_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "page/row_text.h"

namespace nodepool::page {

namespace {

// Minimum time between two renderings of all rows.
constexpr auto kRenderPause = std::chrono::seconds(1);

// All rows are rendered again when the messages since the last rendering exceed a fraction
// (1 / kShare) of their size, but at least kLeastSize.
constexpr std::size_t kShare = 4;
constexpr std::size_t kLeastSize = std::size_t{64} << 10;  // bytes

void append_separator(std::string& text) {
  const char last = text.back();
  if (last != '[' && last != '{') text += ',';
}

// Appends `"<kind>":[`.
void append_kind(std::string& text, std::string_view kind) {
  append_separator(text);
  text.append("\"").append(kind).append("\":[");
}

void append_item(std::string& text, std::string_view item) {
  append_separator(text);
  text.append(item);
}

}  // namespace

void RowChanges::set(std::string_view kind, std::string_view id, std::string row) {
  auto rows = rows_.find(kind);
  if (rows == rows_.end()) rows = rows_.emplace(kind, Rows()).first;
  auto known = rows->second.find(id);
  if (known == rows->second.end()) {
    known = rows->second.emplace(id, std::string()).first;
  } else if (known->second == row) {
    return;
  }
  size_ += row.size() - known->second.size();
  known->second = std::move(row);
  changed_[std::string(kind)].emplace(id);
}

void RowChanges::erase(std::string_view kind, std::string_view id) {
  const auto rows = rows_.find(kind);
  if (rows == rows_.end()) return;
  const auto known = rows->second.find(id);
  if (known == rows->second.end()) return;
  size_ -= known->second.size();
  rows->second.erase(known);
  changed_[std::string(kind)].emplace(id);
}

bool RowChanges::commit(TimePoint now) {
  if (changed_.empty()) return false;
  ++number_;
  std::string set = "{";
  std::string gone = "{";
  for (const auto& [kind, ids] : changed_) {
    const Rows& rows = rows_.find(kind)->second;
    std::string present;
    std::string removed;
    for (const std::string& id : ids) {
      const auto row = rows.find(id);
      std::string& list = row == rows.end() ? removed : present;
      if (!list.empty()) list += ',';
      if (row == rows.end()) {
        append_json_text(list, id);
      } else {
        list += row->second;
      }
    }
    const auto add = [&kind](std::string& to, const std::string& list) {
      if (list.empty()) return;
      append_kind(to, kind);
      to.append(list).append("]");
    };
    add(set, present);
    add(gone, removed);
  }
  changed_.clear();
  const Text text = std::make_shared<const std::string>(
      fmt::format("event: changes\ndata: {{\"revision\":\"{}\",\"set\":{}}},\"gone\":{}}}}}\n\n",
                  revision(), set, gone));
  messages_.push_back({number_, text});
  messages_size_ += text->size();
  size_since_rendered_ += text->size();
  trim(now);
  return true;
}

bool RowChanges::reaches_rendered() const {
  const std::uint64_t oldest = number_ - messages_.size();
  return rendered_ && rendered_number_ >= oldest;
}

bool RowChanges::is_rendered_recently(TimePoint now) const {
  return rendered_ && now < rendered_at_ + kRenderPause;
}

// Keeps the messages since a rendering that may not be repeated yet, regardless of the limits.
void RowChanges::trim(TimePoint now) {
  while (messages_.size() > 1 &&
         (messages_.size() > limits_.messages || messages_size_ > limits_.bytes)) {
    const bool is_needed = is_rendered_recently(now) && messages_.front().number > rendered_number_;
    if (is_needed) return;
    messages_size_ -= messages_.front().text->size();
    messages_.pop_front();
  }
  // Clients could not get from these rows to the current revision.
  if (!reaches_rendered()) rendered_.reset();
}

RowChanges::Text RowChanges::rows(TimePoint now) {
  const bool is_far_behind = size_since_rendered_ > std::max(size_ / kShare, kLeastSize);
  if (!reaches_rendered() || (is_far_behind && !is_rendered_recently(now))) render(now);
  return rendered_;
}

void RowChanges::render(TimePoint now) {
  std::string text;
  text.reserve(size_ + size_ / kShare);
  text = fmt::format("{{\"revision\":\"{}\",\"rows\":{{", revision());
  for (const auto& [kind, rows] : rows_) {
    append_kind(text, kind);
    for (const auto& [id, row] : rows) append_item(text, row);
    text += ']';
  }
  text += "}}\n";
  rendered_ = std::make_shared<const std::string>(std::move(text));
  rendered_number_ = number_;
  rendered_at_ = now;
  size_since_rendered_ = 0;
}

std::optional<std::vector<RowChanges::Text>> RowChanges::since(std::string_view revision) const {
  if (!revision.starts_with(name_) || !revision.substr(name_.size()).starts_with('-')) {
    return std::nullopt;
  }
  revision.remove_prefix(name_.size() + 1);
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(revision.data(), revision.data() + revision.size(), number);
  if (error != std::errc() || end != revision.data() + revision.size()) return std::nullopt;
  if (number > number_ || number < number_ - messages_.size()) return std::nullopt;
  std::vector<Text> texts;
  for (auto message = messages_.end() - static_cast<std::ptrdiff_t>(number_ - number);
       message != messages_.end(); ++message) {
    texts.push_back(message->text);
  }
  return texts;
}

}  // namespace nodepool::page
