/// An address at which a network listens.
package struct ListeningAddress: Hashable, Sendable {
  package let host: String
  /// 0 for any free one.
  package let port: Int
  /// The kind of links.
  package let scheme: any LinkScheme
  package let owner: AddressOwner

  /// Makes an address; nothing listens there yet.
  package init(host: String, port: Int, scheme: any LinkScheme, owner: AddressOwner = .application) {
    (self.host, self.port, self.scheme, self.owner) = (host, port, scheme, owner)
  }

  package static func == (a: Self, b: Self) -> Bool {
    a.host == b.host && a.port == b.port && a.scheme.name == b.scheme.name && a.owner == b.owner
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(host)
    hasher.combine(port)
    hasher.combine(scheme.name)
    hasher.combine(owner)
  }
}
