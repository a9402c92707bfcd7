package import CRDTCore

/// A bound expression, compiled to run on records in place.
///
/// Numbers, strings and arrays are used in place. Owned values are made only for the program's result, and
/// for calls that have no form in place. The results are those of ``Evaluator`` on values.
package struct ScalarProgram: Sendable {
  let expression: Expression
  var nodes: ContiguousArray<ScalarNode> = []
  var fields: [ResolvedField] = []
  /// The paths that are followed in variables.
  var variablePaths: [FieldPath] = []
  /// The bytes of all constant strings.
  var text: [UInt8] = []
  var boxes: [Value] = []
  var patterns: [LikePattern?] = []
  var programs: [RegularProgram] = []
  var lists: [ConstantList] = []
  var generals: [RecordExpression] = []
  let scope: EvaluationScope
  /// Whether some part of the expression computes with decimals.
  let hasDecimals: Bool
  private(set) var keys = KeyTable()

  /// - Parameters:
  ///   - expression: The bound expression to evaluate.
  ///   - context: The context of the statement that evaluates it.
  package init(_ expression: Expression, _ context: (any EvaluationContext)? = nil) {
    self.expression = expression
    scope = EvaluationScope(expression, context)
    hasDecimals = expression.makesDecimals
    compile(expression)
  }

  /// Whether every document gives the same value, apart from functions such as `clock()`.
  package var isConstant: Bool { expression.paths.isEmpty }

  /// Resolves the names of the fields.
  package mutating func resolve(_ keys: KeyTable) {
    self.keys = keys
    for index in fields.indices { fields[index].resolve(keys) }
    for index in generals.indices { generals[index].resolve(keys) }
    for index in nodes.indices where nodes[index].operation == .key || nodes[index].operation == .field {
      let field = fields[Int(nodes[index].operand)]
      nodes[index].operation = .field
      guard field.isInPlace, let id = field.path.soleKeyID else { continue }
      nodes[index].operation = .key
      nodes[index].keyID = id
    }
  }

  /// The expression's value for one document; `nil` is MISSING.
  package func evaluate(_ id: RawSpan, _ record: borrowing RecordView) throws(QueryError) -> Value? {
    var bytes = Evaluator.producedBytes
    return try evaluate(id, record, within: &bytes)
  }

  /// The expression's value for one document, as one column of its row; `nil` is MISSING.
  ///
  /// - Parameters:
  ///   - id: The document's encoded id.
  ///   - record: The document.
  ///   - bytes: The bytes that functions may still produce for the row; those of this column are deducted.
  /// - Returns: The value.
  /// - Throws: `limit` when functions produce too many bytes; `runtime`.
  package func evaluate(
    _ id: RawSpan, _ record: borrowing RecordView, within bytes: inout Int
  ) throws(QueryError) -> Value? {
    if nodes.count == 1, let field = fields.first { return try field.value(id, record, keys) }
    var scratch = ScalarScratch(producing: bytes)
    defer { bytes = scratch.remainingBytes }
    let document = DocumentView(id, record)
    do throws(QueryError) {
      let scalar = try scalar(0, document, &scratch)
      return try value(of: scalar, document, scratch)
    } catch {
      throw error.about(id)
    }
  }

  /// The expression's result as a condition.
  func truth(_ id: RawSpan, _ record: borrowing RecordView) throws(QueryError) -> Truth {
    var scratch = ScalarScratch()
    return Truth(try scalar(0, DocumentView(id, record), &scratch))
  }

  /// The expression's value for a row of values.
  package func evaluate(_ fields: [TextKey: Value]) throws(QueryError) -> Value? {
    var bytes = Evaluator.producedBytes
    return try evaluate(fields, within: &bytes)
  }

  /// The expression's value for a row of values, as one column of another row.
  ///
  /// - Parameters:
  ///   - fields: The row of values.
  ///   - bytes: The bytes that functions may still produce for the row; those of this column are deducted.
  /// - Returns: The value; `nil` for MISSING.
  /// - Throws: `limit` when functions produce too many bytes.
  package func evaluate(
    _ fields: [TextKey: Value], within bytes: inout Int
  ) throws(QueryError) -> Value? {
    try Evaluator.evaluate(expression, row: { Value.map(fields).value(at: $0) }, in: scope, within: &bytes)
  }

  // MARK: Values

  /// The bytes of a string, a byte value, or an array that is not a box.
  @_lifetime(copy document, borrow self, borrow scratch)
  func bytes(
    of scalar: Scalar, _ document: borrowing DocumentView, _ scratch: borrowing ScalarScratch
  ) -> RawSpan {
    switch scalar.place {
    case .record: return document.record.bytes.extracting(scalar.range)
    case .id: return document.id.extracting(scalar.range)
    case .constants: return text.span.bytes.extracting(scalar.range)
    case .scratch: return scratch.bytes.span.bytes.extracting(scalar.range)
    case .none, .box, .constantBox: return document.id.extracting(0..<0)
    }
  }

  /// An owned value; `nil` for MISSING.
  package func value(
    of scalar: Scalar, _ document: borrowing DocumentView, _ scratch: borrowing ScalarScratch
  ) throws(QueryError) -> Value? {
    switch scalar.place {
    case .none: return scalar.plainValue
    case .box: return scratch.boxes[scalar.box]
    case .constantBox: return boxes[scalar.box]
    case .record, .id, .constants, .scratch: break
    }
    let bytes = bytes(of: scalar, document, scratch)
    switch scalar.kind {
    case .string:
      guard let text = bytes.text else {
        throw .unreadable(CodecError(.malformed, "a string is not UTF-8", at: scalar.range.lowerBound))
      }
      return .string(text)
    case .bytes: return .bytes(unsafe bytes.withUnsafeBytes { unsafe Array($0) })
    default:
      do throws(CodecError) {
        var reader = ByteReader(bytes)
        return try ValueCodec.read(&reader)
      } catch {
        throw .unreadable(error)
      }
    }
  }
}
