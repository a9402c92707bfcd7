import CRDTCore

/// Documents that are written together: each as its JSON text, with the line of the file that it comes from.
struct DocumentBatch: Sendable {
  private(set) var documents = RecordList()
  /// Whether maps such as `{"$counter":1}` stand for values that JSON has no type for.
  let interpretsTags: Bool

  init(interpretsTags: Bool = true) { self.interpretsTags = interpretsTags }

  var count: Int { documents.count }

  mutating func append(_ text: RawSpan, line: Int) { documents.append(text, line: line) }
  mutating func append(_ text: [UInt8], line: Int) { documents.append(text, line: line) }

  /// Calls `body` with each document's text, and its place in the batch.
  func forEach(_ body: (_ index: Int, _ text: RawSpan) throws -> Void) rethrows {
    try documents.forEach { try body($0, $2) }
  }

  /// The batch without one of its documents.
  func removing(_ removed: Int) -> DocumentBatch {
    var rest = DocumentBatch(interpretsTags: interpretsTags)
    documents.forEach { index, line, text in if index != removed { rest.append(text, line: line) } }
    return rest
  }
}
