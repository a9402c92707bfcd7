public import CRDTCore

/// A predicate that reads records in place.
///
/// Comparisons of a field with a constant, lists of constants, tests for null and missing, and prefixes have
/// nodes of their own, which allocate nothing. All other expressions are programs, which work in place as far
/// as they can.
public struct RecordMatcher: Sendable {
  var nodes: [MatcherNode] = []
  var fields: [ResolvedField] = []
  /// The bytes of all constant strings, one after the other; the strings of each list are sorted.
  var text: [UInt8] = []
  var ints: [Int64] = []
  var ranges: [ConstantRange] = []
  var patterns: [LikePattern] = []
  var programs: [RegularProgram] = []
  var generals: [ScalarProgram] = []
  let context: (any EvaluationContext)?
  /// The evaluator's results for the last comparison, while the predicate is compiled.
  var lastAnswers: ComparisonAnswers?
  private var keys = KeyTable()
  private var isResolved = false

  /// Compiles a predicate.
  ///
  /// - Parameters:
  ///   - predicate: The condition on documents; `nil` accepts every document.
  ///   - arguments: The values of the predicate's parameters.
  /// - Throws: `argument` when a parameter has no value, `limit` when one is nested too deeply.
  public init(_ predicate: Expression?, arguments: [TextKey: Value] = [:]) throws(QueryError) {
    try self.init(predicate, arguments: arguments, evaluation: nil)
  }

  /// Compiles a predicate of a statement.
  ///
  /// - Parameters:
  ///   - predicate: The condition on documents; `nil` accepts every document.
  ///   - arguments: The values of the predicate's parameters.
  ///   - evaluation: What evaluations take from the statement; `nil` outside of statements.
  /// - Throws: `argument` when a parameter has no value, `limit` when one is nested too deeply.
  package init(
    _ predicate: Expression?, arguments: [TextKey: Value], evaluation: (any EvaluationContext)?
  ) throws(QueryError) {
    context = evaluation
    guard let predicate else { return }
    let bound = try predicate.binding(arguments)
    // Tests in place do not distinguish types.
    if evaluation?.strictTypes == true { compileWhole(bound) } else { compile(bound) }
    lastAnswers = nil
  }

  /// Compiles a predicate that has no parameters, and whose constant parts are values.
  init(bound predicate: Expression?) {
    context = nil
    if let predicate { compile(predicate) }
    lastAnswers = nil
  }

  /// Looks up the predicate's keys, once for each version of a collection's key table.
  public mutating func resolve(_ keys: KeyTable) {
    guard !isResolved || keys.count != self.keys.count else { return }
    isResolved = true
    self.keys = keys
    for index in fields.indices { fields[index].resolve(keys) }
    for index in nodes.indices where nodes[index].operation.readsField {
      guard let id = fields[Int(nodes[index].operand)].path.soleKeyID else { continue }
      nodes[index].isSoleKey = true
      nodes[index].soleKeyID = id
    }
    for index in generals.indices { generals[index].resolve(keys) }
  }

  /// Whether a document satisfies the predicate; false also when the predicate fails on it.
  ///
  /// - Parameters:
  ///   - id: The document's canonical id bytes.
  ///   - record: The document. The caller must check that it is not a tombstone.
  /// - Returns: True when the predicate is true; false when it is null or missing.
  /// - Complexity: O(*n*) in the predicate's nodes; no allocation for predicates that stay in place.
  public func matches(_ id: RawSpan, _ record: borrowing RecordView) -> Bool { matches(id, record, nil) }

  /// The same for one of several predicates, which share the record's texts in lower case.
  func matches(_ id: RawSpan, _ record: borrowing RecordView, _ folded: FoldedTexts?) -> Bool {
    do { return try accepts(id, record, folded) } catch { return false }
  }

  /// Like `matches`, for callers that report a predicate that fails.
  package func accepts(
    _ id: RawSpan, _ record: borrowing RecordView, _ folded: FoldedTexts? = nil
  ) throws(QueryError) -> Bool {
    guard !nodes.isEmpty else { return true }
    do {
      return try truth(0, id, record, folded) == .yes
    } catch {
      throw error.about(id)
    }
  }

  private func truth(
    _ index: Int, _ id: RawSpan, _ record: borrowing RecordView, _ folded: FoldedTexts?
  ) throws(QueryError) -> Truth {
    let node = nodes.span[index]
    switch node.operation {
    case .and:
      return try conjunction(node, index, id, record, folded)
    case .or:
      return try disjunction(node, index, id, record, folded)
    case .not:
      return try truth(index + 1, id, record, folded).negated
    case .isNotTrue:
      return Truth(try truth(index + 1, id, record, folded) != .yes)
    case .constant:
      return node.success
    case .general:
      return try generals[Int(node.operand)].truth(id, record)
    case .kind, .bool, .compareInt, .compareDouble, .compareString, .compareBytes, .startsWith, .endsWith,
      .containsString, .like, .regular, .inInts, .inStrings:
      // The id of a key is enough for most paths and records, and its use counts no references.
      if node.isSoleKey, !record.carriesRootKeys {
        guard let value = record.value(ofRootKey: node.soleKeyID) else { return node.kinds.missing }
        return try test(node, value, record.bytes, folded)
      }
      guard let value = record.value(at: fields[Int(node.operand)].path) else { return node.kinds.missing }
      return try test(node, value, record.bytes, folded)
    }
  }

  private func conjunction(
    _ node: MatcherNode, _ index: Int, _ id: RawSpan, _ record: borrowing RecordView, _ folded: FoldedTexts?
  ) throws(QueryError) -> Truth {
    var result = Truth.yes
    var child = index + 1
    while child < node.end {
      result = result.and(try truth(child, id, record, folded))
      if result == .no { return .no }
      child = Int(nodes.span[child].end)
    }
    return result
  }

  private func disjunction(
    _ node: MatcherNode, _ index: Int, _ id: RawSpan, _ record: borrowing RecordView, _ folded: FoldedTexts?
  ) throws(QueryError) -> Truth {
    var result = Truth.no
    var child = index + 1
    while child < node.end {
      result = result.or(try truth(child, id, record, folded))
      if result == .yes { return .yes }
      child = Int(nodes.span[child].end)
    }
    return result
  }
}
