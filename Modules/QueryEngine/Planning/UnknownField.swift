import CRDTCore
import DocStore
import Synchronization

/// A field in the conditions of a query that no document of its collection has or ever had.
struct UnknownField: Hashable, Sendable {
  let collection: TextKey
  let name: TextKey
  /// A similar field name of the collection.
  let nearest: String?

  var message: String {
    "a query asks for the field '\(name.text.prefix(64))', which no document of '\(collection.text)' has"
      + (nearest.map { ": did you mean '\($0.prefix(64))'?" } ?? "")
  }
}

extension Select {
  /// The fields in WHERE and ON that are not in the collections' tables of names.
  ///
  /// Collections without documents, and names of maps below the root, are not checked.
  ///
  /// - Complexity: O(*n*) in the nodes of the conditions; in the collection's names for each such field.
  func unknownFields(_ catalogue: QueryCatalogue) -> [UnknownField] {
    let conditions = (predicate.map { [$0] } ?? []) + joins.map(\.condition)
    return UnknownField.all(in: conditions, of: [source] + joins.map(\.source), catalogue)
  }
}

extension UnknownField {
  /// The fields in conditions on some sources that are not in the collections' tables of names.
  static func all(
    in conditions: [Expression], of sources: [Source], _ catalogue: QueryCatalogue
  ) -> [UnknownField] {
    conditions.flatMap(\.rootFields).compactMap { place, name in
      guard name != "_id", sources.indices.contains(place),
        let keys = catalogue[sources[place].collection]?.collection.keys, keys.count > 0, keys.rulesOut(name)
      else { return nil }
      return UnknownField(
        collection: sources[place].$collection, name: name,
        nearest: NameDistance.nearest(to: name.text, among: keys.names))
    }
  }
}

extension Expression {
  /// The first keys of the paths that are read, with their sources.
  fileprivate var rootFields: [(source: Int, name: TextKey)] {
    switch self {
    case .path(let path): path.first?.key.map { [(0, $0)] } ?? []
    case .field(let source, let path): path.first?.key.map { [(source, $0)] } ?? []
    default: children.flatMap(\.rootFields)
    }
  }
}

extension PathComponent {
  fileprivate var key: TextKey? {
    switch self {
    case .key(let key): key
    case .index: nil
    }
  }
}

extension Engine {
  /// Reports unknown fields to the statement, and once to the log.
  func note(_ fields: [UnknownField], _ context: StatementContext) {
    guard !fields.isEmpty else { return }
    context.note(fields)
    fieldHints.note(fields)
  }
}

/// Logs each unknown field, and each other likely mistake, once.
final class FieldHints: Sendable {
  /// The most fields that are remembered as logged; further ones are not logged.
  private static let limit = 1_024

  private let logged = Mutex<Set<UnknownField>>([])
  private let loggedSentences = Mutex<Set<String>>([])
  private let log: @Sendable (String) -> Void

  init(_ environment: EngineEnvironment) { log = environment.hint ?? environment.log }

  func note(_ sentence: String) {
    let isNew = loggedSentences.withLock { $0.count < Self.limit && $0.insert(sentence).inserted }
    if isNew { log(sentence) }
  }

  func note(_ fields: [UnknownField]) {
    guard !fields.isEmpty else { return }
    let new = logged.withLock { logged in
      fields.filter { logged.count < Self.limit && logged.insert($0).inserted }
    }
    for field in new { log(field.message) }
  }
}
