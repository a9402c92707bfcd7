/// A number that peers count up and down together: concurrent increments all add up.
///
/// One that an application makes starts a counter: written to a document that has none there, its value counts as an
/// increment, so counters that start apart add up; a counter that stands stays as it is. One that was read from a
/// document writes back only what it has counted since: a whole document that is saved takes away nobody's increments.
public struct DunlinCounter: Sendable {
  /// The present sum.
  public private(set) var value: Int
  /// What was counted here since it was read; of a counter that an application made, all of it.
  private(set) var own: Int
  /// Whether it was read from a document.
  let isRead: Bool

  /// A counter that begins at `value`.
  public init(_ value: Int = 0) {
    self.value = value
    own = value
    isRead = false
  }

  /// A counter as it stands in a document.
  init(read value: Int64) {
    self.value = Int(value)
    own = 0
    isRead = true
  }

  /// Adds to the counter; a negative amount counts down.
  ///
  /// It stops at the edges of 64 bits.
  public mutating func increment(by amount: Int = 1) {
    value = value.addingSaturating(amount)
    own = own.addingSaturating(amount)
  }
}

extension Int {
  /// The sum, or the edge that it lies beyond.
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
