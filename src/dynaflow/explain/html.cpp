#include "dynaflow/explain/html.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "dynaflow/explain/explanation.h"
#include "dynaflow/explain/page.h"
#include "dynaflow/timeline/duration.h"

namespace dynaflow {
namespace {

using Json = nlohmann::ordered_json;

// The page needs nothing from elsewhere, and must not be able to ask for it.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// As text between tags or in a quoted attribute.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

/// As JSON inside of a script element, which ends at the first "</script" whatever is around it.
std::string in_script(const Json& json) {
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string safe;
  for (const char c : text) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

/// Text that is UTF-8 whatever it was made of, as the page says it is.
std::string utf8(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', true, Json::error_handler_t::replace));
}

std::string element(const std::string& tag, const std::string& attributes,
                    const std::string& inside) {
  return "<" + tag + (attributes.empty() ? "" : " " + attributes) + ">" + inside + "</" + tag + ">";
}

std::string attribute(const std::string& name, const std::string& value) {
  return name + "=\"" + escaped(value) + "\" ";
}

/// For readers of a page, "12 us" is spelled with the letter that it stands for, and numbers stay
/// with what they count.
std::string prose(const std::string& text) {
  std::string written;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool in_number = i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9';
    if (in_number && text.compare(i, 3, " us") == 0) {
      written += "\u00a0\u00b5s";
      i += 2;
    } else if (in_number && (text.compare(i, 2, " %") == 0 || text.compare(i, 3, " ms") == 0)) {
      written += "\u00a0";
    } else {
      written += text[i];
    }
  }
  return escaped(written);
}

/// A number, large, and what it means.
std::string fact(const std::string& number, const std::string& meaning) {
  return element("div", "class=fact",
                 element("b", "", prose(number)) + element("span", "", prose(meaning)));
}

/// "1.32x as fast as Sequential".
std::string compared(std::int64_t ns, const std::string& first, std::int64_t first_ns) {
  const std::int64_t hundredths = (first_ns * 100 + ns / 2) / ns;
  const std::string digits = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (digits.size() == 1 ? "0" : "") + digits +
         "x as fast as " + first;
}

std::string facts(const Explanation& explanation, const std::string& comparison) {
  const std::int64_t total = explanation.total_ns;
  const std::string network =
      explanation.network_ns == 0
          ? fact("none", "network time")
          : fact(percent(explanation.exposed_ns, total),
                 "exposed, of " + duration(explanation.network_ns) + " network time");
  return element("div", "class=facts",
                 fact(duration(total), comparison.empty() ? "in all" : comparison) +
                     fact(percent(explanation.bound.ns, total),
                          "is the bound: on these lanes these steps take " +
                              duration(explanation.bound.ns) + " at least") +
                     network +
                     fact(percent(explanation.path.host_ns, total), "host, on the critical path"));
}

/// One lane's time as a bar of its parts.
std::string parts_of(const Explanation::Lane& lane, std::int64_t total) {
  const std::array<std::pair<const char*, std::int64_t>, 6> parts{
      {{"busy", lane.busy.total_ns()},
       {"waits for compute", lane.waited.compute_ns},
       {"waits for memory", lane.waited.memory_ns},
       {"waits for network", lane.waited.network_ns},
       {"tail", lane.tail_ns},
       {"host", lane.host_ns}}};
  std::string bar;
  std::string words;
  for (const auto& [what, ns] : parts) {
    if (ns == 0) continue;
    const std::string says = std::string(what) + " " + percent(ns, total);
    std::string kind(what);
    std::ranges::replace(kind, ' ', '-');
    bar += element("i",
                   attribute("class", kind) + attribute("title", says) +
                       attribute("style", "flex-grow:" + std::to_string(ns)),
                   "");
    words += (words.empty() ? "" : ", ") + says;
  }
  return element("dt", "", escaped(lane.name)) +
         element("dd", "", element("div", "class=parts", bar) + element("small", "", prose(words)));
}

std::string summary(const Explanation& explanation) {
  std::string lanes;
  for (const auto& lane : explanation.lanes) lanes += parts_of(lane, explanation.total_ns);
  std::string sentences;
  for (const auto& sentence : advice(explanation)) sentences += element("li", "", prose(sentence));
  return element("aside", "",
                 element("ul", "class=advice", sentences) + element("dl", "class=lanes", lanes)) +
         element("details", "",
                 element("summary", "", "Report") +
                     element("pre", "", escaped(to_string(explanation))));
}

/// Which step each wait is for, by its place among the spans.
Json awaited(const Timeline::Span& span, const std::vector<std::vector<std::size_t>>& of_lane) {
  Json places = Json::array();
  for (const Wait& wait : span.waits) {
    if (wait.lane >= of_lane.size() || wait.count == 0) continue;
    if (wait.count <= of_lane[wait.lane].size()) {
      places.push_back(of_lane[wait.lane][wait.count - 1]);
    }
  }
  return places;
}

Json data_of(const NamedTimeline& named, const Explanation& explanation) {
  const Timeline& timeline = named.timeline;
  std::vector<std::vector<std::size_t>> of_lane(timeline.lanes.size());
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    of_lane.at(timeline.spans[i].lane.index).push_back(i);
  }
  std::set<StepId> critical;
  for (const Explanation::PathStep& on_path : explanation.path.steps) critical.insert(on_path.step);
  Json steps = Json::array();
  for (const Timeline::Span& span : timeline.spans) {
    steps.push_back({{"label", span.label},
                     {"lane", span.lane.index},
                     {"begin", span.begin_ns},
                     {"end", span.end_ns},
                     {"cost", to_string(span.cost)},
                     {"microbatches", {span.microbatches.first, span.microbatches.last}},
                     {"critical", critical.contains(span.step)},
                     {"waits", awaited(span, of_lane)}});
  }
  Json lanes = Json::array();
  for (const Explanation::Lane& lane : explanation.lanes) {
    const bool network = lane.busy.network_ns > 0 && lane.busy.network_ns == lane.busy.total_ns();
    lanes.push_back({{"name", lane.name},
                     {"busy", percent(lane.busy.total_ns(), explanation.total_ns)},
                     {"network", network}});
  }
  return {{"name", named.name}, {"total", timeline.total_ns}, {"lanes", lanes}, {"steps", steps}};
}

std::string head(const std::string& title) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
         std::string(kPolicy) +
         "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n" +
         element("title", "", escaped(title)) + "\n<style>\n" + std::string(kPageStyle) +
         "</style>\n</head>\n";
}

}  // namespace

std::string to_html(std::string_view title, std::span<const NamedTimeline> timelines) {
  const std::string name = utf8(std::string(title));
  std::string sections;
  Json runs = Json::array();
  for (const NamedTimeline& named : timelines) {
    const NamedTimeline& first = timelines.front();
    const Explanation explanation = explain(named.timeline);
    const bool comparable = &named != &first && named.timeline.total_ns > 0;
    const std::string comparison =
        comparable ? compared(named.timeline.total_ns, first.name, first.timeline.total_ns) : "";
    sections += element("section", "class=run",
                        element("h2", "", escaped(named.name)) + facts(explanation, comparison) +
                            element("div", "class=chart", "") + summary(explanation)) +
                "\n";
    runs.push_back(data_of(named, explanation));
  }
  return head(name) + "<body>\n<header>" + element("h1", "", escaped(name)) +
         "<div class=tools></div></header>\n<main>\n" + utf8(sections) +
         "</main>\n<script type=\"application/json\" id=\"runs\">" + in_script(runs) +
         "</script>\n<script>\n" + std::string(kPageScript) + "</script>\n</body>\n</html>\n";
}

}  // namespace dynaflow
