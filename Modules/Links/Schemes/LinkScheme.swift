/// A kind of links that the package makes by itself: reads their addresses, connects and listens.
///
/// `LinkSchemes` lists all of them. A link of an application needs none: the application connects by itself.
package protocol LinkScheme: Sendable {
  /// The scheme in the addresses of listeners, for example `"tcp"`.
  var name: String { get }

  /// The schemes of the URLs that lead to such links, in lower case; empty when no URL does.
  var urlSchemes: [String] { get }

  /// Reads an address: a URL if there are schemes for one, otherwise `host:port`.
  ///
  /// - Parameter text: The address, as an application or a user writes it.
  /// - Returns: The address, which can be dialed.
  /// - Throws: `unreachable`, saying what is wrong.
  func address(_ text: String) throws(LinkError) -> LinkAddress

  /// Starts to listen; blocks the calling thread until then.
  ///
  /// - Parameters:
  ///   - host: The name or address to listen on.
  ///   - port: The port, 0 for any free one.
  ///   - options: The bounds of the links.
  ///   - halfOpen: Counts the links that wait for their peer's hello.
  /// - Returns: The listener with its port.
  /// - Throws: `portInUse`, `permissionDenied`, `unreachable` or `system`, naming host and port.
  func listen(
    host: String, port: Int, options: TCPOptions, halfOpen: HalfOpenConnections
  ) throws(LinkError) -> any LinkListener
}
