/// An address that a peer listens on at the moment.
public struct DunlinListeningAddress: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// What connects there: `tcp` or `ws`.
  public let kind: String
  /// The host that the peer was told to listen on.
  public let host: String
  /// The port in use.
  public let port: Int

  init(kind: String, host: String, port: Int) { (self.kind, self.host, self.port) = (kind, host, port) }

  public var description: String { "\(kind)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }

  public static func < (a: Self, b: Self) -> Bool {
    (a.kind, a.host, a.port) < (b.kind, b.host, b.port)
  }
}
