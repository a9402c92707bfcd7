import CRDTCore

/// Assigns a slot of the frames to each field that a query reads, source by source.
struct FrameLayout {
  /// The number of the query's sources; the fields of a single source are plain paths.
  private let sourceCount: Int
  /// The paths of each source; an empty path is the whole document.
  private(set) var paths: [[FieldPath]]
  private var firstSlots: [Int] = []

  init(sourceCount: Int) {
    self.sourceCount = sourceCount
    paths = Array(repeating: [], count: sourceCount)
  }

  /// Records every field of an expression.
  ///
  /// - Throws: `syntax` for a field that could belong to several sources.
  mutating func note(_ expression: Expression?) throws(QueryError) {
    guard let expression else { return }
    switch expression {
    case .path, .field:
      let (source, path) = try field(expression)
      note(source, path)
    default: for child in expression.children { try note(child) }
    }
  }

  mutating func note(_ source: Int, _ path: FieldPath) {
    if !paths[source].contains(path) { paths[source].append(path) }
  }

  /// Numbers the slots in the order in which the sources are read.
  mutating func settle(_ order: [Int]) {
    firstSlots = Array(repeating: 0, count: sourceCount)
    var next = 0
    for source in order {
      firstSlots[source] = next
      next += paths[source].count
    }
  }

  var slotCount: Int { paths.reduce(0) { $0 + $1.count } }

  func firstSlot(of source: Int) -> Int { firstSlots[source] }

  func slot(_ source: Int, _ path: FieldPath) -> Int {
    firstSlots[source] + (paths[source].firstIndex(of: path) ?? 0)
  }

  /// The expression with its fields replaced by slots, and its parameters bound.
  func bound(_ expression: Expression, _ arguments: [TextKey: Value]) throws(QueryError) -> Expression {
    try slotted(expression).binding(arguments)
  }

  func bound(_ expression: Expression?, _ arguments: [TextKey: Value]) throws(QueryError) -> Expression? {
    guard let expression else { return nil }
    return try bound(expression, arguments) as Expression
  }

  /// The expression with its fields replaced by slots.
  func slotted(_ expression: Expression) throws(QueryError) -> Expression {
    try expression.rewritten { (node) throws(QueryError) -> Expression in
      switch node {
      case .path, .field:
        let (source, path) = try field(node)
        return .path([.index(slot(source, path))])
      default: return node
      }
    }
  }

  private func field(_ expression: Expression) throws(QueryError) -> (source: Int, path: FieldPath) {
    switch expression {
    case .field(let source, let path) where source < sourceCount: return (source, path)
    case .path(let path) where sourceCount == 1: return (0, path)
    case .path(let path):
      throw QueryError(.syntax, "Ambiguous reference to field: \(Printer.text(of: path))")
    default: throw QueryError(.syntax, "a query reads a field of no source of its own")
    }
  }
}

extension Expression {
  /// The sources whose fields are read; plain paths belong to the only source.
  var sources: Set<Int> {
    switch self {
    case .path: [0]
    case .field(let source, _): [source]
    default: children.reduce(into: []) { $0.formUnion($1.sources) }
    }
  }

  /// The terms that must all be true.
  var conjuncts: [Expression] {
    if case .and(let terms) = self { terms.flatMap(\.conjuncts) } else { [self] }
  }

  /// AND of terms; `nil` if there are none.
  static func all(_ terms: [Expression]) -> Expression? {
    terms.count > 1 ? .and(terms) : terms.first
  }

  /// The expression as one on the documents of one source alone.
  func onlySource(_ source: Int) -> Expression {
    rewritten { (node) throws(Never) -> Expression in
      guard case .field(source, let path) = node else { return node }
      return .path(path)
    }
  }

  /// The expression with the names of sources in front of their fields, for display.
  ///
  /// The whole document of a single source is that name alone.
  func naming(_ names: [String]) -> Expression {
    rewritten { (node) throws(Never) -> Expression in
      switch node {
      case .path(let path) where path.isEmpty && names.count == 1: return .path([.key(TextKey(names[0]))])
      case .field(let source, let path) where names.indices.contains(source):
        return .path([.key(TextKey(names[source]))] + path)
      default: return node
      }
    }
  }
}

extension Select.Projection {
  /// The projection with the names of sources in front of their fields, for display.
  func naming(_ names: [String]) -> Select.Projection { mapColumns { $0.naming(names) } }
}
