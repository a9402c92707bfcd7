import CRDTCore

/// The steps that one evaluation may use to match patterns; it polls the statement regularly.
struct MatchingBudget {
  /// The most steps: a short time on any machine.
  ///
  /// A text of 250 kB against a pattern of 1,000 states needs fewer steps.
  static let steps = 1 << 28
  private static let stepsBetweenPolls = 1 << 16

  private let context: (any EvaluationContext)?
  private var remaining = steps
  private var sinceLast = 0

  init(_ context: (any EvaluationContext)? = nil) { self.context = context }

  /// - Throws: `limit` when the steps are used up; what the statement's context throws.
  mutating func spend(_ steps: Int) throws(QueryError) {
    guard steps <= remaining else {
      throw QueryError(.limit, "matching a pattern takes more than \(Self.steps) steps")
    }
    remaining -= steps
    sinceLast += steps
    guard sinceLast >= Self.stepsBetweenPolls, let context else { return }
    try context.poll(steps: sinceLast)
    sinceLast = 0
  }
}

extension RegularProgram {
  /// Whether some part of a text, given as UTF-8, matches.
  ///
  /// - Throws: `limit` when it takes more steps than the budget has.
  /// - Complexity: O(*n*) for *n* bytes of text, once the automaton has the states that such texts need;
  ///   otherwise as ``followsAllStates(_:_:)``.
  func matches(_ text: RawSpan, _ budget: inout MatchingBudget) throws(QueryError) -> Bool {
    if let isMatch = try automaton?.matches(text, &budget) { return isMatch }
    return try followsAllStates(text, &budget)
  }

  /// The same without the automaton, which must agree with it.
  ///
  /// It follows at once all states that the text can lead to, each at most once for each scalar.
  ///
  /// - Throws: `limit` when it takes more steps than the budget has.
  /// - Complexity: O(*n* · *m*) for *n* scalars of text and *m* states, whatever the pattern.
  func followsAllStates(_ text: RawSpan, _ budget: inout MatchingBudget) throws(QueryError) -> Bool {
    var run = Run(self)
    var offset = 0
    var next = LikePattern.nextScalar(of: text, &offset)
    while true {
      if !isAnchored || run.previous == nil, run.add(0, next) { return true }
      guard let scalar = next, !(isAnchored && run.isOver) else { break }
      next = LikePattern.nextScalar(of: text, &offset)
      if run.advance(over: scalar, next) { return true }
      try budget.spend(run.takeSteps())
    }
    return false
  }

  /// The active states while a text is read.
  private struct Run {
    private let program: RegularProgram
    private(set) var previous: UInt32?
    private var current: [Int32] = []
    private var following: [Int32] = []
    /// For each step, the round in which it was last visited.
    private var visited: [Int]
    private var round = 0
    private var pending: [Int32] = []
    private var steps = 0

    init(_ program: RegularProgram) {
      self.program = program
      visited = [Int](repeating: -1, count: program.steps.count)
      current.reserveCapacity(program.steps.count)
      following.reserveCapacity(program.steps.count)
    }

    var isOver: Bool { current.isEmpty }

    mutating func takeSteps() -> Int {
      defer { steps = 0 }
      return steps + 1
    }

    /// Adds a step and all steps reachable from it without a scalar; true if the end is among them.
    mutating func add(_ start: Int32, _ next: UInt32?) -> Bool {
      pending.append(start)
      while let step = pending.popLast() {
        guard visited[Int(step)] != round else { continue }
        visited[Int(step)] = round
        steps += 1
        switch program.steps[Int(step)] {
        case .scalar: current.append(step)
        case .jump(let target): pending.append(target)
        case .split(let first, let second):
          pending.append(second)
          pending.append(first)
        case .place(let place):
          if place.stands(between: previous, next) { pending.append(step + 1) }
        case .match:
          pending.removeAll(keepingCapacity: true)
          return true
        }
      }
      return false
    }

    /// Moves all states over a scalar; true when one of them reaches the end.
    mutating func advance(over scalar: UInt32, _ next: UInt32?) -> Bool {
      swap(&current, &following)
      current.removeAll(keepingCapacity: true)
      round += 1
      previous = scalar
      steps += following.count
      for index in following.indices {
        guard case .scalar(let test) = program.steps[Int(following[index])] else { continue }
        if program.tests[Int(test)].accepts(scalar), add(following[index] + 1, next) { return true }
      }
      return false
    }
  }
}

extension RegularSyntax.Place {
  /// Whether this place is between two such scalars; `nil` is the text's end.
  fileprivate func stands(between previous: UInt32?, _ next: UInt32?) -> Bool {
    switch self {
    case .textStart: previous == nil
    case .textEnd: next == nil
    case .lineStart: previous == nil || previous == 0x0A
    case .lineEnd: next == nil || next == 0x0A
    case .wordBoundary: Self.isWord(previous) != Self.isWord(next)
    case .noWordBoundary: Self.isWord(previous) == Self.isWord(next)
    }
  }

  private static func isWord(_ scalar: UInt32?) -> Bool { scalar.map(ScalarSet.words.contains) ?? false }
}
