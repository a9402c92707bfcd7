package import CRDTCore

/// A necessary condition on a document for a predicate to be true, in a form for lookups.
///
/// A condition may accept too many documents, and must never accept too few.
package enum ObserverCondition: Equatable {
  /// Any document.
  case anything
  /// One of these documents.
  case ids([DocumentID])
  /// A field that equals one of these values, none of which is null, an array, an object or an attachment.
  case field(FieldPath, [Value])
  /// A text field that, in lower case, contains one of these texts.
  case texts([SoughtText])

  /// The narrowest known condition that a bound predicate implies.
  ///
  /// - Complexity: O(*n* log *n*) in the predicate's nodes and constants.
  package init(_ predicate: Expression?) {
    guard let predicate else {
      self = .anything
      return
    }
    self = Self.condition(of: predicate)
    if case .ids(let ids) = IDConstraint(predicate), ids.count <= (alternatives ?? .max) { self = .ids(ids) }
  }

  /// The number of values that satisfy it.
  ///
  /// It is `nil` when the number is unbounded and they have no text in common.
  private var alternatives: Int? {
    switch self {
    case .anything: nil
    case .texts: .max - 1
    case .ids(let ids): ids.count
    case .field(_, let values): values.count
    }
  }

  private static func condition(of predicate: Expression) -> ObserverCondition {
    switch predicate {
    case .and(let terms):
      return terms.reduce(.anything) { best, term in
        let other = condition(of: term)
        return (other.alternatives ?? .max) < (best.alternatives ?? .max) ? other : best
      }
    case .or(let terms):
      return union(terms)
    case .path(let path):
      return condition(path, [.bool(true)])
    case .binary(.equal, .path(let path), .literal(let value)),
      .binary(.equal, .literal(let value), .path(let path)),
      .binary(.same, .path(let path), .literal(let value)),
      .binary(.same, .literal(let value), .path(let path)):
      return condition(path, [value])
    case .in(.path(let path), .literal(.array(let values)), negated: false):
      // No value is equal to a null in the list.
      return condition(path, values.filter { $0 != .null })
    case .like, .call:
      return SoughtText(predicate).map { .texts([$0]) } ?? .anything
    default:
      return .anything
    }
  }

  private static func condition(_ path: FieldPath, _ values: [Value]) -> ObserverCondition {
    guard ResolvedField(path).isInPlace, values.allSatisfy({ ValueHash($0) != nil }) else { return .anything }
    return .field(path, values)
  }

  private static func union(_ terms: [Expression]) -> ObserverCondition {
    var field: FieldPath?
    var all: [Value] = []
    var texts: [SoughtText] = []
    for term in terms {
      switch condition(of: term) {
      case .field(let path, let values):
        guard field == nil || field == path else { return .anything }
        field = path
        all += values
      case .texts(let sought): texts += sought
      case .anything, .ids: return .anything
      }
    }
    if texts.isEmpty { return field.map { .field($0, all) } ?? .anything }
    return field == nil ? .texts(texts) : .anything
  }
}

/// A text that a field must contain for a predicate to be true.
package struct SoughtText: Hashable, Sendable {
  let path: FieldPath
  /// UTF-8 in lower case, at least as long as the texts of a ``GramIndex``.
  let bytes: [UInt8]

  /// - Returns: `nil` for a predicate that does not demand such a text.
  init?(_ predicate: Expression) {
    guard let (subject, sought) = Self.sought(predicate), case .path(let path) = subject,
      ResolvedField(path).isInPlace
    else { return nil }
    bytes = CaseFolding.folded(sought.span.bytes)
    self.path = path
    guard bytes.count >= GramIndex.gramBytes else { return nil }
  }

  private static func sought(_ predicate: Expression) -> (subject: Expression, text: [UInt8])? {
    switch predicate {
    case .like(let subject, .literal(.string(let pattern)), _, let caseInsensitive, negated: false):
      guard case .like(let escape, _)? = PatternTable.Key(predicate)?.notation,
        let compiled = LikePattern(pattern, escape: escape.text, caseInsensitive: caseInsensitive)
      else { return nil }
      return (subject, Array(compiled.longestLiteral))
    case .call(.contains, let operands), .call(.startsWith, let operands), .call(.endsWith, let operands):
      guard operands.count == 2, case .literal(.string(let text)) = operands[1] else { return nil }
      return (operands[0], Array(text.utf8))
    default: return nil
    }
  }
}

/// A hash that is equal for values that predicates find equal; each process has its own.
package struct ValueHash: Hashable, Sendable {
  private enum Tag: UInt8 {
    case boolean, whole, fraction, binary, string
  }

  private let bits: Int

  /// 32 bits of the hash.
  var short: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) }

  /// - Returns: `nil` for null, and for arrays, objects and attachments.
  package init?(_ value: Value) {
    switch value {
    case .bool(let flag): self.init(flag)
    case .int(let number), .counter(let number): self.init(number)
    case .double(let number): self.init(number)
    case .string(let string): self.init(.string, Array(string.utf8).span.bytes)
    case .bytes(let bytes): self.init(.binary, bytes.span.bytes)
    case .null, .array, .map, .attachment, .decimal: return nil
    }
  }

  /// The hash of a stored value, read in place.
  package init?(_ value: borrowing ValueRef) {
    switch value.kind {
    case .bool: self.init(value.bool)
    case .int, .counter: self.init(value.int)
    case .double: self.init(value.double)
    case .string: self.init(.string, value.bytes)
    case .bytes: self.init(.binary, value.bytes)
    case .null, .array, .map, .attachment: return nil
    }
  }

  private init(_ flag: Bool) { self.init(.boolean, flag) }

  private init(_ number: Int64) { self.init(.whole, number) }

  /// The hash of a double: a whole double has the hash of the integer, and all NaN have the same hash.
  private init(_ number: Double) {
    if let whole = Int64(exactly: number) {
      self.init(whole)
    } else {
      self.init(.fraction, number.isNaN ? 0 : number.bitPattern)
    }
  }

  private init(_ tag: Tag, _ value: some Hashable) {
    var hasher = Hasher()
    hasher.combine(tag)
    hasher.combine(value)
    bits = hasher.finalize()
  }

  private init(_ tag: Tag, _ bytes: RawSpan) {
    var hasher = Hasher()
    hasher.combine(tag)
    // SAFETY: the hasher reads the bytes during the call only.
    unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    bits = hasher.finalize()
  }
}
