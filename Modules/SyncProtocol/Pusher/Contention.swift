import DocStore

/// Documents that both peers write at the same time: their changes are sent as deltas with a base version.
///
/// An operation delta applies to one state only. It costs a round trip if the peer has written in the
/// meantime. A peer that requests a live document has another state of it, so the next changes of that
/// document are sent as deltas.
struct Contention {
  /// The number of changes of a document that are sent as deltas after a request.
  static let changes = 16
  private let limit: Int
  private var remaining: [DocumentKey: Int] = [:]

  init(limit: Int) { self.limit = limit }

  func contains(_ key: @autoclosure () -> DocumentKey) -> Bool {
    !remaining.isEmpty && remaining[key()] != nil
  }

  mutating func insert(_ key: DocumentKey) {
    if remaining.count >= limit { remaining = [:] }
    remaining[key] = Self.changes
  }

  /// Counts one change of a document.
  ///
  /// - Returns: Whether it is to be sent as a delta.
  mutating func countDown(_ key: @autoclosure () -> DocumentKey) -> Bool {
    guard !remaining.isEmpty else { return false }
    let key = key()
    guard let left = remaining[key] else { return false }
    remaining[key] = left > 1 ? left - 1 : nil
    return true
  }
}
