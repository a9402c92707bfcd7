import CRDTCore
import DocStore

/// The values of a row of several documents, or of a group, by slot; `nil` is MISSING.
typealias Frame = [Value?]

/// An expression over the slots of frames.
struct FrameExpression: Sendable {
  private let expression: Expression
  /// The slot that the expression reads, where it is a slot and nothing more.
  private let slot: Int?
  private let scope: EvaluationScope

  init(_ expression: Expression, _ context: StatementContext) {
    self.expression = expression
    scope = EvaluationScope(expression, context)
    if case .path(let path) = expression, path.count == 1, case .index(let slot) = path[0] {
      self.slot = slot
    } else {
      slot = nil
    }
  }

  func evaluate(_ frame: Frame) throws(QueryError) -> Value? {
    var bytes = Evaluator.producedBytes
    return try evaluate(frame, within: &bytes)
  }

  /// The value as one column of a row, for which functions may still produce some bytes.
  func evaluate(_ frame: Frame, within bytes: inout Int) throws(QueryError) -> Value? {
    if let slot { return frame.indices.contains(slot) ? frame[slot] : nil }
    return try Evaluator.evaluate(expression, row: { frame.value(at: $0) }, in: scope, within: &bytes)
  }

  /// Whether the expression is true, and not NULL or MISSING.
  func accepts(_ frame: Frame) throws(QueryError) -> Bool { try evaluate(frame) == .bool(true) }
}

extension Frame {
  fileprivate func value(at path: FieldPath) -> Value? {
    guard case .index(let slot)? = path.first, indices.contains(slot) else { return nil }
    return self[slot]?.value(at: path.dropFirst())
  }

  /// About the bytes of memory that the values use.
  var memoryBytes: Int { reduce(32) { $0 + ($1?.memoryBytes ?? 16) } }
}

/// Reads the fields that a query needs of one source's documents into their slots.
struct SlotReader: Sendable {
  private let paths: [FieldPath]
  private let fields: [ResolvedField]
  private let keys: KeyTable
  private let firstSlot: Int
  /// Where the rows of the index have the fields, if the index's rows are read.
  private let places: [(field: Int, rest: FieldPath)?]

  init(_ input: StagedPlan.Input, _ keys: KeyTable) {
    paths = input.paths
    firstSlot = input.firstSlot
    self.keys = keys
    if case .index(let scan) = input.plan.access, input.plan.isCovering {
      places = paths.map { scan.index.definition.place(of: $0) }
    } else {
      places = []
    }
    fields = paths.map { path in
      var field = ResolvedField(path)
      field.resolve(keys)
      return field
    }
  }

  var slots: Range<Int> { firstSlot..<firstSlot + paths.count }

  func read(_ id: RawSpan, _ record: borrowing RecordView, into frame: inout Frame) throws(QueryError) {
    for index in fields.indices { frame[firstSlot + index] = try fields[index].value(id, record, keys) }
  }

  /// Reads the values of an index's row, which has all fields that are needed here.
  func read(_ cover: borrowing IndexCover, _ frame: inout Frame) {
    for (index, place) in places.enumerated() {
      frame[firstSlot + index] = place.flatMap { cover.value(at: $0) }
    }
  }

  /// Reads a document of a virtual collection.
  func read(_ document: [TextKey: Value], into frame: inout Frame) {
    for (index, path) in paths.enumerated() {
      frame[firstSlot + index] = Value.map(document).value(at: path)
    }
  }

  /// Sets all its slots to MISSING.
  func clear(_ frame: inout Frame) { for slot in slots { frame[slot] = nil } }
}
