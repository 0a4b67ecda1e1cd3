#include "import/cut/structure.h"

#include <map>

namespace dynaflow::cut {
namespace {

using capture::Argument;
using capture::TensorId;
using capture::Token;

class Structure {
 public:
  explicit Structure(const Cut& cut) : cut_(cut) {}

  std::string of(const Region& region) {
    text_ = region.runs == RunsPer::kBatch ? "once" : "rows";
    operands("reads", region.reads);
    operands("updates", region.updates);
    for (const capture::CallId id : region.calls) add(cut_.capture().call(id));
    operands("writes", region.writes);
    return std::move(text_);
  }

 private:
  void operands(const char* title, const std::vector<TensorId>& tensors) {
    text_ += '\n';
    text_ += title;
    for (const TensorId tensor : tensors) (*this)(tensor);
  }

  void add(const capture::Call& call) {
    text_ += '\n' + call.name();
    for (const Argument& argument : call.arguments) {
      text_ += ' ';
      std::visit(*this, argument.value);
    }
    text_ += " ->";
    for (const TensorId output : call.outputs) {
      if (output.valid()) (*this)(output);
      text_ += ',';
    }
  }

 public:  // for std::visit
  void operator()(Argument::None) { text_ += "none"; }
  void operator()(bool value) { text_ += value ? "true" : "false"; }
  void operator()(std::int64_t value) { text_ += std::to_string(value); }
  void operator()(double value) { text_ += std::to_string(value) + hex(value); }
  void operator()(const std::string& value) { text_ += '"' + value + '"'; }
  void operator()(const Extent& size) { text_ += to_string(size); }
  void operator()(const Token& token) { text_ += token.text; }
  void operator()(const Argument::List& list) {
    text_ += '[';
    for (const Argument& item : list) {
      std::visit(*this, item.value);
      text_ += ' ';
    }
    text_ += ']';
  }
  /// A tensor by its number in this region; with its type where it is met first.
  void operator()(TensorId tensor) {
    const auto [at, first] = numbers_.try_emplace(tensor, numbers_.size());
    text_ += " %" + std::to_string(at->second);
    if (first) text_ += type_of(tensor);
  }

 private:
  static std::string hex(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "/%a", value);
    return text;
  }

  std::string type_of(TensorId id) const {
    const capture::Tensor& tensor = cut_.capture().tensor(id);
    std::string text = ":" + to_string(tensor.dtype) + "(";
    for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
      text += to_string(tensor.sizes[d]) + "/" + to_string(tensor.strides[d]) + " ";
    }
    return text + "+" + to_string(tensor.offset) + " " +
           rows::to_string(cut_.rows.tensors[id.index]) + ")";
  }

  const Cut& cut_;
  std::string text_;
  std::map<TensorId, std::size_t> numbers_;
};

}  // namespace

std::string structure_of(const Cut& cut, const Region& region) { return Structure(cut).of(region); }

}  // namespace dynaflow::cut
