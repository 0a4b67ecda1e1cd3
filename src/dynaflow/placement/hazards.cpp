#include "dynaflow/placement/hazards.h"

#include <algorithm>
#include <map>
#include <utility>

namespace dynaflow {
namespace {

/// What is known of a run of bytes: whose value is there, who wrote it, who has read it since.
struct Segment {
  std::int64_t end = 0;
  StorageId owner;         ///< invalid: nobody has written here
  std::int64_t shift = 0;  ///< physical minus logical address of the owner's bytes
  StepId writer;           ///< invalid: the caller
  std::vector<StepId> readers;
};

/// One access: `bytes` bytes from `begin`, where the value's own address is `begin - shift`.
struct Probe {
  StepId step;
  ValueId value;
  StorageId storage;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t shift;
};

/// An address space (the arena, one of the caller's buffers, a state) as disjoint segments.
class Shadow {
 public:
  void seed(const Probe& probe) {
    for_each(probe.begin, probe.end, [&](std::int64_t, Segment& segment) { own(segment, probe); });
  }

  /// Calls `fn(begin, end, writer)` for each run of bytes that one step wrote.
  template <class Fn>
  void versions(const Probe& probe, const Fn& fn) {
    for_each(probe.begin, probe.end,
             [&](std::int64_t begin, Segment& segment) { fn(begin, segment.end, segment.writer); });
  }

  template <class Report>
  void read(const Probe& probe, StepId writer, const HappensBefore& hb, const Report& report) {
    for_each(probe.begin, probe.end, [&](std::int64_t, Segment& segment) {
      if (segment.owner != probe.storage || segment.shift != probe.shift ||
          segment.writer != writer) {
        report(Hazard::What::kClobbered, segment.writer);
      } else if (unordered(segment.writer, probe.step, hb)) {
        report(Hazard::What::kRace, segment.writer);
      }
      if (probe.step.valid()) segment.readers.push_back(probe.step);
    });
  }

  template <class Report>
  void write(const Probe& probe, const HappensBefore& hb, const Report& report) {
    for_each(probe.begin, probe.end, [&](std::int64_t, Segment& segment) {
      // Within one step nothing is ordered: its operands may meet only as the same bytes.
      const bool same = segment.owner == probe.storage && segment.shift == probe.shift;
      const auto clashes = [&](StepId other) {
        return other == probe.step ? !same && other.valid() : unordered(other, probe.step, hb);
      };
      if (clashes(segment.writer)) report(Hazard::What::kRace, segment.writer);
      for (const StepId reader : segment.readers) {
        if (clashes(reader)) report(Hazard::What::kRace, reader);
      }
      own(segment, probe);
    });
  }

 private:
  static bool unordered(StepId earlier, StepId later, const HappensBefore& hb) {
    return earlier.valid() && later.valid() && earlier != later && !hb.before(earlier, later);
  }

  static void own(Segment& segment, const Probe& probe) {
    segment.owner = probe.storage;
    segment.shift = probe.shift;
    segment.writer = probe.step;
    segment.readers.clear();
  }

  void cut(std::int64_t at) {
    auto next = segments_.upper_bound(at);
    if (next == segments_.begin()) return;
    auto segment = std::prev(next);
    if (segment->first == at || segment->second.end <= at) return;
    Segment right = segment->second;
    segment->second.end = at;
    segments_.emplace(at, std::move(right));
  }

  template <class Fn>
  void for_each(std::int64_t begin, std::int64_t end, const Fn& fn) {
    cut(begin);
    cut(end);
    for (std::int64_t at = begin; at < end;) {
      auto segment = segments_.lower_bound(at);
      if (segment == segments_.end() || segment->first != at) {  // bytes nobody has touched
        const std::int64_t stop = segment == segments_.end() ? end : std::min(end, segment->first);
        segment = segments_.emplace(at, Segment{}).first;
        segment->second.end = stop;
      }
      fn(at, segment->second);
      at = segment->second.end;
    }
  }

  std::map<std::int64_t, Segment> segments_;
};

class Walk {
 public:
  Walk(const Graph& graph, const Plan& plan, const Buffers& buffers, const Placement& placement,
       const HappensBefore& hb)
      : graph_(graph), plan_(plan), buffers_(buffers), placement_(placement), hb_(hb) {}

  std::vector<Hazard> run() {
    for (const ValueId id : graph_.inputs()) {
      callers_bytes(id, [&](const Probe& probe) {
        shadows_[space_of_storage(probe.storage)].seed(probe);
        values_[probe.storage.index].seed(probe);
      });
    }
    for (const StepId step : hb_.order()) visit(step);
    // At the end the caller reads its outputs, and its inputs again.
    for (const auto ids : {graph_.outputs(), graph_.inputs()}) {
      for (const ValueId id : ids) callers_bytes(id, [&](const Probe& probe) { read(probe); });
    }
    return std::move(hazards_);
  }

