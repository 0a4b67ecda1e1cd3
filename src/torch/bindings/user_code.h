#pragma once

#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace dynaflow::bindings {

/// The user's own code, the same on every lane: as under torch.no_grad(), with writes to tensors
/// counted.
class UserCode {
  static c10::DispatchKeySet included() {
    return c10::impl::tls_local_dispatch_key_set().included_.add(c10::DispatchKey::ADInplaceOrView);
  }
  static c10::DispatchKeySet excluded() {
    return c10::impl::tls_local_dispatch_key_set().excluded_ -
           c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  }

  c10::InferenceMode no_inference_{false};
  c10::impl::ForceDispatchKeyGuard keys_{included(), excluded()};
  at::NoGradGuard no_grad_;
};

}  // namespace dynaflow::bindings
