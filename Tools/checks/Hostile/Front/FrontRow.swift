import CRDTCore

/// One kind of attack on the HTTP API of a big peer.
///
/// Each has a control: the same attack on a big peer whose bound for it is a hundred times as high.
struct FrontRow: Sendable {
  /// Whom and how long to attack.
  struct Scene: Sendable {
    let target: Target
    /// A key of the attacker, with the right that the row wants.
    let key: String
    /// Records what is not as it should be.
    let fail: @Sendable (String) -> Void
  }

  let name: String
  /// What is sent, in a few words, and what it cost before there was a bound.
  let summary: String
  let aims: Aims
  /// The right of the attacker's key.
  let right: String
  /// Documents of `things` that are there before.
  let documents: Int
  /// Members of `http.limits` for the row.
  let limits: [TextKey: Value]
  /// The same for the control; `nil` where the row's check needs none.
  let unbounded: [TextKey: Value]?
  /// Attacks until the time is over; all connections are closed when it returns.
  let attack: @Sendable (Scene) -> Void

  /// The row as it is run, or its control, which must miss its aims.
  struct Run: Sendable {
    let row: FrontRow
    let isControl: Bool

    var name: String { isControl ? "\(row.name)-unbounded" : row.name }
    var limits: [TextKey: Value] { isControl ? row.unbounded ?? [:] : row.limits }
  }

  /// The row, and its control if it has one.
  var runs: [Run] {
    [Run(row: self, isControl: false)] + (unbounded == nil ? [] : [Run(row: self, isControl: true)])
  }
}
