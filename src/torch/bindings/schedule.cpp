#include "torch/bindings/schedule.h"

#include <frameobject.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <set>

#include "dynaflow/schedule/op_scheduler.h"
#include "torch/bindings/errors.h"
#include "torch/bindings/replacement.h"

namespace py = pybind11;

namespace dynaflow::bindings {
namespace {

/// What Python sees of a ScheduleContext. A strategy may keep it, and every op it was given, for
/// longer than the recording lasts; then they refuse to answer. Guarded by the GIL.
class Recording {
 public:
  explicit Recording(ScheduleContext& context) : context_(&context) {}

  [[nodiscard]] ScheduleContext& context() const {
    if (context_ != nullptr) return *context_;
    throw Refused(Error(Diagnostic{kStaleHandle, "the recording that this belongs to is over",
                                   "ScheduleContext", "keep nothing between calls of schedule"}));
  }
  void end() { context_ = nullptr; }

  [[nodiscard]] Replacement replacement(const std::vector<ReadyOp>& ops,
                                        const py::function& function) {
    return replacements_.make(context(), ops, function);
  }

 private:
  ScheduleContext* context_;
  Replacements replacements_;
};

using RecordingPtr = std::shared_ptr<Recording>;

/// An op of a recording; it points into the Graph, which may end when the recording has.
struct OpHandle {
  RecordingPtr recording;
  ReadyOp op;

  [[nodiscard]] const ReadyOp& get() const {
    static_cast<void>(recording->context());
    return op;
  }
};

std::vector<OpHandle> handles(const RecordingPtr& recording, const std::vector<ReadyOp>& ops) {
  std::vector<OpHandle> list;
  list.reserve(ops.size());
  for (const ReadyOp& op : ops) list.push_back({recording, op});
  return list;
}

std::vector<ReadyOp> ready_ops(const std::vector<OpHandle>& handles) {
  std::vector<ReadyOp> ops;
  ops.reserve(handles.size());
  for (const OpHandle& handle : handles) ops.push_back(handle.op);
  return ops;
}

/// A strategy written in Python. It is asked while a plan is recorded, never in a steady run.
class PythonScheduler : public OpScheduler, public py::trampoline_self_life_support {
 public:
  [[nodiscard]] std::string_view name() const override {
    const py::gil_scoped_acquire gil;
    if (name_.empty()) name_ = py::str(py::type::of(py::cast(this)).attr("__name__"));
    return name_;
  }

  [[nodiscard]] Split split(const Batch& batch) const override {
    const py::gil_scoped_acquire gil;
    const py::object result = call("split", py::cast(batch));
    if (py::isinstance<Split>(result)) return result.cast<Split>();
    throw std::invalid_argument("split returned " + std::string(py::repr(result)) +
                                ", which is no Split: return batch.even(…) or another of "
                                "batch's own");
  }

  void schedule(ScheduleContext& ctx) const override {
    const py::gil_scoped_acquire gil;
    struct Ending {
      RecordingPtr recording;
      ~Ending() { recording->end(); }
    };
    const Ending ending{std::make_shared<Recording>(ctx)};
    call("schedule", py::cast(ending.recording));
  }

 private:
  py::object call(const char* method, const py::object& argument) const {
    const py::function own = py::get_override(static_cast<const OpScheduler*>(this), method);
    if (!own) {
      throw std::invalid_argument(std::string(name()) + " has no method " + method);
    }
    try {
      return own(argument);
    } catch (const py::error_already_set& failure) {
      throw std::runtime_error(described_or_kept(failure));
    }
  }

