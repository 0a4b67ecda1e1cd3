#include "import/cut/labels.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "import/capture/nearest.h"
#include "import/cut/views.h"

namespace dynaflow::cut {
namespace {

using capture::Call;
using capture::Capture;
using capture::Module;
using capture::UserCall;

constexpr std::string_view kNetwork = "network";
constexpr std::string_view kUneven = "uneven";  // each rank may give and get another amount

void add_tag(std::vector<std::string>& tags, std::string_view tag) {
  if (std::ranges::find(tags, tag) == tags.end()) tags.emplace_back(tag);
}

/// "aten::mm" -> "mm"; what writes in place has the name of what it does: "all_reduce_" too.
std::string_view short_name(std::string_view op) {
  const std::size_t at = op.rfind("::");
  if (at != std::string_view::npos) op.remove_prefix(at + 2);
  if (op.size() > 1 && op.ends_with('_') && !op.ends_with("__")) op.remove_suffix(1);
  return op;
}

/// "aten.mm.default": the name as PyTorch prints it.
std::string printed_name(const Call& call) {
  std::string text = call.op;
  if (const std::size_t at = text.find("::"); at != std::string::npos) text.replace(at, 2, ".");
  return text + "." + (call.overload.empty() ? "default" : call.overload);
}

bool matches_module(const std::string& pattern, const Module& module) {
  return matches(pattern, module.type) || matches(pattern, module.path);
}

bool matches_op(const std::string& pattern, const Call& call) {
  return matches(pattern, call.op) || matches(pattern, short_name(call.op)) ||
         matches(pattern, call.name()) || matches(pattern, printed_name(call));
}

/// The user's call of a function of that name which this call came from; null without.
const UserCall* user_call(const std::string& pattern, const Call& call) {
  const auto found = std::ranges::find_if(
      call.user_calls, [&](const UserCall& user) { return matches(pattern, user.function); });
  return found == call.user_calls.end() ? nullptr : &*found;
}

/// The path of the innermost module, for names.
std::string innermost(const Call& call) {
  return call.modules.empty() ? std::string() : call.modules.back().path;
}

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

/// "layers.3" -> "layers.#", for modules that sit in a list; otherwise empty.
std::string list_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  const std::string last = dot == std::string::npos ? path : path.substr(dot + 1);
  const bool number =
      !last.empty() && std::ranges::all_of(last, [](unsigned char c) { return std::isdigit(c); });
  return number ? path.substr(0, path.size() - last.size()) + "#" : std::string();
}

class Labeller {
 public:
  explicit Labeller(const Capture& capture) : capture_(capture) {
    labels_.calls.resize(capture.calls.size());
  }

  void apply(const Rule& rule) {
    if (!apply_if_any(rule)) warn(rule);
  }

  /// Marks in the model need no rule.
  void apply_marks() {
    for (std::size_t i = 0; i < capture_.calls.size(); ++i) {
      const Call& call = capture_.calls[i];
      if (!call.marks.empty()) label_mark(i, call.marks.back(), {});
    }
  }

  /// Each alone, whatever it was labelled with: a module's op ends where its transfer begins.
  void apply_collectives() {
    for (std::size_t i = 0; i < capture_.calls.size(); ++i) {
      const Call& call = capture_.calls[i];
      if (!is_collective(call)) continue;
      std::vector<std::string> tags = std::move(labels_.calls[i].tags);
      add_tag(tags, kNetwork);
      const std::string_view name = short_name(call.op);
      if (name == "all_to_all_single") add_tag(tags, kUneven);
      set(i, "collective:" + std::to_string(i), joined(innermost(call), name), std::move(tags));
    }
  }

  /// The outermost modules that sit in a list of several of their kind.
  void apply_repeated_blocks() {
    std::map<std::string, std::set<std::string>> members;
    for (const Call& call : capture_.calls) {
      for (const Module& module : call.modules) {
        const std::string list = list_of(module.path);
        if (!list.empty()) members[list + module.type].insert(module.path);
      }
    }
    for (std::size_t i = 0; i < capture_.calls.size(); ++i) {
      for (const Module& module : capture_.calls[i].modules) {
        const auto at = members.find(list_of(module.path) + module.type);
        if (at == members.end() || at->second.size() < 2) continue;
        if (labels_.calls[i].key.empty()) set(i, "module:" + module.path, module.path, {});
        break;
      }
    }
  }

  [[nodiscard]] Labels take() { return std::move(labels_); }

 private:
  /// Whether it matched anything.
  bool apply_if_any(const Rule& rule) {
    if (rule.patterns.empty()) return false;
    switch (rule.selects) {
      case Rule::Selects::kModule:
        return apply_module(rule);
      case Rule::Selects::kFunction:
        return apply_function(rule);
      case Rule::Selects::kMark:
        return apply_mark(rule);
    }
    return false;
  }

  void set(std::size_t call, std::string key, std::string name, std::vector<std::string> tags) {
    labels_.calls[call] = {std::move(key), std::move(name), std::move(tags)};
  }

