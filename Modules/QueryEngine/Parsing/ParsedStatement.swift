/// A statement, and where its parts stand in the text it was parsed from.
package struct ParsedStatement: Sendable {
  package let statement: Statement
  package let sourceMap: SourceMap
}

/// Where parts of a statement stand in its text, for mistakes that are found after parsing.
///
/// Trees have no positions, so that they can be compared: a part is found by what it is, and of equal ones the
/// first is shown.
package struct SourceMap: Sendable {
  /// What an error can be about.
  package enum Part: Hashable, Sendable {
    case parameter(String)
    case collection(String)
  }

  private let text: [UInt8]
  private var offsets: [(part: Part, offset: Int)] = []

  init(_ text: [UInt8]) { self.text = text }

  /// Notes that a part stands at an offset, in bytes of the text.
  mutating func note(_ part: Part, at offset: Int) { offsets.append((part, offset)) }

  /// The error with its place in the text, where it names a part of the statement and has no place yet.
  package func locating(_ error: QueryError) -> QueryError {
    guard error.position == nil, let found = error.found else { return error }
    let part: Part = error.code == .argument ? .parameter(found) : .collection(found)
    guard let place = offsets.first(where: { $0.part == part }) else { return error }
    return QueryError(
      error.code, error.message, at: place.offset, of: text, found: found, expected: error.expected)
  }
}
