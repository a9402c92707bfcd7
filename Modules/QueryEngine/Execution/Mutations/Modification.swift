import CRDTCore

/// What an UPDATE does to each document it finds, ready to be evaluated on the document's record.
struct Modification: Sendable {
  private enum Operation: Sendable { case set, increment, restart }

  private struct Step: Sendable {
    var path: [TextKey]
    var operation: Operation
    var value: ScalarProgram
    var field: ResolvedField
  }

  private var steps: [Step] = []
  private let removals: [[TextKey]]
  private let types: DeclaredTypes

  /// Binds an UPDATE, in the order in which its clauses take effect.
  ///
  /// - Throws: `argument`, for a parameter without a value, for two changes of one path, and for a path that
  ///   cannot be changed. A constant that cannot be stored is refused here too.
  init(_ update: Update, _ arguments: [TextKey: Value], _ context: StatementContext? = nil) throws(QueryError)
  {
    removals = update.removals
    types = try DeclaredTypes(update.target.types)
    for application in update.applications {
      switch application.operation {
      case .increment(let amount): try add(.increment, application.path, amount, arguments, context)
      case .restart(let value): try add(.restart, application.path, value, arguments, context)
      }
    }
    for assignment in update.assignments {
      try add(.set, assignment.path, assignment.value, arguments, context)
    }
    let paths = steps.map(\.path) + removals
    try Self.check(paths)
    for path in paths { try types.check(path) }
    for step in steps where step.operation != .set { try types.checkCounting(step.path) }
  }

  private mutating func add(
    _ operation: Operation, _ path: [TextKey], _ value: Expression, _ arguments: [TextKey: Value],
    _ context: StatementContext?
  ) throws(QueryError) {
    let bound = ScalarProgram(try value.binding(arguments), context)
    steps.append(
      Step(path: path, operation: operation, value: bound, field: ResolvedField(path.map(PathComponent.key))))
  }

  private static func check(_ paths: [[TextKey]]) throws(QueryError) {
    guard !paths.isEmpty else { throw QueryError(.argument, "UPDATE expects APPLY, SET or UNSET") }
    var seen: Set<[TextKey]> = []
    for path in paths {
      guard !path.isEmpty, path.count <= Limits.pathSteps else {
        throw QueryError(.argument, "a path to change has 1 to \(Limits.pathSteps) steps")
      }
      guard path[0] != "_id" else { throw QueryError(.argument, "The document id `_id` cannot be modified") }
      guard seen.insert(path).inserted else {
        throw QueryError(.argument, "more than one modification specified for the path \(Self.text(path))")
      }
    }
  }

  mutating func resolve(_ keys: KeyTable) {
    for index in steps.indices {
      steps[index].value.resolve(keys)
      steps[index].field.resolve(keys)
    }
  }

  /// The edits of one document; an assignment of MISSING changes nothing.
  func edits(
    _ id: RawSpan, _ record: borrowing RecordView, _ keys: KeyTable
  ) throws(QueryError) -> [Edit] {
    var edits: [Edit] = []
    do {
      for step in steps { edits += try self.edits(step, id, record, keys) }
    } catch {
      throw error.about(id)
    }
    return edits + removals.map { .remove($0) }
  }

  private func edits(
    _ step: Step, _ id: RawSpan, _ record: borrowing RecordView, _ keys: KeyTable
  ) throws(QueryError) -> [Edit] {
    let value = try step.value.evaluate(id, record)
    switch step.operation {
    case .set:
      guard let value else { return [] }
      let stored = try Self.stored(value, step)
      try types.checkAttachments(in: stored, at: step.path)
      return types.edits(setting: step.path, to: stored)
    case .increment:
      let amount = try Self.integer(value, "INCREMENT BY", step.path)
      switch record.value(at: step.field.path)?.kind {
      case nil, .int, .counter: return [.increment(step.path, amount)]
      case .null, .bool, .double, .string, .bytes, .array, .map, .attachment:
        throw QueryError(
          .runtime, "only a counter or an integer can be incremented, at \(Self.text(step.path))")
      }
    case .restart:
      return [.restart(step.path, try Self.integer(value, "RESTART WITH", step.path))]
    }
  }

  /// The value that SET writes.
  ///
  /// A counter that is read from a document becomes a number. A counter that is a constant starts a counter.
  private static func stored(_ value: Value, _ step: Step) throws(QueryError) -> Value {
    if case .counter(let sum) = value, !step.value.isConstant { return .int(sum) }
    let value = value.withoutDecimals
    do throws(DocumentError) {
      try value.checked(depth: step.path.count)
    } catch {
      throw QueryError(.argument, error.description)
    }
    return value
  }

  private static func integer(
    _ value: Value?, _ clause: String, _ path: [TextKey]
  ) throws(QueryError) -> Int64 {
    switch value {
    case .int(let number), .counter(let number): return number
    default:
      throw QueryError(.argument, "\(clause) expects its operand to be an integer value, at \(text(path))")
    }
  }

  private static func text(_ path: [TextKey]) -> String { path.map(\.text).joined(separator: ".") }
}
