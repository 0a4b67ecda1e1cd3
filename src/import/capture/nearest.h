#pragma once

#include <set>
#include <string>

namespace dynaflow::capture {

/// For a name that users gave and a model does not have: "; near: a, b, c", the three `names` that
/// are most like it; "" without any.
[[nodiscard]] std::string nearest(const std::string& name, const std::set<std::string>& names);

}  // namespace dynaflow::capture
