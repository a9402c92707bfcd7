package import CRDTCore
package import QueryLanguage

/// A text of access rules or of a grant that cannot be used.
package struct RulesError: CodedError, Hashable {
  package enum Code: String, Sendable, CaseIterable {
    /// The text is not JSON.
    case json
    /// A member is missing, unknown, of the wrong type, or contradicts another one.
    case malformed
    /// The name is not a collection's, or is the system's.
    case collectionName
    /// A query cannot be understood, or uses what rules cannot have.
    case query
    /// The text, or a part of it, is too long.
    case limit
    /// The text is not in its canonical form, so that its hash says nothing.
    case notCanonical
    /// The rules are right, and this release cannot enforce them.
    case unenforced
  }

  package let code: Code
  /// One sentence without a full stop; it begins with the place, where one is known.
  package let message: String
  /// The place in the text, such as `read.queriesByCollection.orders[1]`; empty for the whole of it.
  package let path: String
  /// The line, from 1; `nil` where the text has no lines, or none is known.
  package let line: Int?
  /// The collection of the rules that are wrong.
  package let collection: String?
  /// What is wrong with the query, and where in its text.
  package let query: QueryError?

  package init(
    _ code: Code, _ words: String, at path: String = "", line: Int? = nil, collection: String? = nil,
    query: QueryError? = nil
  ) {
    self.code = code
    message = path.isEmpty ? words : "\(path): \(words)"
    self.path = path
    self.line = line
    self.collection = collection
    self.query = query
  }

  /// The error for a text that is not JSON.
  package init(_ error: JSONError, in text: [UInt8]) {
    let line = 1 + text.prefix(error.offset).count { $0 == UInt8(ascii: "\n") }
    self.init(.json, error.message, line: line)
  }

  /// The error for a query, with the position in its text.
  init(_ error: QueryError, at path: String, line: Int?, collection: String) {
    let place = error.position.map { " (at line \($0.line), column \($0.column) of the query)" } ?? ""
    let code: Code = error.code == .limit ? .limit : .query
    self.init(
      code, error.message + place, at: path, line: line, collection: collection, query: error)
  }
}

extension RulesError {
  /// The line of the query that is wrong, with a caret below the place; `nil` for other mistakes.
  package var excerpt: String? { query?.excerpt }

  // text: the names are literals of this package.
  package var context: [String: String] {
    // text: the names are literals of this package.
    var context: [String: String] = [:]
    if !path.isEmpty { context["path"] = path }
    if let line { context["line"] = "\(line)" }
    context["collection"] = collection
    context["excerpt"] = excerpt
    return context
  }
}

extension RulesError: JSONMemberError {
  package init(_ mistake: JSONMistake) {
    let words =
      switch mistake.reason {
      case .unread(let known):
        "there is no such member; there are \(known.map(\.text).sorted().joined(separator: ", "))"
      case .noObject, .missing, .kind, .bounds, .words: mistake.sentence
      }
    let whole = mistake.path.isEmpty ? "\(mistake.source) \(words)" : words
    let code: Code =
      if case .bounds(.text) = mistake.reason { .limit } else { .malformed }
    self.init(code, whole, at: mistake.path, line: mistake.line)
  }
}

extension RulesError: CustomStringConvertible {
  package var description: String {
    let place = line.map { "line \($0): " } ?? ""
    return place + message + (excerpt.map { "\n" + $0 } ?? "")
  }
}
