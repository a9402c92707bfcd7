package import CRDTCore
import Failpoints

/// A predicate without parameters in a canonical form of bytes, to send, hash and compare.
///
/// Two predicates are the same if they differ only in the nesting of AND and OR, in the order and number of
/// their terms, or in the side of a comparison on which a constant is.
public struct CompiledPredicate: Hashable, Comparable, Sendable {
  /// The most bytes of a predicate, constants included.
  package static let byteLimit = 256 << 10

  /// The canonical form.
  public let bytes: [UInt8]
  /// The predicate; `nil` accepts every document.
  package let expression: Expression?

  /// Compiles a predicate.
  ///
  /// - Parameters:
  ///   - predicate: The condition on documents; `nil` accepts every document.
  ///   - arguments: The values of its parameters.
  /// - Throws: `argument` when a parameter has no value; `unsupported` for a predicate that depends on more
  ///   than one document; `limit`.
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

  /// Reads a predicate that another peer compiled.
  ///
  /// - Throws: `truncated`; `limit` for one that is too large or nested too deeply; `malformed` for anything
  ///   that this version does not know, and for a predicate that is not in canonical form.
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
  /// The same predicate in canonical form.
  ///
  /// Constants are on the right, and the terms of AND and OR are flat, sorted and unique.
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
    if distinct.count > 1, LanguageDefect.subscriptionDropsTerm.isPlanted { distinct.removeLast() }
    return distinct.map(\.term)
  }
}

extension BinaryOperator {
  /// Whether it is a comparison, which can be `mirrored` when its operands are exchanged.
  var isComparison: Bool {
    switch self {
    case .equal, .notEqual, .same, .notSame, .less, .lessOrEqual, .greater, .greaterOrEqual: true
    case .add, .subtract, .multiply, .divide, .remainder, .concatenate, .xor, .shiftLeft, .shiftRight: false
    }
  }
}
