import CRDTCore

/// The memory of one run of a program: bytes, whole values, and their remaining budgets.
package struct ScalarScratch {
  private(set) var bytes: [UInt8] = []
  private(set) var boxes: [Value] = []
  /// The variables that the comprehensions around the current node have bound, by slot.
  var variables: [Scalar] = []
  /// The steps that remain to this run for pattern matching; `nil` before the first.
  var matching: MatchingBudget?
  /// The bytes that functions may still produce for this row.
  private(set) var remainingBytes: Int

  /// Makes the memory of one run.
  ///
  /// - Parameter bytes: The bytes that functions may produce.
  package init(producing bytes: Int = Evaluator.producedBytes) { remainingBytes = bytes }

  /// Deducts bytes from those that functions may still produce for this row.
  ///
  /// - Parameters:
  ///   - count: The bytes that a function is about to produce.
  ///   - function: The function.
  ///   - context: The statement.
  /// - Throws: `limit` where they are too many; what the statement throws that has to wait with a large row.
  mutating func charge(
    _ count: Int, _ function: Function, _ context: (any EvaluationContext)?
  ) throws(QueryError) {
    guard count <= remainingBytes else { throw .produced(by: function) }
    remainingBytes -= count
    if remainingBytes < Evaluator.producedBytes - Evaluator.largeBytes { try context?.beginLargeRow() }
  }

  /// Deducts steps from those that remain to this run for pattern matching and iteration.
  mutating func spend(_ steps: Int, _ context: (any EvaluationContext)?) throws(QueryError) {
    var budget = matching ?? MatchingBudget(context)
    defer { matching = budget }
    try budget.spend(steps)
  }

  /// Runs an evaluator within the bounds of this run.
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

  /// The present amount of memory, to release later what is added after it.
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

  /// Copies bytes that are already here.
  mutating func append(copyOf range: Range<Int>) {
    bytes.reserveCapacity(bytes.count + range.count)
    for index in range { bytes.append(bytes[index]) }
  }

  /// Changes the bytes from `start` on, one by one.
  mutating func change(from start: Int, _ body: (UInt8) -> UInt8) {
    for index in start..<bytes.count { bytes[index] = body(bytes[index]) }
  }

  /// The bytes from `start` on as a string.
  func string(from start: Int) -> Scalar { Scalar(.string, start..<bytes.count, in: .scratch) }

  /// Stores a value that was made elsewhere.
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
