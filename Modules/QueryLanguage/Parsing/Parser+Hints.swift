package import CRDTCore

extension Parser {
  /// Takes the hints of the comments before the current token that no source has taken yet.
  ///
  /// A comment is not part of the statement, so an invalid one is ignored; USE has priority over it.
  mutating func takeHintComments(into hints: inout Hints) {
    while let comment = hintComments.first, comment.start < current.start {
      hintComments.removeFirst()
      guard var advice = try? Hints(directives: comment.text) else { continue }
      advice.take(hints)
      hints = advice
    }
  }
}

extension Hints {
  /// Reads directives: a JSON object whose keys begin with `#`; unknown keys are ignored.
  ///
  /// - Throws: `argument` for a text that is not an object, and for a value that does not fit its key.
  package init(directives text: String) throws(QueryError) {
    guard let parsed = try? JSON.parse(text), case .map(let directives) = parsed else {
      throw QueryError(.argument, "directives are a JSON object")
    }
    try self.init(directives: directives)
  }

  /// Reads directives by their keys.
  package init(directives: [TextKey: Value]) throws(QueryError) {
    self.init()
    if let value = directives["#index"] { indexes = try Self.indexes(value) }
    if let value = directives["#prefer_order"] {
      guard case .bool(let flag) = value else {
        throw QueryError(.argument, "the directive '#prefer_order' is true or false")
      }
      prefersOrder = flag
    }
    maximumScans = try Self.count(directives, "#max_scans")
    maximumJoins = try Self.count(directives, "#max_joins")
  }

  /// Overrides these hints with those that other hints contain.
  package mutating func take(_ other: Hints) {
    indexes = other.indexes ?? indexes
    prefersOrder = other.prefersOrder ?? prefersOrder
    maximumScans = other.maximumScans ?? maximumScans
    maximumJoins = other.maximumJoins ?? maximumJoins
  }

  /// One name or several; the empty name means no index.
  private static func indexes(_ value: Value) throws(QueryError) -> [TextKey] {
    switch value {
    case .string(let name): return name.isEmpty ? [] : [TextKey(name)]
    case .array(let elements):
      let names = elements.compactMap { if case .string(let name) = $0 { TextKey(name) } else { nil } }
      if names.count == elements.count { return names.filter { !$0.text.isEmpty } }
    default: break
    }
    throw QueryError(.argument, "the directive '#index' is a name, or an array of names")
  }

  private static func count(_ directives: [TextKey: Value], _ key: String) throws(QueryError) -> Int? {
    guard let value = directives[key] else { return nil }
    guard case .int(let number) = value, number >= 0, let count = Int(exactly: number) else {
      throw QueryError(.argument, "the directive '\(key)' is a whole number that is not negative")
    }
    return count
  }
}
