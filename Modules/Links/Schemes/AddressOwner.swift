/// The part that requested an address.
///
/// Another part may still want an address that one part withdraws.
package enum AddressOwner: Hashable, Sendable {
  /// The application, by a call.
  case application
  /// The transport configuration.
  case configuration
}
