import CRDTCore
import DocStore
import Synchronization

/// A likely mistake in a statement, which is not an error.
enum StatementHint: Hashable, Sendable {
  case unknownCollection(UnknownCollection)
  case unknownField(UnknownField)
  case documentByName(DocumentByName)
  /// A ``TextComparison`` that values of the field show to be a mistake, as a sentence.
  case textComparison(String)

  /// One sentence, for those who may know of all collections.
  var message: String { message(naming: nil) }

  /// One sentence.
  ///
  /// - Parameter mayName: Whether a collection that the statement does not name may be named; `nil` for all.
  /// - Returns: The sentence, without a full stop.
  func message(naming mayName: ((String) -> Bool)?) -> String {
    switch self {
    case .unknownCollection(let collection): collection.message(naming: mayName)
    case .unknownField(let field): field.message
    case .documentByName(let document): document.message
    case .textComparison(let message): message
    }
  }

  /// Whether it is worth a line in the log.
  ///
  /// Many applications query a collection before its first document is written or arrives. So a missing
  /// collection is only logged where a similar name exists.
  var isLogged: Bool {
    switch self {
    case .unknownCollection(let collection): collection.nearest != nil
    case .unknownField, .documentByName, .textComparison: true
    }
  }
}

/// A collection of which no document was ever written here.
struct UnknownCollection: Hashable, Sendable {
  let name: TextKey
  /// A similar name of a collection.
  let nearest: String?

  func message(naming mayName: ((String) -> Bool)?) -> String {
    let named = nearest.flatMap { mayName?($0) ?? true ? $0 : nil }
    return "there is no collection '\(name.text.prefix(64))' yet"
      + (named.map { "; did you mean '\($0.prefix(64))'?" } ?? "")
  }
}

/// A source's name alone, which is its whole document, where a document may also have a field of that name.
struct DocumentByName: Hashable, Sendable {
  let collection: TextKey
  /// The alias of the source, or the name of the collection.
  let name: TextKey

  var message: String {
    let field = Printer.text(of: [.key(name), .key(name)])
    return "'\(name.text.prefix(64))' alone is the whole document of '\(collection.text.prefix(64))': "
      + "its field of that name is \(field.prefix(128))"
  }

  /// The sources whose whole documents are read by a name that a field may have too.
  static func all(
    in expressions: [Expression], of sources: [Source], _ catalogue: QueryCatalogue
  ) -> [DocumentByName] {
    let places = expressions.reduce(into: Set<Int>()) { $0.formUnion($1.documentsRead) }
    return places.sorted().compactMap { place in
      guard sources.indices.contains(place) else { return nil }
      let name = TextKey(sources[place].name)
      guard let keys = catalogue[sources[place].collection]?.collection.keys, keys.count > 0,
        !keys.rulesOut(name)
      else { return nil }
      return DocumentByName(collection: sources[place].$collection, name: name)
    }
  }
}

extension StatementHint {
  /// The likely mistakes in a statement on some sources.
  ///
  /// - Parameters:
  ///   - conditions: Its conditions on documents, whose fields should exist.
  ///   - expressions: All its expressions on documents.
  ///   - sources: Its sources, in the order of the text.
  ///   - catalogue: The state of its collections.
  /// - Returns: The hints; each collection and field once.
  static func all(
    in conditions: [Expression], _ expressions: [Expression], of sources: [Source],
    _ catalogue: QueryCatalogue
  ) -> [StatementHint] {
    catalogue.unknown.map { .unknownCollection($0) }
      + UnknownField.all(in: conditions, of: sources, catalogue).map { .unknownField($0) }
      + DocumentByName.all(in: expressions, of: sources, catalogue).map { .documentByName($0) }
  }
}

extension Select {
  /// The likely mistakes in the query, without those of its inner queries.
  ///
  /// - Complexity: O(*n*) in the nodes of its expressions; in the collection's names for each unknown field.
  func mistakes(_ catalogue: QueryCatalogue) -> [StatementHint] {
    let conditions = (predicate.map { [$0] } ?? []) + joins.map(\.condition)
    return StatementHint.all(
      in: conditions, expressions, of: [source] + joins.map(\.source), catalogue)
  }
}

extension Update {
  /// The likely mistakes in the statement.
  func mistakes(_ catalogue: QueryCatalogue) -> [StatementHint] {
    StatementHint.all(in: predicate.map { [$0] } ?? [], expressions, of: [target], catalogue)
  }
}

extension Removal {
  /// The likely mistakes in the statement.
  func mistakes(_ catalogue: QueryCatalogue) -> [StatementHint] {
    StatementHint.all(in: predicate.map { [$0] } ?? [], expressions, of: [target], catalogue)
  }
}

extension Expression {
  /// The sources of which the whole document is read.
  fileprivate var documentsRead: Set<Int> {
    switch self {
    case .path(let path): path.isEmpty ? [0] : []
    case .field(let source, let path): path.isEmpty ? [source] : []
    default: children.reduce(into: []) { $0.formUnion($1.documentsRead) }
    }
  }
}

extension Engine {
  /// Reports likely mistakes to the statement, and once to the log.
  func note(_ hints: [StatementHint], _ context: StatementContext) {
    guard !hints.isEmpty else { return }
    context.note(hints)
    hintLog.note(hints)
  }

  /// Logs the likely mistakes in an observed query, each once.
  ///
  /// - Parameter statement: The query.
  package func logMistakes(in statement: Statement) {
    do {
      try store.read { transaction in
        for select in statement.selects {
          let catalogue = try QueryCatalogue(Statement.select(select).collections, in: transaction)
          hintLog.note(select.mistakes(catalogue))
        }
      }
    } catch {
      // The observer itself reports a store that cannot be read.
    }
  }
}

/// Logs each hint once.
final class HintLog: Sendable {
  /// The most hints that are remembered as logged; further ones are not logged.
  private static let limit = 1_024

  private let logged = Mutex<Set<StatementHint>>([])
  private let log: @Sendable (String) -> Void

  init(_ environment: EngineEnvironment) { log = environment.hint ?? environment.log }

  func note(_ hints: [StatementHint]) {
    let hints = hints.filter(\.isLogged)
    guard !hints.isEmpty else { return }
    let new = logged.withLock { logged in
      hints.filter { logged.count < Self.limit && logged.insert($0).inserted }
    }
    for hint in new { log(hint.message) }
  }
}
