#include "config/command_line.h"

#include <optional>
#include <stdexcept>

namespace nodepool::config {

namespace {

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  std::vector<std::string> words() {
    while (!rest().empty()) {
      const char next = take();
      if (next == ' ' || next == '\t' || next == '\n') {
        end_word();
      } else if (next == '\'' || next == '"') {
        read_quoted(next);
      } else {
        word() += next == '\\' && !rest().empty() ? take() : next;
      }
    }
    end_word();
    return std::move(words_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  char take() { return text_[at_++]; }
  std::string& word() { return word_ ? *word_ : word_.emplace(); }

  void end_word() {
    if (word_) words_.push_back(*std::move(word_));
    word_.reset();
  }

  void read_quoted(char quote) {
    word();
    while (!rest().empty()) {
      char next = take();
      if (next == quote) return;
      const bool escapes = quote == '"' && next == '\\' && !rest().empty();
      if (escapes && (rest().front() == '"' || rest().front() == '\\')) next = take();
      word() += next;
    }
    throw std::runtime_error("unterminated quote in the command: " + std::string(text_));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::string> word_;
  std::vector<std::string> words_;
};

}  // namespace

std::vector<std::string> split_command(std::string_view text) {
  std::vector<std::string> words = Splitter(text).words();
  if (words.empty()) throw std::runtime_error("the command is empty");
  return words;
}

}  // namespace nodepool::config
