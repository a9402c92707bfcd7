import CRDTCore
import QueryEngine

@testable import SyncProtocol

/// Subscriptions that are legal and as wide as their nodes may be: each takes milliseconds to take apart.
enum WideInterest {
  /// One of them, encoded; all that have other numbers ask for something else.
  static func query(_ number: Int) throws -> [UInt8] {
    let terms = (0..<220).map { "n = \(-1 - $0 - number * 220)" }.joined(separator: " OR ")
    var out = ByteWriter()
    try SubscriptionQuery(dql: "SELECT * FROM things WHERE \(terms)").encode(to: &out)
    return out.bytes
  }

  /// The frames that carry so many.
  static func frames(queries count: Int) throws -> [[UInt8]] {
    InterestFrame.frames(generation: 1, try (0..<count).map(query), isContinued: false)
  }
}
