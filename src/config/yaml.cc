#include "config/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <istream>
#include <iterator>
#include <memory>
#include <streambuf>
#include <system_error>
#include <utility>

#include "config/scalar.h"
#include "config/value_builder.h"

namespace nodepool::config {

namespace {

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";
constexpr std::string_view kNoTag = "?";      // yaml-cpp's tag of an unquoted value without a tag
constexpr std::string_view kQuotedTag = "!";  // of a quoted one

Mark to_mark(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {.line = mark.line + 1, .column = mark.column + 1};
}

ConfigError error_in(std::string_view file, Mark mark, std::string message, std::string hint = {}) {
  return ConfigError({.file = std::string(file),
                      .mark = mark,
                      .message = std::move(message),
                      .hint = std::move(hint)});
}

std::string mebibytes(std::size_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

// Feeds a text to yaml-cpp in pieces, at most kMaxAhead bytes between two events: yaml-cpp keeps
// what it has read before an event as tokens of a hundred bytes each.
class Source : public std::streambuf {
 public:
  Source(std::string_view text, std::string_view file) : rest_(text), file_(file) {}

  void event_emitted() { ahead_ = 0; }

 protected:
  int_type underflow() override {
    if (rest_.empty()) return traits_type::eof();
    const std::string_view piece = rest_.substr(0, kPiece);
    rest_.remove_prefix(piece.size());
    ahead_ += piece.size();
    if (ahead_ > kMaxAhead) {
      throw error_in(
          file_, {},
          "a value, a comment or a list on one line is larger than " + mebibytes(kMaxAhead));
    }
    char* const begin = const_cast<char*>(piece.data());  // never written to
    setg(begin, begin, begin + piece.size());
    return traits_type::to_int_type(*begin);
  }

 private:
  static constexpr std::size_t kPiece = 2048;  // bytes

  std::string_view rest_;
  std::string_view file_;
  std::size_t ahead_ = 0;
};

// Passes yaml-cpp's events to the ValueBuilder and resolves tags.
class Events : public YAML::EventHandler {
 public:
  Events(Source& source, std::string_view file) : source_(source), builder_(file) {}

  Value take() { return builder_.take(); }

  std::vector<Problem> take_repeated_keys() { return builder_.take_repeated_keys(); }

  // The position of the last scalar, including its anchor and tag; null if there is none.
  const YAML::Mark& last_scalar() const { return last_scalar_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) {
      throw builder_.error(
          to_mark(mark), "a second document begins here",
          "only one is allowed: remove `---`, or text after the end of the first one");
    }
    started_ = true;
  }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    source_.event_emitted();
    builder_.add_scalar(Value::null(to_mark(mark)), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    source_.event_emitted();
    builder_.add_alias(anchor, to_mark(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    source_.event_emitted();
    last_scalar_ = mark;
    if (tag == kNoTag && text == "<<") {
      builder_.add_merge_key(to_mark(mark));
    } else {
      builder_.add_scalar(scalar(tag, text, to_mark(mark)), anchor);
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    source_.event_emitted();
    require_tag(tag, "seq", to_mark(mark));
    builder_.begin_list(to_mark(mark), anchor);
  }

  void OnSequenceEnd() override {
    source_.event_emitted();
    builder_.end_collection();
  }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    source_.event_emitted();
    require_tag(tag, "map", to_mark(mark));
    builder_.begin_mapping(to_mark(mark), anchor);
  }

  void OnMapEnd() override {
    source_.event_emitted();
    builder_.end_collection();
  }

 private:
  Value scalar(std::string_view tag, const std::string& text, Mark mark) {
    if (tag == kNoTag) return resolve_plain_scalar(text, mark);
    if (tag == kQuotedTag) return Value::string(text, mark);
    if (tag.starts_with(kCoreTag)) {
      if (auto value = resolve_tagged_scalar(tag.substr(kCoreTag.size()), text, mark)) {
        return *std::move(value);
      }
    }
    throw unknown_tag(tag, mark);
  }

  void require_tag(std::string_view tag, std::string_view core, Mark mark) {
    if (tag.empty() || tag == kNoTag || tag == kQuotedTag) return;
    if (tag.starts_with(kCoreTag) && tag.substr(kCoreTag.size()) == core) return;
    throw unknown_tag(tag, mark);
  }

  ConfigError unknown_tag(std::string_view tag, Mark mark) {
    std::string name(tag);
    if (tag.starts_with(kCoreTag)) name = "!!" + name.substr(kCoreTag.size());
    return builder_.error(mark, "the tag `" + name + "` is unknown or does not fit the value");
  }

  Source& source_;
  ValueBuilder builder_;
  YAML::Mark last_scalar_ = YAML::Mark::null_mark();
  bool started_ = false;
};

// The first code point of `text` with its length in bytes; the length is 0 for invalid UTF-8.
std::pair<std::uint32_t, std::size_t> first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {0, 0};
  std::uint32_t point = lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    point = point << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  if (point < kSmallest[length] || point > 0x10ffff || surrogate) return {0, 0};
  return {point, length};
}

bool is_allowed(std::uint32_t point) {
  if (point < 0x20) return point == '\t' || point == '\n' || point == '\r';
  if (point < 0xa0) return point < 0x7f || point == 0x85;
  return point != 0xfffe && point != 0xffff;
}

// Rejects control characters and broken UTF-8: yaml-cpp takes some control characters for the end
// of the file and passes broken UTF-8 on.
void check_characters(std::string_view text, std::string_view file) {
  Mark mark{.line = 1, .column = 1};
  while (!text.empty()) {
    const auto [point, length] = first_code_point(text);
    if (length == 0) throw error_in(file, mark, "this is not UTF-8 text");
    if (!is_allowed(point)) {
      throw error_in(file, mark, "control characters are not allowed",
                     "in quotes they can be written as \"\\x07\"");
    }
    mark.column += static_cast<int>(length);
    if (point == '\n') mark = {.line = mark.line + 1, .column = 1};
    text.remove_prefix(length);
  }
}

// The start of a scalar after its anchor and its tag.
std::size_t past_properties(std::string_view text, std::size_t at) {
  constexpr std::string_view kSpaces = " \t\r\n";
  while (at < text.size() && (text[at] == '&' || text[at] == '!')) {
    at = text.find_first_not_of(kSpaces, std::min(text.find_first_of(kSpaces, at), text.size()));
  }
  return at;
}

// Whether `text` closes the quote that it begins with.
bool is_closed(std::string_view text) {
  const char quote = text.front();
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool is_pair = quote == '"' ? text[i] == '\\' : text.substr(i).starts_with("''");
    if (is_pair) {
      ++i;
    } else if (text[i] == quote) {
      return true;
    }
  }
  return false;
}

// Rejects an unclosed quote. yaml-cpp closes it at the end of the file, so it is the last scalar.
void check_last_quote(std::string_view text, const YAML::Mark& scalar, std::string_view file) {
  if (scalar.is_null()) return;
  const std::size_t at = past_properties(text, static_cast<std::size_t>(scalar.pos));
  if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return;
  if (is_closed(text.substr(at))) return;
  throw error_in(file, to_mark(scalar), "this quote is never closed",
                 "the rest of the file would be its text");
}

}  // namespace

Value parse_yaml(std::string_view text, std::string_view file,
                 std::vector<Problem>* repeated_keys) {
  if (text.size() > kMaxFileSize) {
    throw error_in(file, {}, "the file is larger than " + mebibytes(kMaxFileSize));
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  check_characters(text, file);

  Source source(text, file);
  std::istream stream(&source);
  Events events(source, file);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(events)) {
      // The second iteration finds the end, or throws.
    }
  } catch (const YAML::Exception& error) {
    std::string hint;
    if (error.msg.starts_with("end of ")) {
      hint = "check the indentation, the quotes and the brackets near this position";
    } else if (error.msg.starts_with("illegal EOF")) {
      hint = "a quote is never closed";
    }
    throw error_in(file, to_mark(error.mark), "this is not valid YAML: " + error.msg,
                   std::move(hint));
  }
  check_last_quote(text, events.last_scalar(), file);
  if (repeated_keys != nullptr) {
    std::ranges::move(events.take_repeated_keys(), std::back_inserter(*repeated_keys));
  }
  return events.take();
}

std::string read_file(const std::string& path, std::size_t limit) {
  const auto reason = [] { return std::generic_category().message(errno); };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (!file) throw error_in(path, {}, "cannot be opened: " + reason());

  std::string content;
  char buffer[64 * 1024];
  while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, file.get())) {
    content.append(buffer, size);
    if (content.size() > limit) {
      throw error_in(path, {}, "the file is larger than " + mebibytes(limit));
    }
  }
  if (std::ferror(file.get()) != 0) throw error_in(path, {}, "cannot be read: " + reason());
  return content;
}

}  // namespace nodepool::config
