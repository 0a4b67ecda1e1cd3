#include "support/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace dynaflow::bench {
namespace {

constexpr auto kFolder = "build/bench";

using Cells = std::array<std::string, 6>;

bool holds(const Report::Row& row) { return row.value.median <= *row.budget; }

/// Four digits, never an exponent.
std::string digits(double value) {
  int decimals = 4;
  for (double limit = 1; decimals > 0 && std::abs(value) >= limit; limit *= 10) --decimals;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

bool varied(const Spread& value) { return value.low != value.high; }

std::string quartiles(const Spread& value) {
  if (!varied(value)) return "";
  return digits(value.low) + " to " + digits(value.high);
}

Cells cells_of(const Report::Row& row) {
  Cells cells{row.name, digits(row.value.median), row.unit, quartiles(row.value), "", ""};
  if (!row.budget) return cells;
  cells[4] = "<= " + digits(*row.budget);
  cells[5] = holds(row) ? "holds" : "DOES NOT HOLD";
  return cells;
}

/// Characters, not bytes: names and units are UTF-8.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & '\xC0') != '\x80'; }));
}

std::string padded(const std::string& text, std::size_t to) {
  return text + std::string(to - width(text), ' ');
}

/// Columns with nothing in them are left out.
void print_table(const Cells& head, const std::vector<Cells>& rows) {
  std::array<std::size_t, std::tuple_size_v<Cells>> widths{};
  for (const Cells& cells : rows) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width(cells[i]));
  }
  const auto print_line = [&](const Cells& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (widths[i] > 0) line += "  " + padded(cells[i], std::max(widths[i], width(head[i])));
    }
    std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
  };
  print_line(head);
  std::ranges::for_each(rows, print_line);
}

}  // namespace

Report::Report(std::string name, std::string title)
    : name_(std::move(name)), title_(std::move(title)) {}

void Report::add_rounds(const std::string& of, const Rounds& rounds) {
  notes_.push_back(of + ": " + std::to_string(rounds.kept.size()) + " rounds kept, " +
                   std::to_string(rounds.dropped) + " disturbed and dropped");
}

void Report::finish() const {
  print();
  write();
}

void Report::print() const {
  std::printf("%s: %s\n", name_.c_str(), title_.c_str());
  std::vector<Cells> table;
  for (const Row& row : rows_) table.push_back(cells_of(row));
  const bool varies = std::ranges::any_of(rows_, [](const Row& row) { return varied(row.value); });
  print_table({"what", varies ? "median" : "value", "unit", "quartiles", "budget", ""}, table);
  for (const std::string& note : notes_) std::printf("  %s\n", note.c_str());
  std::printf("\n");
}

void Report::write() const {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Row& row : rows_) {
    nlohmann::ordered_json entry;
    entry["name"] = row.name;
    entry["value"] = row.value.median;
    entry["unit"] = row.unit;
    entry["budget"] = row.budget ? nlohmann::ordered_json(*row.budget) : nullptr;
    entry["holds"] = row.budget ? nlohmann::ordered_json(holds(row)) : nullptr;
    rows.push_back(std::move(entry));
  }
  std::filesystem::create_directories(kFolder);
  std::ofstream(std::filesystem::path(kFolder) / (name_ + ".json")) << rows.dump(2) << '\n';
}

}  // namespace dynaflow::bench