 private:
  auto reporter(const Probe& probe) {
    return [this, probe](Hazard::What what, StepId other) {
      hazards_.push_back({what, other, probe.step, probe.value, ""});
    };
  }
  /// A state's bytes are its own: nobody else can be found there.
  auto races_only(const Probe& probe) {
    return [this, probe](Hazard::What what, StepId other) {
      if (what == Hazard::What::kRace) hazards_.push_back({what, other, probe.step, {}, "state"});
    };
  }

  /// Address spaces: 0 the arena; then one per storage; then one per state.
  [[nodiscard]] std::size_t space_of_storage(StorageId storage) const {
    return graph_.storage(storage).memory == Memory::kArena ? 0 : 1 + storage.index;
  }

  template <class Fn>
  void callers_bytes(ValueId id, const Fn& fn) {
    const Value& value = graph_.value(id);
    const Storage& storage = graph_.storage(value.storage);
    const std::int64_t row_bytes = placement_.storages[value.storage.index].row_bytes;
    const std::int64_t rows = storage.has_rows() ? placement_.row_starts.back() : 1;
    if (is_whole(value)) {  // rows and blocks touch: one run
      fn(Probe{{}, id, value.storage, 0, rows * row_bytes, 0});
      return;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t begin = row * row_bytes + value.offset;
      fn(Probe{{}, id, value.storage, begin, begin + value.type.bytes().constant(), 0});
    }
  }

  /// Whether a value is all of its storage's row. Only the whole may be symbolic, or in blocks.
  [[nodiscard]] bool is_whole(const Value& value) const {
    return value.type.bytes() == graph_.storage(value.storage).row_bytes;
  }

  void visit(StepId id) {
    const Step& step = plan_.steps[id.index];
    for (std::uint32_t i = 0; i < step.operands.count; ++i) {
      const Access access = plan_.operands(step)[i].access;
      if (access != Access::kWrite) probe(id, i, [&](const Probe& each) { read(each); });
    }
    effects(
        id, [](Access access) { return access != Access::kWrite; },
        [&](const Probe& each, std::size_t space) {
          read_version(each, shadows_[space], shadows_[space], races_only(each));
        });
    for (std::uint32_t i = 0; i < step.operands.count; ++i) {
      const Access access = plan_.operands(step)[i].access;
      if (access != Access::kRead) probe(id, i, [&](const Probe& each) { write(each); });
    }
    effects(
        id, [](Access access) { return access != Access::kRead; },
        [&](const Probe& each, std::size_t space) {
          shadows_[space].write(each, hb_, races_only(each));
        });
    write_scratch(id);
  }

  /// Nobody reads a step's scratch: all that it can do is harm.
  void write_scratch(StepId id) {
    const BufferId buffer = buffers_.scratch[id.index];
    if (!buffer.valid() || placement_.sizes[buffer.index] == 0) return;
    const std::int64_t begin = placement_.offsets[buffer.index];
    const std::int64_t end = begin + placement_.sizes[buffer.index];
    if (begin < 0 || end > placement_.arena_bytes) {
      return out_of_bounds(id, {}, {begin, end}, placement_.arena_bytes);
    }
    shadows_[0].write(Probe{id, {}, {}, begin, end, 0}, hb_, [&](Hazard::What what, StepId other) {
      hazards_.push_back({what, other, id, {}, "its scratch"});
    });
  }

  void read(const Probe& probe) {
    read_version(probe, shadows_[space_of_storage(probe.storage)], values_[probe.storage.index],
                 reporter(probe));
  }
  /// The bytes must hold what the last step to write the value left there.
  template <class Report>
  void read_version(const Probe& probe, Shadow& bytes, Shadow& value, const Report& report) {
    Probe logical = probe;
    logical.begin -= probe.shift;
    logical.end -= probe.shift;
    value.versions(logical, [&](std::int64_t begin, std::int64_t end, StepId writer) {
      Probe part = probe;
      part.begin = begin + probe.shift;
      part.end = end + probe.shift;
      bytes.read(part, writer, hb_, report);
    });
  }
  void write(const Probe& probe) {
    shadows_[space_of_storage(probe.storage)].write(probe, hb_, reporter(probe));
    Probe logical = probe;
    logical.begin -= probe.shift;
    logical.end -= probe.shift;
    values_[probe.storage.index].seed(logical);
  }

