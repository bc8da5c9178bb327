#include "telemetry/metric.h"

#include <algorithm>

namespace nodepool::telemetry {

namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

std::string in_one_level(std::string_view name) {
  std::string part(name);
  std::ranges::replace_if(part, [](char c) { return c == '.'; }, '_');
  return part;
}

std::string in_words(std::string_view text) {
  std::string part;
  for (const char c : text) {
    if (is_plain(c)) {
      part += c;
    } else if (!part.empty() && part.back() != '_') {
      part += '_';
    }
  }
  return part;
}

// Values may come from outside, and these characters end a key or a line.
std::string without_ends(std::string_view value) {
  std::string part(value);
  std::ranges::replace_if(
      part, [](char c) { return c == ':' || c == '|' || c == '\x7f' || (c >= '\0' && c < ' '); },
      '_');
  return part;
}

std::string key_part(KeyPart part, std::string_view value) {
  switch (part) {
    case KeyPart::as_is:
      break;
    case KeyPart::one_level:
      return in_one_level(without_ends(value));
    case KeyPart::words:
      return in_words(value);
  }
  return without_ends(value);
}

// `form` with the series' values in place of labels; empty if a label has no value.
std::string filled_in(std::string_view form, const Series& series) {
  std::string key;
  while (true) {
    const std::size_t begin = form.find('<');
    key += form.substr(0, begin);
    if (begin == form.npos) return key;
    const std::size_t end = form.find('>', begin);
    const std::size_t label = label_index(*series.metric, form.substr(begin + 1, end - begin - 1));
    const std::string& value = series.values.at(label);
    if (value.empty()) return {};
    key += key_part(series.metric->labels.at(label).part, value);
    form.remove_prefix(end + 1);
  }
}

}  // namespace

std::span<const MetricLabel> labels_of(const Metric& metric) {
  return std::span(metric.labels).first(label_count(metric));
}

std::span<const std::string_view> statsd_keys_of(const Metric& metric) {
  const auto end = std::ranges::find(metric.statsd, std::string_view());
  return {metric.statsd.begin(), end};
}

std::vector<std::string> statsd_keys(const Series& series) {
  std::vector<std::string> keys;
  for (const std::string_view form : statsd_keys_of(*series.metric)) {
    if (std::string key = filled_in(form, series); !key.empty()) keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace nodepool::telemetry
