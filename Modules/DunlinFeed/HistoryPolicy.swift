import CRDTCore

/// How long the versions of a collection's documents are kept.
public struct HistoryPolicy: Hashable, Sendable {
  /// The greatest age; older versions are removed.
  public var age: Duration
  /// The greatest number of bytes of all versions; above it the oldest are removed.
  public var byteLimit: Int

  /// The shortest and the longest age.
  public static let ages = Duration.seconds(1)...Duration.seconds(3_660 * 86_400)
  /// The least and the greatest number of bytes.
  public static let byteLimits = 64 << 10...1 << 40

  /// Makes a policy; ``HistoryKeeper/keep(_:of:)`` checks its values.
  public init(age: Duration = .seconds(30 * 86_400), byteLimit: Int = 1 << 30) {
    (self.age, self.byteLimit) = (age, byteLimit)
  }

  /// - Throws: `argument` if a value is out of bounds.
  func check() throws(FeedError) {
    guard Self.ages.contains(age) else {
      throw FeedError(.argument, "versions can be kept for a second to ten years, and not for \(age)")
    }
    guard Self.byteLimits.contains(byteLimit) else {
      throw FeedError(
        .argument,
        "the versions of a collection can take \(Self.byteLimits.lowerBound) to \(Self.byteLimits.upperBound) bytes, and not \(byteLimit)"
      )
    }
  }

  /// The age in milliseconds.
  var milliseconds: UInt64 {
    UInt64(age.components.seconds) * 1_000 + UInt64(age.components.attoseconds / 1_000_000_000_000_000)
  }

  /// The policy as it is stored; `isEnding` if its versions are being removed.
  func encoded(isEnding: Bool) -> [UInt8] {
    var writer = ByteWriter(capacity: 17)
    writer.write(isEnding ? 1 as UInt8 : 0)
    writer.writeFixed(milliseconds)
    writer.writeFixed(UInt64(byteLimit))
    return writer.bytes
  }

  static func decoded(_ bytes: [UInt8]) throws -> (policy: HistoryPolicy, isEnding: Bool) {
    var reader = ByteReader(bytes.span.bytes)
    let flag = try reader.readByte()
    let milliseconds: UInt64 = try reader.readFixed()
    let byteLimit: UInt64 = try reader.readFixed()
    let policy = HistoryPolicy(
      age: .milliseconds(Int64(clamping: milliseconds)), byteLimit: Int(clamping: byteLimit))
    return (policy, flag != 0)
  }

  /// The policy that a stored value contains.
  ///
  /// It is `nil` if there is none, if it is ending, or if it cannot be read.
  static func inForce(_ stored: [UInt8]?) -> HistoryPolicy? {
    guard let stored, let entry = try? decoded(stored), !entry.isEnding else { return nil }
    return entry.policy
  }
}
