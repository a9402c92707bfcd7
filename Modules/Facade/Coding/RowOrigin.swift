import CRDTCore
import QueryEngine

/// Where rows come from, so that an error can name the collection.
struct RowOrigin: Sendable {
  private enum Source {
    case unknown
    case collection(String)
    case statement(String)
  }

  private let source: Source

  /// Rows whose collection is not known.
  static let unknown = RowOrigin(source: .unknown)

  /// The documents of one collection.
  static func collection(_ name: String) -> RowOrigin { RowOrigin(source: .collection(name)) }

  /// The rows of a statement, which is parsed only when an error needs its collection.
  static func statement(_ text: String) -> RowOrigin { RowOrigin(source: .statement(text)) }

  /// The rows of a parsed statement.
  static func statement(_ statement: Statement) -> RowOrigin {
    statement.onlyCollection.map { collection($0) } ?? unknown
  }

  /// The one collection that the rows come from; `nil` for joins, set operators and unknown origins.
  ///
  /// - Complexity: O(*n*) in the length of a statement that was not parsed.
  var collection: String? {
    switch source {
    case .unknown: nil
    case .collection(let name): name
    case .statement(let text): (try? DQL.parse(text))?.onlyCollection
    }
  }
}

extension Statement {
  /// The collection of a statement on exactly one.
  fileprivate var onlyCollection: String? {
    switch self {
    case .select(let select): select.joins.isEmpty ? select.source.collection : nil
    case .insert(let insert): insert.collection
    case .update(let update): update.collection
    case .delete(let removal), .evict(let removal): removal.target.collection
    case .compound, .createIndex, .dropIndex, .alterSystem, .show, .explain, .profile, .advise: nil
    }
  }
}

extension DunlinError {
  /// The error of a row that cannot be decoded, with the places in its context that are known.
  ///
  /// - Parameters:
  ///   - id: The id of the row's document.
  ///   - row: The number of the row, which counts from 0.
  ///   - origin: Where the rows come from.
  /// - Returns: The error with `document`, `row` and `collection`.
  func located(document id: DocumentID?, row: Int? = nil, _ origin: RowOrigin) -> DunlinError {
    var located = self
    if let row {
      located = DunlinError(
        code, "\(message) in row \(row)", context: context, underlying: underlying
      ).located("row", "\(row)")
    }
    if let id { located = located.located("document", JSON.text(of: id.value)) }
    if let collection = origin.collection { located = located.located(in: collection) }
    return located
  }
}
