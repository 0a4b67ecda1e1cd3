#include "dynaflow/timeline/timeline.h"

#include <algorithm>
#include <utility>

#include "dynaflow/timeline/duration.h"

namespace dynaflow {
namespace {

constexpr std::int64_t kNarrowest = 16;   // the axis still holds its two ends
constexpr std::int64_t kShortestBar = 3;  // a bar has two ends and something between

/// One lane's characters: a bar for each span that is long enough for one, and elsewhere how much
/// of each character's time the short spans filled.
class Row {
 public:
  Row(std::int64_t total_ns, std::int64_t width)
      : total_(std::max<std::int64_t>(total_ns, 1)),
        width_(width),
        bars_(static_cast<std::size_t>(width), kNoBar),
        filled_(static_cast<std::size_t>(width), kUntouched) {}

  void add(const Timeline::Span& span) {
    const std::int64_t first = nearest_border(span.begin_ns);
    const std::int64_t last = nearest_border(span.end_ns);
    if (last - first >= kShortestBar) {
      add_bar(span.label, static_cast<std::size_t>(first), static_cast<std::size_t>(last));
    } else {
      fill(span.begin_ns * width_, span.end_ns * width_);
    }
  }

  [[nodiscard]] std::string text() const {
    std::string cells = bars_;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i] == kNoBar) cells[i] = shade(filled_[i]);
    }
    return cells;
  }

 private:
  static constexpr char kNoBar = '\0';
  static constexpr std::int64_t kUntouched = -1;

  [[nodiscard]] std::int64_t nearest_border(std::int64_t ns) const {
    return std::clamp<std::int64_t>((ns * width_ + total_ / 2) / total_, 0, width_);
  }

  void add_bar(const std::string& label, std::size_t first, std::size_t last) {
    const std::size_t room = last - first - 2;
    const std::string inside = label.size() <= room ? padded(label, room) : std::string(room, '#');
    bars_.replace(first, last - first, "[" + inside + "]");
  }

  // In units of 1/width ns, so that a character is `total_` long and everything stays exact. A
  // span without length still marks the character it falls in.
  void fill(std::int64_t begin, std::int64_t end) {
    for (std::int64_t cell = std::min(begin / total_, width_ - 1); cell < width_; ++cell) {
      const std::int64_t from = std::max(begin, cell * total_);
      const std::int64_t to = std::min(end, (cell + 1) * total_);
      std::int64_t& filled = filled_[static_cast<std::size_t>(cell)];
      filled = std::max<std::int64_t>(filled, 0) + std::max<std::int64_t>(to - from, 0);
      if (end <= (cell + 1) * total_) return;
    }
  }

  [[nodiscard]] char shade(std::int64_t filled) const {
    if (filled == kUntouched) return ' ';
    if (filled * 3 < total_) return '.';
    return filled * 3 < total_ * 2 ? ':' : '#';
  }

  std::int64_t total_;
  std::int64_t width_;
  std::string bars_;
  std::vector<std::int64_t> filled_;
};

/// The run's start, middle (if there is room) and end.
std::string axis(std::int64_t total_ns, std::size_t width) {
  const std::string end = duration(total_ns);
  const std::string middle = duration(total_ns / 2);
  std::string text = padded("0", width - std::min(width, end.size())) + end;
  const std::size_t at = width / 2 - std::min(width, middle.size()) / 2;
  if (total_ns > 1 && at > 1 && at + middle.size() + end.size() < width) {
    text.replace(at, middle.size(), middle);
  }
  return text;
}

std::size_t longest_name(const Timeline& timeline) {
  std::size_t longest = 0;
  for (const std::string& lane : timeline.lanes) longest = std::max(longest, lane.size());
  return longest;
}

}  // namespace

std::int64_t overlapped_ns(const Timeline& timeline) {
  std::vector<std::pair<std::int64_t, int>> changes;  // (when, busy lanes more or fewer)
  for (const Timeline::Span& span : timeline.spans) {
    changes.emplace_back(span.begin_ns, 1);
    changes.emplace_back(span.end_ns, -1);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t overlapped = 0;
  std::int64_t last = 0;
  int busy = 0;
  for (const auto& [when, change] : changes) {
    if (busy >= 2) overlapped += when - last;
    busy += change;
    last = when;
  }
  return overlapped;
}

std::int64_t busy_ns(const Timeline& timeline, LaneId lane) {
  std::int64_t busy = 0;
  for (const Timeline::Span& span : timeline.spans) {
    if (span.lane == lane) busy += span.end_ns - span.begin_ns;
  }
  return busy;
}

std::string to_string(const Timeline& timeline, int width) {
  const std::int64_t cells = std::max<std::int64_t>(width, kNarrowest);
  const std::size_t names = longest_name(timeline);
  std::vector<Row> rows(timeline.lanes.size(), Row(timeline.total_ns, cells));
  for (const Timeline::Span& span : timeline.spans) rows.at(span.lane.index).add(span);

  std::string text = "timeline  " + count_of(timeline.lanes.size(), "lane") + ", " +
                     count_of(timeline.spans.size(), "step") + ", " + duration(timeline.total_ns) +
                     ", " + duration(overlapped_ns(timeline)) + " overlapped\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t busy = busy_ns(timeline, id_at<LaneId>(i));
    text += "  " + padded(timeline.lanes[i], names) + " |" + rows[i].text() + "| " +
            right_aligned(percent(busy, timeline.total_ns), 5) + "\n";
  }
  return text + "  " + padded("", names) + " |" +
         axis(timeline.total_ns, static_cast<std::size_t>(cells)) + "|\n";
}

}  // namespace dynaflow