  /// Calls `fn` for every run of bytes an operand covers.
  template <class Fn>
  void probe(StepId id, std::uint32_t operand, const Fn& fn) {
    const Step& step = plan_.steps[id.index];
    const std::uint32_t at = step.operands.first + operand;
    const ValueId value_id = plan_.step_operands[at].value;
    const Value& value = graph_.value(value_id);
    const Storage& storage = graph_.storage(value.storage);
    const BufferId buffer = buffers_.of_operand[at];
    if (storage.memory == Memory::kUnplaced) {  // one imaginary byte per row
      const bool split = storage.kind == Kind::kSplit;
      const RowRange rows = split ? placement_.rows(step.microbatches) : RowRange{0, 1};
      fn(Probe{id, value_id, value.storage, rows.first, rows.first + rows.count, 0});
      return;
    }
    const PlacedView& view = placement_.views[at];
    const StorageSize& size = placement_.storages[value.storage.index];
    const std::int64_t base = placement_.offsets[buffer.index] + view.offset;
    const bool arena = storage.memory == Memory::kArena;
    const std::int64_t limit = arena ? placement_.arena_bytes : placement_.sizes[buffer.index];
    const std::int64_t batch = storage.has_rows() ? placement_.row_starts.back() : 1;
    const std::int64_t first_row =
        storage.kind == Kind::kSplit ? placement_.rows(step.microbatches).first : 0;
    for (std::int64_t block = 0; block < size.blocks; ++block) {
      // Where the value's own bytes would be if the batch were one buffer.
      const std::int64_t own = (block * batch + first_row) * size.row_stride() + value.offset;
      const std::int64_t begin = base + block * view.block_stride;
      const Probe run{id, value_id, value.storage, begin, begin, begin - own};
      if (!probe_rows(run, view.rows, limit, fn)) return;
    }
  }

  /// The rows of one block, from where `run` begins; false where they are out of bounds.
  template <class Fn>
  bool probe_rows(Probe run, std::int64_t rows, std::int64_t limit, const Fn& fn) {
    const Value& value = graph_.value(run.value);
    const std::int64_t stride = placement_.storages[run.storage.index].row_stride();
    const bool whole = is_whole(value);
    const std::int64_t bytes = whole ? stride : value.type.bytes().constant();
    if (rows == 0 || bytes == 0) return true;
    const std::int64_t end = run.begin + (rows - 1) * stride + bytes;
    if (run.begin < 0 || end > limit) {
      out_of_bounds(run.step, run.value, {run.begin, end}, limit);
      return false;
    }
    if (whole) {  // rows touch: one run
      run.end = end;
      fn(run);
      return true;
    }
    for (std::int64_t row = 0; row < rows; ++row, run.begin += stride) {
      run.end = run.begin + bytes;
      fn(run);
    }
    return true;
  }

  void out_of_bounds(StepId step, ValueId value, ByteRange bytes, std::int64_t limit) {
    hazards_.push_back({Hazard::What::kOutOfBounds,
                        {},
                        step,
                        value,
                        "bytes " + std::to_string(bytes.begin) + " to " +
                            std::to_string(bytes.end) + " of " + std::to_string(limit)});
  }

  template <class Select, class Fn>
  void effects(StepId id, const Select& select, const Fn& fn) {
    const Step& step = plan_.steps[id.index];
    for (const OpId op : plan_.ops(step)) {
      for (const Effect& effect : graph_.op(op).effects) {
        if (!select(effect.access)) continue;
        const std::size_t space = 1 + graph_.storages().size() + effect.state.index;
        const bool own = effect.rows == Rows::kOwn;
        fn(Probe{id,
                 {},
                 {},
                 own ? step.microbatches.first : 0,
                 own ? step.microbatches.last : plan_.microbatches(),
                 0},
           space);
      }
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  const Buffers& buffers_;
  const Placement& placement_;
  const HappensBefore& hb_;
  std::map<std::size_t, Shadow> shadows_;   ///< per address space: what is where
  std::map<std::uint32_t, Shadow> values_;  ///< per storage: who wrote each of its bytes last
  std::vector<Hazard> hazards_;
};

}  // namespace

std::vector<Hazard> find_hazards(const Graph& graph, const Plan& plan, const Buffers& buffers,
                                 const Placement& placement, const HappensBefore& hb) {
  return Walk(graph, plan, buffers, placement, hb).run();
}

std::string describe(const Graph& graph, const Plan& plan, const Hazard& hazard) {
  const auto name = [&](StepId step) {
    return step.valid() ? describe(graph, plan, plan.steps[step.index]) : std::string("the caller");
  };
  const bool outside = hazard.what == Hazard::What::kOutOfBounds;
  const std::string value = hazard.value.valid() ? "'" + graph.value(hazard.value).name + "'"
                            : outside            ? "the arena with its scratch"
                                                 : hazard.detail;
  switch (hazard.what) {
    case Hazard::What::kOutOfBounds:
      return name(hazard.second) + " reaches outside " + value + ": " + hazard.detail;
    case Hazard::What::kRace:
      return name(hazard.second) + " uses the bytes of " + value + " while " + name(hazard.first) +
             " may be using them";
    case Hazard::What::kClobbered:
      break;
  }
  return name(hazard.second) + " reads " + value + ", but finds what " + name(hazard.first) +
         " left there";
}

}  // namespace dynaflow
