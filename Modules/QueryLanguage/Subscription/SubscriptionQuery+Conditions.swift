package import CRDTCore

extension SubscriptionQuery {
  /// The query as one statement, for lists and logs: `SELECT * FROM cars WHERE …`.
  ///
  /// After WHERE, a predicate of the builder language is shown as it was written.
  public var statement: String {
    switch language {
    case .dql: text
    case .builder:
      "SELECT * FROM " + Printer.name(collection) + (predicate == nil ? "" : " WHERE " + text)
    }
  }

  /// The conditions that are not true of a document, each in DQL with its arguments; empty where it matches.
  ///
  /// - Complexity: O(*n*) in the conditions' nodes.
  package func unmetConditions(
    of id: DocumentID, _ record: borrowing RecordView, _ keys: KeyTable
  ) -> [String] {
    compiled.unmetConditions(of: id, record, keys)
  }

  /// The conditions that no document with an id satisfies, whatever its other fields are.
  package func unmetConditions(of id: DocumentID) -> [String] {
    compiled.conditions.filter { condition in
      guard condition.paths.allSatisfy({ $0 == [.key("_id")] }) else { return false }
      return (try? Evaluator.matches(condition) { _ in id.value }) == false
    }.map(\.plainText)
  }
}

extension CompiledPredicate {
  /// The conditions that a document must all satisfy; empty where every document matches.
  fileprivate var conditions: [Expression] {
    switch expression {
    case .and(let terms): terms
    case .some(let predicate): [predicate]
    case nil: []
    }
  }

  /// The conditions that are not true of a document, each in DQL with its arguments; empty where it matches.
  ///
  /// - Complexity: O(*n*) in the conditions' nodes.
  package func unmetConditions(
    of id: DocumentID, _ record: borrowing RecordView, _ keys: KeyTable
  ) -> [String] {
    var unmet: [String] = []
    for condition in conditions {
      var matcher = RecordMatcher(bound: condition)
      matcher.resolve(keys)
      if !matcher.matches(id.bytes.span.bytes, record) { unmet.append(condition.plainText) }
    }
    return unmet
  }
}

extension Expression {
  /// The expression without the parentheses around the whole of it.
  fileprivate var plainText: String {
    let text = description
    switch self {
    case .unary, .binary, .and, .or, .between, .collate, .in, .inQuery, .like, .similar, .isNull, .isMissing:
      return String(text.dropFirst().dropLast())
    default: return text
    }
  }
}
