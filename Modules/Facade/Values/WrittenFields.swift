import CRDTCore
import QueryEngine

/// The fields that an application writes, and what its counters have counted since they were read.
struct WrittenFields {
  /// A counter that was read from a document, with its path.
  struct ReadCounter {
    var path: [TextKey]
    /// What it has counted since.
    var own: Int64
    /// The sum, as the application sees it.
    var sum: Int64
  }

  /// The fields; in place of a counter that was read, they have what it has counted since.
  ///
  /// Where the document has no such counter, a new one starts with that amount.
  var fields: [TextKey: Value] = [:]
  var readCounters: [ReadCounter] = []
  /// The type of the value, if its documents probably lack the id that it means.
  var unnamed: UnnamedType?

  /// The fields of several documents.
  ///
  /// - Parameters:
  ///   - contents: The documents as the application passes them.
  ///   - convert: Makes the fields of one.
  /// - Returns: The fields, in the same order.
  /// - Throws: What `convert` throws, with the number of the document as `row`, counted from 0.
  static func each<Content>(
    of contents: [Content], _ convert: (Content) throws -> WrittenFields
  ) throws -> [WrittenFields] {
    try contents.enumerated().map { row, content in
      try locatingErrors(inRow: row) { try convert(content) }
    }
  }
}

/// Collects the read counters of one value while the value is converted.
struct ReadCounters {
  private(set) var found: [WrittenFields.ReadCounter] = []
  /// The path from the value to the current position.
  var path: [TextKey] = []
  /// Whether the value replaces all that is stored, counters too.
  private let isReplacing: Bool

  init(isReplacing: Bool = false) { self.isReplacing = isReplacing }

  /// The value of a document that a counter becomes.
  mutating func value(of counter: DunlinCounter) -> Value {
    guard counter.isRead, !isReplacing else { return .counter(Int64(counter.value)) }
    found.append(.init(path: path, own: Int64(counter.own), sum: Int64(counter.value)))
    return .counter(Int64(counter.own))
  }
}

extension [WrittenFields.ReadCounter] {
  /// The increments that the read counters add to an existing document.
  ///
  /// Counters that the document does not have at their path are left out: they have been written there as new
  /// counters.
  func increments(onto standing: [TextKey: Value], below prefix: [TextKey] = []) -> [Edit] {
    compactMap { counter in
      guard counter.own != 0,
        case .counter? = Value.map(standing).value(at: (prefix + counter.path).map(PathComponent.key))
      else { return nil }
      return .increment(prefix + counter.path, counter.own)
    }
  }
}
