/// What is wrong with a JSON object or with one of its members, and where.
package struct JSONMistake: Sendable {
  /// What a member must be.
  package enum Kind: Sendable {
    /// A text with so many bytes of UTF-8.
    case text(bytes: ClosedRange<Int>)
    case integer(ClosedRange<Int>)
    case flag
    /// A list with so many elements.
    case list(count: ClosedRange<Int>)
    case object
  }

  /// What is wrong.
  package enum Reason: Sendable {
    /// The value that is to be read is not an object.
    case noObject
    /// A required member is missing.
    case missing(Kind)
    /// The member is of another kind.
    case kind(Kind)
    /// The member is of the kind, but outside the bounds.
    case bounds(Kind)
    /// Nobody has read the member; those with these names were read.
    case unread(known: [TextKey])
    /// A rule that only the caller knows, in words that follow the member's name.
    case words(String)
  }

  /// What the object was read from, such as a file; empty if there is only one source.
  package let source: String
  /// The object's or the member's place in it, such as `listen[2].port`; empty for the outermost object.
  package let path: String
  /// The member's name; empty for a mistake of the object itself.
  package let name: TextKey
  /// The line in the source, from 1; `nil` if lines are unknown.
  package let line: Int?
  package let reason: Reason

  /// The reason in words that follow the name of the member or the object.
  package var sentence: String {
    switch reason {
    case .noObject: "must be a JSON object"
    case .missing: "is missing"
    case .kind(.text): "must be a text"
    case .bounds(.text(let bytes)): "must have at most \(bytes.upperBound) bytes"
    case .kind(.integer(let range)), .bounds(.integer(let range)):
      "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
    case .kind(.flag), .bounds(.flag): "must be true or false"
    case .kind(.list): "must be a list"
    case .bounds(.list(let count)): "must have from \(count.lowerBound) to \(count.upperBound) elements"
    case .kind(.object), .bounds(.object): "must be an object"
    case .unread: "is no member that is known here"
    case .words(let words): words
    }
  }
}

/// The error of those who read JSON objects from one kind of source, and the rules for all its members.
package protocol JSONMemberError: Error {
  /// The bytes that a text may have, unless its reader gives another maximum.
  static var textBytes: ClosedRange<Int> { get }
  /// Whether 3.0 is a whole number.
  static var areDoublesIntegers: Bool { get }

  /// Makes the error for a mistake.
  init(_ mistake: JSONMistake)
}

extension JSONMemberError {
  package static var textBytes: ClosedRange<Int> { 0...Int.max }
  package static var areDoublesIntegers: Bool { false }
}
