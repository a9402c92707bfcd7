/// A link whose other end has an address by which limits count connections.
package protocol CountedLink: Link {
  /// The origin of the other end, as limits count it.
  var origin: ConnectionOrigin { get }
}

extension TCPLink: CountedLink {}
