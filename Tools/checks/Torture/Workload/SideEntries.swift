import DocStore

/// What a lane keeps beside its documents: each transaction writes or removes one of four values of its lane.
///
/// So how many of its transactions are in a store says what must stand there.
enum SideEntries {
  private static let table = SideTable("torture")
  private static let keys = 4

  private static func key(_ lane: Int, _ count: Int) -> [UInt8] {
    [UInt8(truncatingIfNeeded: lane), UInt8(count % keys)]
  }

  /// What a transaction leaves under its key; `nil` for nothing.
  ///
  /// Some are longer than a page.
  private static func value(_ lane: Int, _ count: Int) -> [UInt8]? {
    guard count % 3 != 0 else { return nil }
    let byte = UInt8(truncatingIfNeeded: lane &* 31 &+ count)
    return [UInt8](repeating: byte, count: 8 + count &* 37 % 6_000)
  }

  /// Does a transaction's part.
  static func write(_ lane: Int, _ count: Int, in transaction: WriteTransaction) throws {
    try transaction.setSideValue(value(lane, count), table, key: key(lane, count))
  }

  /// Looks whether a store has what the lanes' transactions have left.
  ///
  /// - Throws: The first value that is not there, is another one, or should not be there.
  static func check(_ counts: [Int], _ transaction: borrowing ReadTransaction) throws {
    var expected: [[UInt8]: [UInt8]] = [:]
    for (lane, last) in counts.enumerated() {
      for count in max(1, last - keys + 1)..<max(1, last + 1) {
        expected[key(lane, count)] = value(lane, count)
      }
    }
    try transaction.forEachSideEntry(table) { key, value in
      guard expected.removeValue(forKey: key) == value else {
        throw Failure(.torn, "the side value \(key) is not what its lane left")
      }
      return true
    }
    guard expected.isEmpty else { throw Failure(.torn, "\(expected.count) side values are not there") }
  }
}
