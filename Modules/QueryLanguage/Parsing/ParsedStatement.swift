package import CRDTCore

/// A statement, and the positions of its parts in its text.
package struct ParsedStatement: Sendable {
  package let statement: Statement
  package let sourceMap: SourceMap
}

/// The positions of a statement's parts in its text, for errors that are found after parsing.
///
/// Trees have no positions, so that they can be compared. A part is found by its content; of equal parts the
/// first is shown.
package struct SourceMap: Sendable {
  /// The part of a statement that an error concerns.
  package enum Part: Hashable, Sendable {
    case parameter(TextKey)
    case collection(TextKey)
    /// A field, by its path as it was written.
    case path(FieldPath)
    /// An aggregate, as it was written.
    case aggregate(Expression)
    /// An operator or a call with its operands, as it was written.
    case operation(Expression)
  }

  private let text: [UInt8]
  private var offsets: [(part: Part, offset: Int)] = []

  init(_ text: [UInt8]) { self.text = text }

  /// Records the offset of a part, in bytes of the text.
  mutating func note(_ part: Part, at offset: Int) { offsets.append((part, offset)) }

  /// The paths of the text, in order.
  var paths: some Sequence<FieldPath> {
    offsets.lazy.compactMap { if case .path(let path) = $0.part { path } else { nil } }
  }

  /// The offsets of the parameters.
  var parameters: Set<Int> {
    Set(offsets.lazy.filter { if case .parameter = $0.part { true } else { false } }.map(\.offset))
  }

  /// An error about a part, at its position.
  func error(
    _ code: QueryError.Code, _ message: String, about part: Part, found: String? = nil
  ) -> QueryError {
    guard let place = offsets.first(where: { $0.part == part }) else {
      return QueryError(code, message, found: found)
    }
    return QueryError(code, message, at: place.offset, of: text, found: found)
  }

  /// An error at a token.
  func error(_ code: QueryError.Code, _ message: String, at token: Token) -> QueryError {
    QueryError(code, message, at: token.start, of: text, found: token.shown)
  }

  /// The error with its position in the text.
  ///
  /// It gets one if it names a part of the statement and has no position yet. `found` names the part: a
  /// parameter or a collection by its name, a path or an aggregate by its text.
  package func locating(_ error: QueryError) -> QueryError {
    guard error.position == nil else { return error }
    if let place = place(of: error.origin) { return error.located(at: place, of: text) }
    guard let found = error.found else { return error }
    let place = offsets.first { entry in
      switch entry.part {
      case .parameter(let name): error.code == .argument && name.text.isSame(as: found)
      case .collection(let name): error.code != .argument && name.text.isSame(as: found)
      case .path, .aggregate, .operation: false
      }
    }
    guard let place = place ?? offsets.first(where: { $0.part.text?.isSame(as: found) == true }) else {
      return error
    }
    return error.located(at: place.offset, of: text)
  }
}

extension SourceMap {
  /// The position of the first operation that binding can have turned into this one.
  private func place(of origin: Expression?) -> Int? {
    guard let origin else { return nil }
    return offsets.first {
      if case .operation(let written) = $0.part { written.mayBecome(origin) } else { false }
    }?
    .offset
  }
}

extension SourceMap.Part {
  /// The text of a field or an aggregate.
  fileprivate var text: String? {
    switch self {
    case .parameter, .collection, .operation: nil
    case .path(let path): Printer.text(of: path)
    case .aggregate(let aggregate): Printer().text(of: aggregate)
    }
  }
}
