/// Optional abilities of a peer, offered in hello; a session uses those that both sides have.
///
/// Unknown bits have no meaning. A bit stands for one part of the protocol, so that any mixture of peers works.
package struct Features: OptionSet, Hashable, Sendable {
  package var rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Frames with a short head.
  package static let compactFrames = Features(rawValue: 1 << 0)
  /// Resuming where the receiver's cursor stands.
  package static let cursors = Features(rawValue: 1 << 1)
  /// Groups of alike changes, written column by column.
  package static let runs = Features(rawValue: 1 << 2)
  /// Announcing what others may have brought, to be pulled.
  package static let mesh = Features(rawValue: 1 << 3)
  /// Large groups that go on where an earlier link broke.
  package static let slices = Features(rawValue: 1 << 4)
  /// Large components in parts that become visible at once.
  package static let staging = Features(rawValue: 1 << 5)
  /// Statements that the other peer runs.
  package static let remoteQueries = Features(rawValue: 1 << 6)
  /// A packer for slow links that is denser than deflate.
  package static let densePacking = Features(rawValue: 1 << 7)
  /// Questions that do not tell what the receiver holds.
  package static let blindQuestions = Features(rawValue: 1 << 9)

  /// Sending what was written since a receiver's cursor without announcing it.
  package static let unaskedChanges = Features(rawValue: 1 << 10)
  /// Checksums that also tell a frame's place, so that one which comes twice or in another order is noticed.
  package static let numberedFrames = Features(rawValue: 1 << 11)

  /// Parts of large components with the heads of their documents apart from what these say.
  package static let columnParts = Features(rawValue: 1 << 12)

  /// Saying when a request to compare all anew was heard.
  package static let renewals = Features(rawValue: 1 << 13)

  /// Saying that not all of the own store can be read, so that the other end does not take itself for caught up.
  package static let unreadable = Features(rawValue: 1 << 14)

  /// What this release offers.
  package static let supported: Features = [
    .compactFrames, .cursors, .runs, .mesh, .slices, .staging, .remoteQueries, .densePacking, .blindQuestions,
    .unaskedChanges, .numberedFrames, .columnParts, .renewals, .unreadable,
  ]
}
