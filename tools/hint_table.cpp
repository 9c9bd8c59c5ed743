// sill-hint-table: prints the hint table as JSON, for the command. With a text, e.g. docs/hints.md.in: prints that,
// with the Markdown rows of a table in place of each line @windows@, @communicators@ and @coarrays@.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/hints.hpp"
#include "base/split_hints.hpp"
#include "coarray/options.hpp"

namespace {

// `of`: what the keys are hints of, "window" or "communicator".
template <class Rows>
void print_json(const Rows& rows, std::string_view of, const char*& between) {
  for (const auto& row : rows) {
    const nlohmann::ordered_json object = {
        {"of", of},         {"key", row.key},         {"values", row.values}, {"default", row.default_value},
        {"unit", row.unit}, {"aliases", row.aliases}, {"help", row.help},     {"collective", row.collective}};
    std::cout << std::exchange(between, ",\n") << "  " << object.dump();
  }
}

// A cell of a Markdown table, in which a bar would begin the next one.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string code(std::string_view text) { return text.empty() ? "" : "`" + std::string(text) + "`"; }

std::string cells(std::string_view name, const auto& row) {
  const std::string unit = row.unit.empty() ? "" : ", " + std::string(row.unit);
  return "| " + code(name) + " | " + cell(row.values) + unit + " | " + code(row.default_value) + " | ";
}

template <class Rows>
void print_markdown(const Rows& rows) {
  for (const auto& row : rows) {
    std::string help(row.help);
    for (const std::string_view alias : row.aliases) help += " Also as " + code(alias) + ".";
    std::cout << cells(row.key, row) << (row.collective ? "yes" : "no") << " | " << cell(help) << " |\n";
  }
}

void print_line(const std::string& line) {
  if (line == "@windows@") return print_markdown(sill::hint_table());
  if (line == "@communicators@") return print_markdown(sill::split_hint_table());
  if (line != "@coarrays@") {
    std::cout << line << '\n';
    return;
  }
  for (const auto& row : sill::coarray::option_table())
    std::cout << cells(row.variable, row) << cell(row.help) << " |\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    std::cerr << "usage: sill-hint-table [TEXT]\n";
    return 2;
  }
  if (argc == 2) {
    std::ifstream text(argv[1]);
    for (std::string line; std::getline(text, line);) print_line(line);
    if (!text.eof()) {
      std::cerr << "sill-hint-table: " << argv[1] << " can't be read\n";
      return 1;
    }
  } else {
    const char* between = "[\n";
    print_json(sill::hint_table(), "window", between);
    print_json(sill::split_hint_table(), "communicator", between);
    std::cout << "\n]\n";
  }
  if (std::cout.flush()) return 0;
  std::cerr << "sill-hint-table: the output can't be written\n";
  return 1;
}
