/// A number that peers count up and down together: concurrent increments all add up.
///
/// A counter that an application makes starts a new one. Written where the document has no counter, its value
/// counts as an increment, so counters that start independently add up. A counter that already exists in the
/// document stays as it is.
///
/// A counter that was read from a document writes back only what it has counted since. Saving a whole
/// document therefore removes no increments of others.
public struct DunlinCounter: Sendable {
  /// The current sum.
  public private(set) var value: Int
  /// What was counted here since the counter was read; for a counter that an application made, all of it.
  private(set) var own: Int
  /// Whether it was read from a document.
  let isRead: Bool

  /// Makes a counter that begins at `value`.
  public init(_ value: Int = 0) {
    self.value = value
    own = value
    isRead = false
  }

  /// Makes a counter with the sum that a document has.
  init(read value: Int64) {
    self.value = Int(value)
    own = 0
    isRead = true
  }

  /// Adds to the counter; a negative amount counts down.
  ///
  /// It saturates at the limits of 64 bits.
  public mutating func increment(by amount: Int = 1) {
    value = value.addingSaturating(amount)
    own = own.addingSaturating(amount)
  }
}

extension Int {
  /// The sum, or the limit that it exceeds.
  func addingSaturating(_ amount: Int) -> Int {
    let (sum, isCut) = addingReportingOverflow(amount)
    return isCut ? (amount < 0 ? .min : .max) : sum
  }
}

extension DunlinCounter: Hashable {
  public static func == (a: DunlinCounter, b: DunlinCounter) -> Bool { a.value == b.value }
  public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension DunlinCounter: CustomStringConvertible {
  public var description: String { "\(value)" }
}

extension DunlinCounter: Codable {
  /// Decodes an integer; a document's own decoder also knows that the counter was read.
  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(Int.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
}
