/// A compiled regular expression: a nondeterministic automaton of bounded size.
///
/// Source: Thompson, "Regular Expression Search Algorithm", CACM 1968.
struct RegularProgram: Sendable {
  /// The most states; larger expressions are refused.
  static let maximumStates = 1_000
  /// The longest pattern, in bytes.
  static let maximumBytes = 1 << 12

  enum Step: Sendable {
    /// Accepts a scalar that passes the test, and goes on with the next step.
    case scalar(Int32)
    case place(RegularSyntax.Place)
    case jump(Int32)
    case split(Int32, Int32)
    case match
  }

  private(set) var steps: [Step] = []
  /// Each test once, however many steps use it.
  private(set) var tests: [ScalarTest] = []
  /// The positions of the tests, while steps are added.
  private var known: [ScalarTest: Int32] = [:]
  /// Whether a match can only begin at the beginning of the text.
  let isAnchored: Bool
  /// The automaton, made when all steps are known.
  private(set) var automaton: RegularAutomaton?

  /// Compiles the pattern of `regexp_like`, which may match anywhere in a text.
  ///
  /// - Throws: `argument` for an invalid pattern, `limit` for one that is too large.
  init(_ pattern: String, flags: RegularFlags = RegularFlags()) throws(QueryError) {
    try Self.check(pattern)
    try self.init(try RegularParser.parse(pattern, flags))
  }

  /// Compiles the pattern of SIMILAR TO, which must match a whole text.
  init(similar pattern: String, escape: Unicode.Scalar) throws(QueryError) {
    try Self.check(pattern)
    try self.init(try SimilarParser.parse(pattern, escape: escape))
  }

  private init(_ syntax: RegularSyntax) throws(QueryError) {
    isAnchored = syntax.isAnchored
    try emit(syntax)
    try append(.match)
    known = [:]
    automaton = RegularAutomaton(self)
  }

  private static func check(_ pattern: String) throws(QueryError) {
    guard pattern.utf8.count <= maximumBytes else {
      throw QueryError(.limit, "a regular expression is longer than \(maximumBytes) bytes")
    }
  }

  private mutating func append(_ step: Step) throws(QueryError) {
    guard steps.count < Self.maximumStates else {
      throw QueryError(.limit, "a regular expression has more than \(Self.maximumStates) states")
    }
    steps.append(step)
  }

  private mutating func number(of test: ScalarTest) -> Int32 {
    if let number = known[test] { return number }
    let number = Int32(tests.count)
    tests.append(test)
    known[test] = number
    return number
  }

  /// About the bytes of memory that the program uses, without its automaton.
  var memoryBytes: Int {
    steps.count * MemoryLayout<Step>.stride
      + tests.reduce(256) { $0 + MemoryLayout<ScalarTest>.stride + $1.rangeBytes }
  }

  private mutating func emit(_ syntax: RegularSyntax) throws(QueryError) {
    switch syntax {
    case .empty: break
    case .scalar(let set, let ignoresCase, let isNegated):
      try append(.scalar(number(of: ScalarTest(set, ignoresCase: ignoresCase, isNegated: isNegated))))
    case .place(let place): try append(.place(place))
    case .sequence(let parts): for part in parts { try emit(part) }
    case .choice(let branches): try emitChoice(branches)
    case .repeated(let inner, let least, let most): try emitRepetition(of: inner, least, most)
    }
  }

  private mutating func emitChoice(_ branches: [RegularSyntax]) throws(QueryError) {
    var jumps: [Int] = []
    for (index, branch) in branches.enumerated() {
      guard index + 1 < branches.count else {
        try emit(branch)
        break
      }
      let split = steps.count
      try append(.split(Int32(split + 1), 0))
      try emit(branch)
      jumps.append(steps.count)
      try append(.jump(0))
      steps[split] = .split(Int32(split + 1), Int32(steps.count))
    }
    for jump in jumps { steps[jump] = .jump(Int32(steps.count)) }
  }

  private mutating func emitRepetition(
    of inner: RegularSyntax, _ least: Int, _ most: Int?
  ) throws(QueryError) {
    // An expression without states is not repeated: it would use no states and only time.
    let before = steps.count
    for index in 0..<least {
      try emit(inner)
      if index == 0, steps.count == before { return }
    }
    guard let most else {
      let split = steps.count
      try append(.split(Int32(split + 1), 0))
      try emit(inner)
      try append(.jump(Int32(split)))
      steps[split] = .split(Int32(split + 1), Int32(steps.count))
      return
    }
    var splits: [Int] = []
    for _ in least..<most {
      splits.append(steps.count)
      try append(.split(Int32(steps.count + 1), 0))
      try emit(inner)
    }
    for split in splits { steps[split] = .split(Int32(split + 1), Int32(steps.count)) }
  }
}

extension RegularSyntax {
  /// Whether nothing can precede a match.
  fileprivate var isAnchored: Bool {
    switch self {
    case .place(.textStart): true
    case .sequence(let parts): parts.first?.isAnchored ?? false
    case .choice(let branches): branches.allSatisfy(\.isAnchored)
    case .repeated(let inner, let least, _): least > 0 && inner.isAnchored
    case .empty, .scalar, .place: false
    }
  }
}
