import DocStore

/// Documents that peers write at both ends at once: of these deltas are sent that say what they build on.
///
/// A successor fits one state only, and costs a question where the peer has written in the meantime. Who asks for
/// a document live has another state of it, so its next changes go out as deltas.
struct Contention {
  /// Changes of a document that go out as deltas after a question.
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
  /// - Returns: Whether it is to go out as a delta.
  mutating func countDown(_ key: @autoclosure () -> DocumentKey) -> Bool {
    guard !remaining.isEmpty else { return false }
    let key = key()
    guard let left = remaining[key] else { return false }
    remaining[key] = left > 1 ? left - 1 : nil
    return true
  }
}
