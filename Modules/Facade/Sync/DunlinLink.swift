public import Transports

/// An ordered, reliable byte channel to one peer; an application can implement it over any transport.
///
/// `Documentation/Links.md` says what a link promises, and how to check that a link keeps its promises.
/// `DatagramLink` makes a link of a radio that has only small packets.
public typealias DunlinLink = Link

/// Which end of a connection opened it.
public enum DunlinConnectionDirection: Hashable, Sendable {
  /// The other peer opened the connection, and says hello first.
  case incoming
  /// This peer opened the connection, and says hello first.
  case outgoing
}

extension DunlinSync {
  /// Syncs over a link of the application's own, until the session ends, sync stops or the database closes.
  ///
  /// The identity applies as on every link: unless it is the identity for development, both ends authenticate
  /// inside the link's bytes, and the session is encrypted. The link is closed at the end; the application
  /// then makes a new one. One end is `outgoing` and the other `incoming`.
  ///
  /// - Parameters:
  ///   - link: A link that nothing else uses, with no user attached. If this throws, the link is closed.
  ///   - direction: Which end opened the connection.
  /// - Throws: `identity` while the peer waits for a login, `notSyncing` when sync is not started, `closed`
  ///   when the database is closed.
  public func adopt(_ link: any DunlinLink, direction: DunlinConnectionDirection) throws {
    guard sync.isOpen else {
      link.close(LinkError(.closed, "The database is closed"))
      throw DunlinError(.closed, "the database is closed")
    }
    // The network closes a link that it does not accept.
    guard sync.network.adopt(link, direction: direction == .incoming ? .incoming : .outgoing) else {
      guard !sync.isActive || !sync.network.waitsForCredentials else {
        throw DunlinError(
          .identity, "this peer cannot prove who it is yet, so no link can be taken: nobody is logged in",
          context: ["address": "\(link.endpoint)"])
      }
      throw DunlinError(
        .notSyncing, "sync is not started, so no link can be taken",
        context: ["address": "\(link.endpoint)"])
    }
  }
}