  mutable std::string name_;  ///< guarded by the GIL
};

void add_batch(py::module_& module) {
  py::class_<Split>(module, "Split", "How many rows each micro-batch has.")
      .def(py::init([](std::vector<std::int64_t> sizes) { return Split{std::move(sizes)}; }),
           py::arg("sizes"))
      .def_readonly("sizes", &Split::sizes)
      .def_property_readonly(
          "scheduled", [](const Split& split) { return split.path == Split::Path::kScheduled; },
          "False for batch.whole(): the model runs as one compiled piece.")
      .def("__len__", &Split::count)
      .def("__eq__", [](const Split& a, const Split& b) { return a == b; })
      .def("__repr__", [](const Split& split) { return to_string(split); });

  py::class_<Batch>(module, "Batch",
                    "What a strategy may know of this step when it decides how to split.")
      .def(py::init([](std::int64_t rows, std::vector<std::int64_t> requests,
                       std::map<std::string, std::int64_t> facts) {
             return Batch{rows, std::move(requests), std::move(facts)};
           }),
           py::arg("rows"), py::arg("requests") = std::vector<std::int64_t>(),
           py::arg("facts") = std::map<std::string, std::int64_t>())
      .def_readonly("rows", &Batch::rows)
      .def_readonly("requests", &Batch::requests, "Rows of each request, in order.")
      .def_readonly("facts", &Batch::facts, "Anything else the caller wants decided upon.")
      .def("whole", &Batch::whole, "One micro-batch.")
      .def("even", &Batch::even, py::arg("parts"),
           "Micro-batches whose sizes differ by one row at most, the larger ones first.")
      .def("by_sizes", &Batch::by_sizes, py::arg("sizes"))
      .def("at_requests", &Batch::at_requests, py::arg("parts"),
           "Micro-batches that never cut a request in two.");
}

std::vector<Microbatch> microbatches_of(MicrobatchRange range) {
  std::vector<Microbatch> list;
  for (const Microbatch mb : range) list.push_back(mb);
  return list;
}

void add_handles(py::module_& module) {
  py::class_<Microbatch>(module, "Microbatch", "The i-th part of a split batch.")
      .def_readonly("index", &Microbatch::index)
      .def("__index__", [](Microbatch mb) { return mb.index; })
      .def("__eq__", [](Microbatch a, Microbatch b) { return a == b; })
      .def("__hash__", [](Microbatch mb) { return mb.index; })
      .def("__repr__",
           [](Microbatch mb) { return "Microbatch(" + std::to_string(mb.index) + ")"; });
  py::class_<OpHandle>(module, "ReadyOp", "An op that may be executed now.")
      .def_property_readonly("name", [](const OpHandle& handle) { return handle.get().name(); })
      .def_property_readonly("tags",
                             [](const OpHandle& handle) {
                               const auto& tags = handle.get().tags();
                               return std::set(tags.begin(), tags.end());
                             })
      .def_property_readonly("group", [](const OpHandle& handle) { return handle.get().group(); })
      .def_property_readonly("cost",
                             [](const OpHandle& handle) { return to_string(handle.get().cost()); })
      .def_property_readonly(
          "microbatches",
          [](const OpHandle& handle) { return microbatches_of(handle.op.microbatches()); })
      .def("__eq__",
           [](const OpHandle& a, const OpHandle& b) {
             return a.op.id() == b.op.id() && a.op.microbatches() == b.op.microbatches();
           })
      .def("__hash__", [](const OpHandle& handle) { return handle.op.id().index; })
      .def("__repr__",
           [](const OpHandle& handle) { return "ReadyOp(" + handle.get().name() + ")"; });
  const py::class_<Lane> lane(module, "Lane", "An in-order queue of this recording.");
  const py::class_<IssuedStep> step(module, "IssuedStep",
                                    "A recorded step, to order others after it.");
}

/// The line of Python that is being run; its texts are kept for good, once each.
Where here() {
  static std::set<std::string> texts;  // guarded by the GIL
  PyFrameObject* frame = PyEval_GetFrame();
  if (frame == nullptr) return {};
  const auto code =
      py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  const auto text = [&](const char* attribute) {
    return texts.insert(py::str(code.attr(attribute))).first->c_str();
  };
  return {text("co_qualname"), text("co_filename"),
          static_cast<std::uint32_t>(PyFrame_GetLineNumber(frame))};
}

IssuedStep execute(Recording& recording, const std::vector<OpHandle>& handles,
                   std::optional<Lane> lane, const std::optional<py::function>& replace_func,
                   std::vector<IssuedStep> after) {
  ScheduleContext& ctx = recording.context();
  const std::vector<ReadyOp> ops = ready_ops(handles);
  ExecuteOptions options;
  if (lane) options.lane = *lane;
  options.after = std::move(after);
  if (replace_func) options.replace_func = recording.replacement(ops, *replace_func);
  return ctx.execute(ops, std::move(options), here());
}

void add_context(py::module_& module) {
  const auto execute_one = [](Recording& recording, const OpHandle& op, std::optional<Lane> lane,
                              const std::optional<py::function>& replace_func,
                              std::vector<IssuedStep> after) {
    return execute(recording, {op}, lane, replace_func, std::move(after));
  };
  const auto first_ready = [](const RecordingPtr& recording, Microbatch mb) {
    const auto op = recording->context().first_ready_op(mb);
    return op ? std::optional<OpHandle>({recording, *op}) : std::nullopt;
  };
  py::class_<Recording, RecordingPtr>(
      module, "ScheduleContext",
      "What a strategy sees while it records: what is ready, and execute.")
      .def_property_readonly(
          "microbatches",
          [](const Recording& ctx) { return microbatches_of(ctx.context().microbatches()); })
      .def(
          "rows", [](const Recording& ctx, Microbatch mb) { return ctx.context().rows(mb); },
          py::arg("microbatch"),
          "The rows of a micro-batch. A plan whose strategy asked is used for these sizes only.")
      .def(
          "get_ready_ops",
          [](const RecordingPtr& ctx, Microbatch mb) {
            return handles(ctx, ctx->context().get_ready_ops(mb));
          },
          py::arg("microbatch"), "A snapshot in program order.")
      .def("get_ready_ops",
           [](const RecordingPtr& ctx) { return handles(ctx, ctx->context().get_ready_ops()); })
      .def("first_ready_op", first_ready, py::arg("microbatch"))
      .def(
          "get_ready_after",
          [](const RecordingPtr& ctx, const std::vector<OpHandle>& ops) {
            return handles(ctx, ctx->context().get_ready_after(ready_ops(ops)));
          },
          py::arg("ops"), "What would become ready if these had been executed.")
      .def("unfinished", [](const Recording& ctx) { return ctx.context().unfinished(); })
      .def(
          "lane",
          [](const Recording& ctx, std::string_view name, std::optional<int> cores) {
            return ctx.context().lane(name, Share{cores.value_or(Share::kEqualPart)});
          },
          py::arg("name"), py::arg("cores") = py::none())
      .def("execute", execute_one, py::arg("op"), py::kw_only(), py::arg("lane") = py::none(),
           py::arg("replace_func") = py::none(), py::arg("after") = std::vector<IssuedStep>(),
           "Runs one op, or a function in its place.")
      .def("execute", &execute, py::arg("ops"), py::kw_only(), py::arg("lane") = py::none(),
           py::arg("replace_func") = py::none(), py::arg("after") = std::vector<IssuedStep>(),
           "Runs the same op of adjacent micro-batches merged, or a chain of ops, fused where "
           "replace_func is given.");
}

void add_scheduler(py::module_& module) {
  py::class_<OpScheduler, PythonScheduler, py::smart_holder>(
      module, "OpScheduler", py::dynamic_attr(),
      "A strategy: split(batch) and schedule(ctx), both pure.")
      .def(py::init<>())
      .def_property_readonly("name", [](const OpScheduler& s) { return std::string(s.name()); })
      .def("split", &OpScheduler::split, py::arg("batch"))
      .def(
          "schedule", [](const OpScheduler& s, const Recording& ctx) { s.schedule(ctx.context()); },
          py::arg("ctx"));
}

}  // namespace

void add_schedule(py::module_& module) {
  add_batch(module);
  add_handles(module);
  add_context(module);
  add_scheduler(module);
}

}  // namespace dynaflow::bindings
