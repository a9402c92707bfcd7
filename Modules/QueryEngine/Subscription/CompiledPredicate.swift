package import CRDTCore
import Failpoints

/// A predicate without parameters, in one form of bytes: a value that is sent, hashed and compared.
///
/// Predicates that differ only in how AND and OR are nested, in the order and number of their terms, or in
/// which side of a comparison a constant stands, are the same one.
public struct CompiledPredicate: Hashable, Comparable, Sendable {
  /// Bytes that a predicate takes, constants included.
  package static let byteLimit = 256 << 10

  /// The canonical form.
  public let bytes: [UInt8]
  /// The predicate; `nil` accepts every document.
  package let expression: Expression?

  /// Compiles a predicate.
  ///
  /// - Parameters:
  ///   - predicate: What documents must satisfy; `nil` accepts every document.
  ///   - arguments: The values of its parameters.
  /// - Throws: `argument` when one has no value; `unsupported` for what depends on more than one document;
  ///   `limit`.
  package init(_ predicate: Expression?, arguments: [TextKey: Value] = [:]) throws(QueryError) {
    guard let predicate else {
      expression = nil
      bytes = [PredicateCode.everything.rawValue]
      return
    }
    let canonical = try predicate.binding(arguments).canonical
    var writer = ByteWriter()
    try canonical.encode(to: &writer)
    guard writer.count <= Self.byteLimit else {
      throw QueryError(.limit, "a predicate takes more than \(Self.byteLimit) bytes with its arguments")
    }
    expression = canonical
    bytes = writer.bytes
  }

  /// A matcher of the documents that satisfy it; resolve it against the collection's keys before use.
  public var matcher: RecordMatcher { RecordMatcher(bound: expression) }

  public static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }

  public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

  public static func < (left: Self, right: Self) -> Bool {
    left.bytes.span.bytes.compare(right.bytes.span.bytes) < 0
  }
}

extension CompiledPredicate {
  package func encode(to writer: inout ByteWriter) { writer.writeBlob(bytes) }

  /// Reads a predicate that somebody else compiled.
  ///
  /// - Throws: `truncated`; `limit` for one that is too large or nested too deeply; `malformed` for anything
  ///   that this version does not know, and for what is not in canonical form.
  package init(from reader: inout ByteReader) throws(CodecError) {
    let start = reader.offset
    let blob = try reader.readBlob()
    guard blob.byteCount <= Self.byteLimit else {
      throw CodecError(.limit, "a predicate is too large", at: start)
    }
    var decoder = PredicateDecoder()
    var inner = ByteReader(blob)
    let expression = try decoder.predicate(&inner)
    guard inner.isAtEnd else {
      throw CodecError(.malformed, "a predicate is followed by other bytes", at: start)
    }
    let compiled: CompiledPredicate
    do throws(QueryError) {
      compiled = try CompiledPredicate(expression)
    } catch {
      throw CodecError(error.code == .limit ? .limit : .malformed, error.message, at: start)
    }
    guard compiled.bytes.span.bytes.compare(blob) == 0 else {
      throw CodecError(.malformed, "a predicate is not in its canonical form", at: start)
    }
    self = compiled
  }
}

extension Expression {
  /// The same predicate with constants on the right, and the terms of AND and OR flat, sorted and each once.
  fileprivate var canonical: Expression {
    get throws(QueryError) {
      try rewritten { (node) throws(QueryError) -> Expression in
        switch node {
        case .binary(let symbol, .literal(let constant), let other) where symbol.isComparison:
          if case .literal = other { return node }
          return .binary(symbol.mirrored, other, .literal(constant))
        case .and(let terms):
          return .and(
            try Self.sorted(
              terms.flatMap { term in
                if case .and(let inner) = term { return inner }
                return [term]
              }))
        case .or(let terms):
          return .or(
            try Self.sorted(
              terms.flatMap { term in
                if case .or(let inner) = term { return inner }
                return [term]
              }))
        default: return node
        }
      }
    }
  }

  private static func sorted(_ terms: [Expression]) throws(QueryError) -> [Expression] {
    var encoded: [(bytes: [UInt8], term: Expression)] = []
    for term in terms {
      var writer = ByteWriter()
      try term.encode(to: &writer)
      encoded.append((writer.bytes, term))
    }
    encoded.sort { $0.bytes.span.bytes.compare($1.bytes.span.bytes) < 0 }
    var distinct: [(bytes: [UInt8], term: Expression)] = []
    for pair in encoded where distinct.last?.bytes != pair.bytes { distinct.append(pair) }
    if distinct.count > 1, QueryDefect.subscriptionDropsTerm.isPlanted { distinct.removeLast() }
    return distinct.map(\.term)
  }
}

extension BinaryOperator {
  /// Whether it compares its operands, and so can be `mirrored` when they are exchanged.
  var isComparison: Bool {
    switch self {
    case .equal, .notEqual, .same, .notSame, .less, .lessOrEqual, .greater, .greaterOrEqual: true
    case .add, .subtract, .multiply, .divide, .remainder, .concatenate, .xor, .shiftLeft, .shiftRight: false
    }
  }
}
