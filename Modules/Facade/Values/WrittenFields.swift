import CRDTCore
import QueryEngine

/// What an application hands over to be written, with what its counters have counted since they were read.
struct WrittenFields {
  /// A counter that was read from a document, at its place.
  struct ReadCounter {
    var path: [TextKey]
    /// What was counted since.
    var own: Int64
    /// The sum, as the application sees it.
    var sum: Int64
  }

  /// The fields; a counter that was read stands for what it has counted since, which it starts with where none stands.
  var fields: [TextKey: Value] = [:]
  var readCounters: [ReadCounter] = []
}

/// Gathers the read counters of one value on the way through it.
struct ReadCounters {
  private(set) var found: [WrittenFields.ReadCounter] = []
  /// From the value down to where the walk is.
  var path: [TextKey] = []
  /// Whether the value takes the place of all that stands, counters too.
  private let isReplacing: Bool

  init(isReplacing: Bool = false) { self.isReplacing = isReplacing }

  /// What a counter stands for as a value of a document.
  mutating func value(of counter: DunlinCounter) -> Value {
    guard counter.isRead, !isReplacing else { return .counter(Int64(counter.value)) }
    found.append(.init(path: path, own: Int64(counter.own), sum: Int64(counter.value)))
    return .counter(Int64(counter.own))
  }
}

extension [WrittenFields.ReadCounter] {
  /// The increments that the read counters bring to a document that stands.
  ///
  /// Those with no counter at their place are left out: there they have been written as a new one's start.
  func increments(onto standing: [TextKey: Value], below prefix: [TextKey] = []) -> [Edit] {
    compactMap { counter in
      guard counter.own != 0,
        case .counter? = Value.map(standing).value(at: (prefix + counter.path).map(PathComponent.key))
      else { return nil }
      return .increment(prefix + counter.path, counter.own)
    }
  }
}
