import CRDTCore

/// How the fields of a write merge, where the statement declares it.
///
/// A register is replaced as a whole. A number becomes a counter where a counter is declared. Undeclared
/// fields merge as usual: objects field by field, everything else as a whole.
struct DeclaredTypes: Sendable {
  private let fields: [FieldDeclaration]

  /// - Throws: `argument` for a field that is declared twice, and for a declaration of the id.
  init(_ fields: [FieldDeclaration]) throws(QueryError) {
    self.fields = fields
    try Self.check(fields, isRoot: true)
  }

  private static func check(_ fields: [FieldDeclaration], isRoot: Bool) throws(QueryError) {
    var seen: Set<TextKey> = []
    for field in fields {
      guard seen.insert(field.$name).inserted, !(isRoot && field.$name == "_id") else {
        throw QueryError(.argument, "the type of the field '\(field.name)' cannot be declared here")
      }
      if case .map(let inner) = field.type { try check(inner, isRoot: false) }
    }
  }

  var isEmpty: Bool { fields.isEmpty }

  private func type(at path: [TextKey]) -> FieldType? {
    var type = FieldType.map(fields)
    for name in path {
      guard case .map(let fields) = type, let field = fields.first(where: { $0.$name == name }) else {
        return nil
      }
      type = field.type
    }
    return type
  }

  /// Checks that a path can be changed by itself, and is not inside a register or an attachment.
  ///
  /// These are replaced as a whole.
  func check(_ path: [TextKey]) throws(QueryError) {
    for count in 1..<max(path.count, 1) {
      let outer = Array(path.prefix(count))
      switch type(at: outer) {
      case .register: throw Self.refusal("REGISTER", outer)
      case .attachment: throw Self.refusal("ATTACHMENT", outer)
      case .map, .counter, .pnCounter, nil: break
      }
    }
  }

  /// Checks that APPLY can count at a path.
  func checkCounting(_ path: [TextKey]) throws(QueryError) {
    if type(at: path) == .attachment { throw Self.refusal("ATTACHMENT", path) }
  }

  private static func refusal(_ type: String, _ path: [TextKey]) -> QueryError {
    QueryError(.unsupported, "Unsupported DML operation on \(type) field \"\(text(of: path))\"")
  }

  private static func text(of path: [TextKey]) -> String { path.map(\.text).joined(separator: ".") }

  /// Checks that no plain value is written to a field that is declared as ATTACHMENT.
  ///
  /// Only the token of an attachment that is already stored, and NULL, can be written there.
  ///
  /// - Parameters:
  ///   - value: The value that is written.
  ///   - path: The path at which it is written; empty for a whole document.
  /// - Throws: `argument`, with the path of the field.
  func checkAttachments(in value: Value, at path: [TextKey] = []) throws(QueryError) {
    guard !fields.isEmpty else { return }
    try Self.checkAttachments(in: value, path, path.isEmpty ? .map(fields) : type(at: path))
  }

  private static func checkAttachments(
    in value: Value, _ path: [TextKey], _ type: FieldType?
  ) throws(QueryError) {
    switch (type, value) {
    case (.attachment, .attachment), (.attachment, .null): break
    case (.attachment, _):
      throw QueryError(
        .argument,
        "the field '\(text(of: path))' is declared as ATTACHMENT, which takes no plain value: "
          + "this version has no attachments")
    case (.map(let fields), .map(let members)):
      for field in fields {
        guard let member = members[field.$name] else { continue }
        try checkAttachments(in: member, path + [field.$name], field.type)
      }
    default: break
    }
  }

  /// The edits that SET makes of a value.
  func edits(setting path: [TextKey], to value: Value) -> [Edit] { Self.edits(path, value, type(at: path)) }

  private static func edits(_ path: [TextKey], _ value: Value, _ type: FieldType?) -> [Edit] {
    switch (type, value) {
    case (.register, _): return [.replace(path, value)]
    case (.counter, .int(let number)), (.pnCounter, .int(let number)): return [.restart(path, number)]
    case (.map(let fields), .map(var members)) where !fields.isEmpty:
      var edits: [Edit] = []
      for field in fields {
        guard let member = members.removeValue(forKey: field.$name) else { continue }
        edits += Self.edits(path + [field.$name], member, field.type)
      }
      // An empty object is set too.
      return members.isEmpty && !edits.isEmpty ? edits : [.set(path, .map(members))] + edits
    default: return [.set(path, value)]
    }
  }

  /// A new document's fields, with counters where they are declared.
  func counting(_ members: [TextKey: Value]) -> [TextKey: Value] { Self.counting(members, fields) }

  private static func counting(_ members: [TextKey: Value], _ fields: [FieldDeclaration]) -> [TextKey: Value]
  {
    var members = members
    for field in fields {
      switch (field.type, members[field.name]) {
      case (.counter, .int(let number)), (.pnCounter, .int(let number)):
        members[field.name] = .counter(number)
      case (.map(let inner), .map(let value)): members[field.name] = .map(counting(value, inner))
      default: break
      }
    }
    return members
  }

  /// Splits what is written into fields that merge and registers, which are replaced.
  ///
  /// In a document that does not exist, only objects need the split: other fields written separately would
  /// mix with theirs.
  func split(
    _ members: [TextKey: Value], onlyObjects: Bool
  ) -> (merged: [TextKey: Value], replacements: [Edit]) {
    var replacements: [Edit] = []
    let merged = Self.split([], members, fields, onlyObjects, &replacements)
    return (merged, replacements)
  }

  private static func split(
    _ path: [TextKey], _ members: [TextKey: Value], _ fields: [FieldDeclaration], _ onlyObjects: Bool,
    _ replacements: inout [Edit]
  ) -> [TextKey: Value] {
    var members = members
    for field in fields {
      let path = path + [field.$name]
      switch (field.type, members[field.name]) {
      case (.register, .map?),
        (.register, _?) where !onlyObjects:
        guard let value = members.removeValue(forKey: field.$name) else { continue }
        replacements.append(.replace(path, value))
      case (.map(let inner), .map(let value)?):
        members[field.name] = .map(split(path, value, inner, onlyObjects, &replacements))
      default: break
      }
    }
    return members
  }
}
