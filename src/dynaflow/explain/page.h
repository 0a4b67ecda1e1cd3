#pragma once

#include <string_view>

namespace dynaflow {

/// The look and the behaviour of every page: page/page.css and page/page.js, compiled in.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace dynaflow
