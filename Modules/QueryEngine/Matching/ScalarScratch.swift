import CRDTCore

/// What one run of a program makes: bytes, whole values, and what they may cost.
struct ScalarScratch {
  private(set) var bytes: [UInt8] = []
  private(set) var boxes: [Value] = []
  /// What the comprehensions around the current node have bound, by slot.
  var variables: [Scalar] = []
  /// What this run may still take to match patterns, once it has.
  var matching: MatchingBudget?
  private var remainingBytes = Evaluator.producedBytes

  /// Takes bytes from what this run may still make.
  mutating func charge(_ count: Int) throws(QueryError) {
    guard count <= remainingBytes else {
      throw QueryError(.limit, "an expression makes more than \(Evaluator.producedBytes) bytes")
    }
    remainingBytes -= count
  }

  /// Takes steps from what this run may still take to match patterns and go through elements.
  mutating func spend(_ steps: Int, _ context: StatementContext?) throws(QueryError) {
    var budget = matching ?? MatchingBudget(context)
    defer { matching = budget }
    try budget.spend(steps)
  }

  /// Lets the evaluator work within the bounds of this run.
  mutating func withEvaluator<R>(
    _ scope: EvaluationScope, _ body: (inout Evaluator) throws(QueryError) -> R
  ) throws(QueryError) -> R {
    var evaluator = Evaluator(scope)
    evaluator.remainingBytes = remainingBytes
    if let matching { evaluator.matching = matching }
    defer {
      remainingBytes = evaluator.remainingBytes
      matching = evaluator.matching
    }
    return try body(&evaluator)
  }

  // MARK: Memory

  /// How much has been made so far, to give back what comes after.
  var mark: (bytes: Int, boxes: Int) { (bytes.count, boxes.count) }

  mutating func release(to mark: (bytes: Int, boxes: Int)) {
    bytes.removeLast(bytes.count - mark.bytes)
    boxes.removeLast(boxes.count - mark.boxes)
  }

  mutating func append(_ span: RawSpan) {
    unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
  }

  /// Appends a text with its letters in lower case.
  mutating func append(lowercased text: RawSpan) { CaseFolding.appendLowercased(text, to: &bytes) }

  /// Copies bytes that stand here already.
  mutating func append(copyOf range: Range<Int>) {
    bytes.reserveCapacity(bytes.count + range.count)
    for index in range { bytes.append(bytes[index]) }
  }

  /// Changes the bytes from `start` on one by one.
  mutating func change(from start: Int, _ body: (UInt8) -> UInt8) {
    for index in start..<bytes.count { bytes[index] = body(bytes[index]) }
  }

  /// The bytes from `start` on as a string.
  func string(from start: Int) -> Scalar { Scalar(.string, start..<bytes.count, in: .scratch) }

  /// Takes in a value that was made elsewhere.
  mutating func scalar(of value: Value?) -> Scalar {
    guard let value else { return .missing }
    switch value {
    case .null: return .null
    case .bool(let flag): return Scalar(flag)
    case .int(let number): return Scalar(number)
    case .counter(let number): return Scalar(number, kind: .counter)
    case .double(let number): return Scalar(number)
    case .string(let text):
      let start = bytes.count
      bytes.append(contentsOf: text.utf8)
      return string(from: start)
    case .bytes(let blob):
      let start = bytes.count
      bytes.append(contentsOf: blob)
      return Scalar(.bytes, start..<bytes.count, in: .scratch)
    case .array: return boxed(value, .array)
    case .map: return boxed(value, .object)
    case .attachment: return boxed(value, .attachment)
    case .decimal: return boxed(value, .decimal)
    }
  }

  private mutating func boxed(_ value: Value, _ kind: Scalar.Kind) -> Scalar {
    boxes.append(value)
    return Scalar(kind, box: boxes.count - 1)
  }
}
