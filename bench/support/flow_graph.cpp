#include "support/flow_graph.h"

#include <tbb/flow_graph.h>

#include <cstdint>
#include <vector>

namespace dynaflow::bench {

using tbb::flow::continue_msg;

class FlowGraph::Network {
 public:
  virtual ~Network() = default;
  virtual void run() = 0;
};

template <class Policy>
class FlowGraph::NetworkOf final : public Network {
 public:
  NetworkOf(const StepGraph& steps, const StepCalls& calls) : start_(graph_) {
    for (std::uint32_t i = 0; i < steps.steps.size(); ++i) {
      const auto body = [&calls, i](const continue_msg&) { calls.call(i); };
      nodes_.push_back(std::make_unique<Node>(graph_, body));
      for (const std::uint32_t before : steps.steps[i].after)
        make_edge(*nodes_[before], *nodes_[i]);
      if (steps.steps[i].after.empty()) make_edge(start_, *nodes_[i]);
    }
  }

  void run() override {
    start_.try_put(continue_msg());
    graph_.wait_for_all();
  }

 private:
  using Node = tbb::flow::continue_node<continue_msg, Policy>;

  tbb::flow::graph graph_;
  tbb::flow::broadcast_node<continue_msg> start_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

FlowGraph::FlowGraph(const StepGraph& steps, const StepCalls& calls, Nodes nodes)
    : arena_(static_cast<int>(steps.lanes)) {
  // A graph's tasks run in the arena that it was made in.
  arena_.execute([&] {
    if (nodes == Nodes::kTasks) {
      network_ = std::make_unique<NetworkOf<tbb::flow::queueing>>(steps, calls);
    } else {
      network_ = std::make_unique<NetworkOf<tbb::flow::lightweight>>(steps, calls);
    }
  });
}

FlowGraph::~FlowGraph() = default;

void FlowGraph::run() {
  arena_.execute([&] { network_->run(); });
}

}  // namespace dynaflow::bench
