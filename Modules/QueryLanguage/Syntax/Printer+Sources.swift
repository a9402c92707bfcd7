import CRDTCore

extension Printer {
  static func text(of source: Source) -> String {
    var text = source.types.isEmpty ? "" : "COLLECTION "
    text += collection(source.collection)
    if !source.types.isEmpty { text += " (\(source.types.map(self.text).joined(separator: ", ")))" }
    if let alias = source.alias { text += " AS \(name(alias.text))" }
    return text + self.text(of: source.hints)
  }

  private static func collection(_ collection: String) -> String {
    let prefix = SystemCollection.prefix
    guard collection.utf8.starts(with: prefix.utf8) else { return name(collection) }
    return prefix + name(String(collection.dropFirst(prefix.count)))
  }

  private static func text(of field: FieldDeclaration) -> String {
    "\(name(field.name)) \(text(of: field.type))"
  }

  private static func text(of type: FieldType) -> String {
    switch type {
    case .register: "REGISTER"
    case .map(let fields):
      "MAP" + (fields.isEmpty ? "" : "(\(fields.map(text).joined(separator: ", ")))")
    case .counter: "COUNTER"
    case .pnCounter: "PN_COUNTER"
    case .attachment: "ATTACHMENT"
    }
  }

  /// Hints as USE INDEX if that is enough, otherwise as directives.
  private static func text(of hints: Hints) -> String {
    if hints.isEmpty { return "" }
    if let indexes = hints.indexes, indexes.count < 2, hints == Hints(indexes: indexes) {
      return " USE INDEX \(quoted(indexes.first?.text ?? ""))"
    }
    var directives: [TextKey: Value] = [:]
    directives["#index"] = hints.indexes.map { .array($0.map { .string($0.text) }) }
    directives["#prefer_order"] = hints.prefersOrder.map(Value.bool)
    directives["#max_scans"] = hints.maximumScans.map { .int(Int64($0)) }
    directives["#max_joins"] = hints.maximumJoins.map { .int(Int64($0)) }
    return " USE DIRECTIVES \(quoted(JSON.text(of: .map(directives))))"
  }

  func text(of index: CreateIndex) -> String {
    let keys = index.keys.map(\.text)
    return "CREATE INDEX \(index.allowsExisting ? "IF NOT EXISTS " : "")\(Self.name(index.name)) ON "
      + "\(Self.name(index.collection)) (\(keys.joined(separator: ", ")))"
  }
}

extension CreateIndex.Key {
  /// The key as in CREATE INDEX.
  package var text: String {
    let path = Printer.text(of: path.map(PathComponent.key))
    let indexed =
      switch part {
      case .value: path
      case .lowercase: "(lower(\(path)))"
      case .elements: path + "[*]"
      }
    return indexed + (descending ? " DESC" : "")
  }
}

extension Source {
  /// The name of the source in the statement.
  package var name: String { alias?.text ?? collection }
}