  bool apply_module(const Rule& rule) {
    bool found = false;
    for (std::size_t i = 0; i < capture_.calls.size(); ++i) {
      const auto& modules = capture_.calls[i].modules;
      const auto deepest = std::ranges::find_if(
          modules.rbegin(), modules.rend(),
          [&](auto& module) { return matches_module(rule.patterns.front(), module); });
      if (deepest == modules.rend()) continue;
      set(i, "module:" + deepest->path, deepest->path, rule.tags);
      found = true;
    }
    return found;
  }

  bool apply_function(const Rule& rule) {
    std::set<std::size_t> taken;
    for (std::size_t i = 0; i < capture_.calls.size(); ++i) {
      if (taken.contains(i)) continue;
      const Match run = run_from(i, rule.patterns);
      const std::string name = joined(innermost(capture_.calls[i]), run.name);
      for (const std::size_t call : run.calls) {
        set(call, "call:" + std::to_string(i), name, rule.tags);
      }
      taken.insert(run.calls.begin(), run.calls.end());
    }
    return !taken.empty();
  }

  struct Match {
    std::string name;
    std::vector<std::size_t> calls;  ///< none: no match
  };

  /// The calls from `start` on that match the patterns one after the other; views between them
  /// that no pattern speaks of cost nothing, and are passed over.
  [[nodiscard]] Match run_from(std::size_t start, const std::vector<std::string>& patterns) const {
    Match run;
    std::size_t next = start;
    for (const std::string& pattern : patterns) {
      Match one = match_at(next, pattern);
      while (one.calls.empty()) {
        const bool passable = next < capture_.calls.size() && is_view(capture_.calls[next]);
        if (run.calls.empty() || !passable) return {};
        one = match_at(++next, pattern);
      }
      if (run.calls.empty()) run.name = one.name;
      run.calls.insert(run.calls.end(), one.calls.begin(), one.calls.end());
      next = one.calls.back() + 1;
    }
    return run;
  }

  /// The call itself, or all that came from the same call of a function.
  [[nodiscard]] Match match_at(std::size_t at, const std::string& pattern) const {
    if (at >= capture_.calls.size()) return {};
    const Call& call = capture_.calls[at];
    const UserCall* user = user_call(pattern, call);
    if (user == nullptr && !matches_op(pattern, call)) return {};
    if (user == nullptr || user->id.empty()) return {std::string(short_name(call.op)), {at}};
    Match all{user->function, {}};
    for (std::size_t i = at; i < capture_.calls.size(); ++i) {
      const auto& from = capture_.calls[i].user_calls;
      if (std::ranges::find(from, *user) != from.end()) all.calls.push_back(i);
    }
    return all;
  }

  bool apply_mark(const Rule& rule) {
    bool found = false;
    for (std::size_t i = 0; i < capture_.calls.size(); ++i) {
      for (const capture::Mark& mark : capture_.calls[i].marks) {
        if (!matches(rule.patterns.front(), mark.name)) continue;
        label_mark(i, mark, rule.tags);
        found = true;
      }
    }
    return found;
  }

  void label_mark(std::size_t call, const capture::Mark& mark, std::vector<std::string> tags) {
    tags.insert(tags.end(), mark.tags.begin(), mark.tags.end());
    const std::string name = joined(block_of(capture_.calls[call]), mark.name);
    set(call, "mark:" + name, name, std::move(tags));
  }

  /// The outermost member of a list that the call is in: "layers.3".
  static std::string block_of(const Call& call) {
    for (const Module& module : call.modules) {
      if (!list_of(module.path).empty()) return module.path;
    }
    return {};
  }

  void warn(const Rule& rule) {
    std::set<std::string> names;
    for (const Call& call : capture_.calls) {
      if (rule.selects == Rule::Selects::kModule) {
        for (const Module& module : call.modules) names.insert({module.type, module.path});
      } else if (rule.selects == Rule::Selects::kFunction) {
        names.insert(std::string(short_name(call.op)));
      } else {
        for (const capture::Mark& mark : call.marks) names.insert(mark.name);
      }
    }
    const std::string pattern = rule.patterns.empty() ? "" : rule.patterns.front();
    labels_.warnings.push_back("the rule '" + pattern + "' matches nothing" +
                               capture::nearest(pattern, names));
  }

  const Capture& capture_;
  Labels labels_;
};

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool is_collective(const Call& call) {
  constexpr std::array<std::string_view, 4> kLibraries{
      "_c10d_functional::", "_c10d_functional_autograd::", "_dtensor::", "c10d::"};
  return !is_view(call) && std::ranges::any_of(kLibraries, [&](std::string_view library) {
    return call.op.starts_with(library);
  });
}

Labels make_labels(const Capture& capture, const std::vector<Rule>& rules) {
  Labeller labeller(capture);
  labeller.apply_marks();
  for (const Rule& rule : rules) labeller.apply(rule);
  const bool annotated = !rules.empty() || std::ranges::any_of(capture.calls, [](const Call& call) {
    return !call.marks.empty();
  });
  labeller.apply_collectives();
  if (!annotated) labeller.apply_repeated_blocks();
  return labeller.take();
}

}  // namespace dynaflow::cut
