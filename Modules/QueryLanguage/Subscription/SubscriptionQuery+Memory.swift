import CRDTCore

extension SubscriptionQuery {
  /// About the bytes of memory of the query, and of its matcher where it is served.
  ///
  /// It is an estimate for accounts of memory, correct within a factor of two. It does not include the tables
  /// of regular expressions, which an ``AutomatonPool`` counts together.
  ///
  /// - Complexity: O(*n*) in the bytes of the query, and in the states of its regular expressions.
  package var memoryBytes: Int {
    // Arguments are also part of the compiled predicate, and share their memory with it.
    let names = arguments.keys.reduce(arguments.isEmpty ? 0 : 96) { $0 + 64 + $1.text.heapBytes }
    return 160 + text.heapBytes + collection.heapBytes + names + compiled.memoryBytes
  }
}

extension CompiledPredicate {
  /// About the bytes of memory of the predicate, and of its matcher where it is served.
  ///
  /// See ``SubscriptionQuery/memoryBytes``.
  ///
  /// - Complexity: O(*n*) in the bytes of the predicate, and in the states of its regular expressions.
  package var memoryBytes: Int {
    let tree = expression?.treeBytes ?? 0
    return 64 + bytes.count + tree + (expression?.matcherBytes ?? 0) + 448
  }

  /// About the bytes of memory of the predicate in a ``PredicateUnion``, and of its canonical form.
  ///
  /// - Complexity: O(*n*) in the bytes of the predicate, and in the states of its regular expressions.
  package var servedBytes: Int { 64 + bytes.count + (expression?.matcherBytes ?? 0) + 448 }

  /// The most steps of an evaluation on one document, without passes over texts and arrays.
  ///
  /// There is one step for each node, and one for each state of a regular expression, which each byte of a
  /// text may visit.
  ///
  /// - Complexity: O(*n*) in the bytes of the predicate, and in the states of its regular expressions.
  package var evaluationSteps: Int { expression?.evaluationSteps ?? 0 }
}

extension Expression {
  /// The bytes of a box of the tree, or of an array of boxes.
  private static let boxBytes = 64

  /// The bytes of memory of the tree.
  fileprivate var treeBytes: Int {
    var bytes = Self.boxBytes
    switch self {
    case .literal(let value): bytes += value.heapBytes
    case .path(let path), .field(_, let path), .variable(_, let path):
      bytes += path.reduce(32) { $0 + MemoryLayout<PathComponent>.stride + $1.heapBytes }
    case .and(let terms), .or(let terms), .call(_, let terms), .array(let terms):
      bytes += 32 + terms.count * 8
    case .object(let members): bytes += 32 + members.count * 16
    case .case(let clauses, _): bytes += 32 + clauses.count * 16
    default: break
    }
    return children.reduce(bytes) { $0 + $1.treeBytes }
  }

  /// The bytes of memory of the tree's ``RecordMatcher``.
  fileprivate var matcherBytes: Int {
    switch self {
    case .and(let terms), .or(let terms):
      return terms.reduce(MemoryLayout<MatcherNode>.stride * 2) { $0 + $1.matcherBytes }
    case .literal(let value): return value.constantBytes
    case .path(let path):
      return MemoryLayout<MatcherNode>.stride + 32 + path.count * 24
    default:
      let node = MemoryLayout<MatcherNode>.stride + (regularProgram?.memoryBytes ?? 0)
      return children.reduce(node) { $0 + $1.matcherBytes }
    }
  }

  fileprivate var evaluationSteps: Int {
    children.reduce(1 + (regularProgram?.steps.count ?? 0)) { $0 + $1.evaluationSteps }
  }

  /// The program of a test with a constant regular expression.
  private var regularProgram: RegularProgram? {
    switch self {
    case .call(.regexpLike, _), .similar: break
    default: return nil
    }
    // An invalid expression has no program, and fails where it is evaluated.
    guard let key = PatternTable.Key(self) else { return nil }
    return try? PatternTable(self).program(key)
  }
}

extension PathComponent {
  fileprivate var heapBytes: Int {
    switch self {
    case .key(let name): name.text.heapBytes
    case .index: 0
    }
  }
}

extension String {
  /// The bytes of memory outside of the string itself: zero for a short one.
  fileprivate var heapBytes: Int { utf8.count > 15 ? 32 + utf8.count : 0 }
}

extension Value {
  /// The bytes of memory outside of the value itself.
  fileprivate var heapBytes: Int {
    switch self {
    case .null, .bool, .int, .double, .counter: 0
    case .string(let text): text.heapBytes
    case .bytes(let bytes): 32 + bytes.count
    case .decimal: 64
    case .attachment(let token): 48 + token.id.count
    case .array(let elements):
      elements.reduce(32 + elements.count * MemoryLayout<Value>.stride) { $0 + $1.heapBytes }
    case .map(let members):
      members.reduce(64) { $0 + 48 + $1.key.text.heapBytes + $1.value.heapBytes }
    }
  }

  /// The bytes of the value in a matcher's tables.
  fileprivate var constantBytes: Int {
    switch self {
    case .null, .bool, .int, .double, .counter: 0
    case .string(let text): 16 + text.utf8.count
    case .bytes(let bytes): 32 + bytes.count
    case .array(let elements):
      // Each element is in the list and in a table for lookups.
      elements.reduce(32) { $0 + 32 + $1.constantBytes }
    case .map, .attachment, .decimal: heapBytes
    }
  }
}
