/// A number that peers count up and down together: concurrent increments all add up.
///
/// Written with an upsert it starts a counter; read, it is the sum of all increments known here. Increments
/// happen in an update closure: `doc?["owned"].counter?.increment(by: 1)`.
public struct DunlinCounter: Hashable, Sendable {
  /// The present sum.
  public let value: Int

  /// A counter that begins at `value`.
  public init(_ value: Int = 0) { self.value = value }
}

extension DunlinCounter: CustomStringConvertible {
  public var description: String { "\(value)" }
}

extension DunlinCounter: Codable {
  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(Int.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
}
