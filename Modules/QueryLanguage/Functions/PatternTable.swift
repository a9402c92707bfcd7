import CRDTCore

/// The compiled patterns of an expression's constants, so that they are not compiled again for each row.
struct PatternTable: Sendable {
  /// A pattern and its notation.
  struct Key: Hashable, Sendable {
    enum Notation: Hashable, Sendable {
      case like(escape: TextKey, caseInsensitive: Bool)
      case regular(RegularFlags)
      case similar(escape: TextKey)
    }

    @TextKey var pattern: String
    var notation: Notation
  }

  private var likes: [Key: LikePattern] = [:]
  private var programs: [Key: RegularProgram] = [:]

  /// Compiles the valid patterns; an invalid pattern fails where it is evaluated.
  init(_ expression: Expression) { add(expression) }

  private mutating func add(_ expression: Expression) {
    if let key = Key(expression) {
      do {
        switch key.notation {
        case .like: likes[key] = try Self.like(key)
        case .regular, .similar: programs[key] = try Self.program(key)
        }
      } catch {
        // The evaluation throws the same error.
      }
    }
    for child in expression.children { add(child) }
  }

  func like(_ key: Key) throws(QueryError) -> LikePattern? {
    if let known = likes[key] { return known }
    return try Self.like(key)
  }

  func program(_ key: Key) throws(QueryError) -> RegularProgram? {
    if let known = programs[key] { return known }
    return try Self.program(key)
  }

  /// `nil` for an invalid pattern or escape: the test is MISSING.
  private static func like(_ key: Key) throws(QueryError) -> LikePattern? {
    guard case .like(let escape, let caseInsensitive) = key.notation else { return nil }
    return LikePattern(key.pattern, escape: escape.text, caseInsensitive: caseInsensitive)
  }

  private static func program(_ key: Key) throws(QueryError) -> RegularProgram? {
    switch key.notation {
    case .like: return nil
    case .regular(let flags): return try RegularProgram(key.pattern, flags: flags)
    case .similar(let escape):
      guard let scalar = escape.text.unicodeScalars.first, escape.text.unicodeScalars.count == 1 else {
        return nil
      }
      return try RegularProgram(similar: key.pattern, escape: scalar)
    }
  }
}

extension PatternTable.Key {
  /// The key of a node whose pattern is a constant.
  init?(_ expression: Expression) {
    switch expression {
    case .like(_, .literal(.string(let pattern)), let escape, let caseInsensitive, _):
      guard let escape = Self.escape(escape) else { return nil }
      self.init(pattern: pattern, notation: .like(escape: escape, caseInsensitive: caseInsensitive))
    case .similar(_, .literal(.string(let pattern)), let escape, _):
      guard let escape = Self.escape(escape) else { return nil }
      self.init(pattern: pattern, notation: .similar(escape: escape))
    case .call(.regexpLike, let operands):
      guard operands.count > 1, case .literal(.string(let pattern)) = operands[1] else { return nil }
      var letters = ""
      if operands.count > 2 {
        guard case .literal(.string(let given)) = operands[2] else { return nil }
        letters = given
      }
      guard let flags = RegularFlags(letters) else { return nil }
      self.init(pattern: pattern, notation: .regular(flags))
    default: return nil
    }
  }

  private static func escape(_ expression: Expression?) -> TextKey? {
    guard let expression else { return "\\" }
    if case .literal(.string(let text)) = expression { return TextKey(text) }
    return nil
  }
}
