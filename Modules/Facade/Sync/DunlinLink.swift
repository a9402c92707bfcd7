public import Transports

/// An ordered, reliable byte channel to one peer, which an application may make of whatever it has.
///
/// `Documentation/Links.md` says what a link promises, and how to check that one keeps it. `DatagramLink` makes a link of a radio that
/// only has small packets.
public typealias DunlinLink = Link

/// Which of the two ends of a connection has made it.
public enum DunlinConnectionDirection: Hashable, Sendable {
  /// The other peer has, and says hello first.
  case incoming
  /// This peer has, and says hello first.
  case outgoing
}

extension DunlinSync {
  /// Syncs over a link of the application's own, until the session ends, sync stops or the database closes.
  ///
  /// The identity holds here as everywhere: unless it is that for development, both ends prove inside the link's bytes who they are, and
  /// what they say is encrypted. The link is closed at the end; whoever makes links makes a new one then. At the two ends one is
  /// `outgoing` and the other `incoming`.
  ///
  /// - Parameters:
  ///   - link: A link that nobody else uses, with no user attached; where this throws, it is closed.
  ///   - direction: Which end has made the connection.
  /// - Throws: `identity` while a login is waited for, `notSyncing` when sync is not started, `closed` when the database is closed.
  public func adopt(_ link: any DunlinLink, direction: DunlinConnectionDirection) throws {
    guard core.isOpen else {
      link.close(LinkError(.closed, "The database is closed"))
      throw DunlinError(.closed, "the database is closed")
    }
    // It closes a link that it does not take.
    guard core.network.adopt(link, direction: direction == .incoming ? .incoming : .outgoing) else {
      guard !core.isSyncActive || !core.network.waitsForCredentials else {
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
