/// An address at which a peer can be reached, of whatever kind of links.
///
/// Two addresses are equal if they are written in the same way.
package struct LinkAddress: Hashable, Sendable, CustomStringConvertible {
  /// The address with its scheme, for example `"tcp://127.0.0.1:4040"`.
  package let description: String

  private let makeDialer: @Sendable (TCPOptions) -> any LinkDialer

  /// Makes an address.
  ///
  /// - Parameters:
  ///   - description: The address with its scheme; nothing else may be left out that distinguishes it.
  ///   - makeDialer: Makes what connects to it, with the bounds of the links.
  init(_ description: String, makeDialer: @escaping @Sendable (TCPOptions) -> any LinkDialer) {
    (self.description, self.makeDialer) = (description, makeDialer)
  }

  /// What connects to the address.
  ///
  /// - Parameter options: The bounds of the links.
  /// - Returns: The dialer, which has not connected yet.
  package func dialer(_ options: TCPOptions) -> any LinkDialer { makeDialer(options) }

  package static func == (a: Self, b: Self) -> Bool { a.description == b.description }

  package func hash(into hasher: inout Hasher) { hasher.combine(description) }
}
