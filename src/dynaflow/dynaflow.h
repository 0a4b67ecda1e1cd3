#pragma once

/// Everything a C++ user needs: build a Graph, write an OpScheduler, compile, run, look.
#include "dynaflow/compile.h"
#include "dynaflow/device/cpu/cpu_device.h"
#include "dynaflow/explain/explanation.h"
#include "dynaflow/explain/ranks.h"
#include "dynaflow/explain/save.h"
#include "dynaflow/graph/builder.h"
#include "dynaflow/schedule/verify.h"
#include "dynaflow/simulate/simulate.h"
#include "dynaflow/strategies/comm_overlap.h"
#include "dynaflow/strategies/strategies.h"
