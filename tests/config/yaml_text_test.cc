#include "config/yaml_text.h"

#include <gmock/gmock.h>

#include "config/yaml.h"

namespace nodepool::config {
namespace {

TEST(YamlText, is_written_in_block_style) {
  const Value value =
      parse_yaml("- label: {name: small, min-ready: 2, 80: [], none: {}, text: ~}", "f");
  EXPECT_EQ(yaml_text(value),
            "- label:\n"
            "    name: small\n"
            "    min-ready: 2\n"
            "    80: []\n"
            "    none: {}\n"
            "    text: ~\n");
}

TEST(YamlText, reads_back_as_the_same) {
  // What YAML 1.1 takes for something else, and what ends or begins a line.
  for (const char* text : {"",           "yes",
                           "1:30",       "0600",
                           "2024-01-01", "~",
                           "null",       "=",
                           "<<",         "- a",
                           "a: b",       "a #b",
                           "#a",         "%(NAME)",
                           "{x}",        "[x",
                           "'a'",        "\"a\"",
                           "a\nb",       "a\nb\n",
                           "a\n\nb\n\n", "\n",
                           " a",         "a ",
                           " a\nb\n",    "a \nb\n",
                           "\ta\n",      "a\tb\nc\n",
                           "*a",         "&a",
                           "!a",         "@a",
                           "a,b",        "1e3",
                           "0x1f",       "ssh-rsa A",
                           "a\\b",       "\u00e9\u20ac",
                           "..",         "?",
                           "a\r\nb\n",   "\x1b[0m",
                           "-",          ":",
                           "a:",         "|",
                           ">",          "#!/bin/sh\nx\n"}) {
    const Value value = Value::list({Value::string(text)});
    EXPECT_EQ(parse_yaml(yaml_text(value), "f"), value) << yaml_text(value);
    const Value key = Value::mapping({{.key = text, .value = Value::integer(1)}});
    EXPECT_EQ(parse_yaml(yaml_text(key), "f"), key) << yaml_text(key);
  }
  for (const Value& value :
       {Value::integer(-3), Value::floating(0.1), Value::floating(1e300), Value::floating(-2),
        Value::boolean(false), Value::null(), Value::date("2024-01-01")}) {
    EXPECT_EQ(parse_yaml(yaml_text(Value::list({value})), "f"), Value::list({value}))
        << yaml_text(Value::list({value}));
  }
  const Value keys = parse_yaml("{1: a, yes: b, ~: c, 2024-01-01: d, 1.5: e}", "f");
  EXPECT_EQ(parse_yaml(yaml_text(keys), "f"), keys) << yaml_text(keys);
}

TEST(YamlText, lines_of_text_stay_lines) {
  const Value value =
      Value::mapping({{.key = "userdata", .value = Value::string("#!/bin/sh\necho\n")}});
  EXPECT_EQ(yaml_text(value), "userdata: |\n  #!/bin/sh\n  echo\n");
}

}  // namespace
}  // namespace nodepool::config
