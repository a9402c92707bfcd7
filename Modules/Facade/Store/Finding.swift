import CRDTCore
import QueryEngine

/// A query of the builder language over one collection, with its order.
///
/// An error in the query is kept until the query is used.
struct Finding: Sendable {
  let collection: String
  let text: String
  private(set) var arguments: [TextKey: Value] = [:]
  private var predicate: Expression?
  private var order: [SortKey] = []
  private var limit: Int?
  private var offset = 0
  private var failure: DunlinError?

  init(collection: String, text: String, arguments: [String: Any?]) {
    self.init(collection, text) { try Value.fields(arguments) }
  }

  init(collection: String, text: String, arguments: some Encodable) {
    self.init(collection, text) { try ValueEncoding.arguments(arguments) }
  }

  private init(_ collection: String, _ text: String, _ arguments: () throws -> [TextKey: Value]) {
    self.collection = collection
    self.text = text
    do {
      self.arguments = try arguments()
      predicate = try Self.parse(text)
    } catch {
      failure = DunlinError(any: error).located(in: collection)
    }
  }

  private static func parse(_ text: String) throws(DunlinError) -> Expression {
    do {
      return try Builder.parse(text)
    } catch {
      throw DunlinError(error)
    }
  }

  func sorted(_ path: String, _ direction: DunlinSortDirection) -> Finding {
    var copy = self
    do throws(DunlinError) {
      copy.order.append(SortKey(expression: try Self.parse(path), descending: direction == .descending))
    } catch {
      copy.failure = failure ?? error.located(in: collection)
    }
    return copy
  }

  func limited(_ count: Int) -> Finding {
    var copy = self
    copy.limit = count
    return copy
  }

  func skipping(_ count: Int) -> Finding {
    var copy = self
    copy.offset = count
    return copy
  }

  /// Whether the query returns all matches, in no specified order.
  var isWhole: Bool { order.isEmpty && limit == nil && offset == 0 }

  private var isVirtual: Bool {
    get throws(DunlinError) {
      do {
        return try SystemCollection.named(collection) != nil
      } catch {
        throw DunlinError(error)
      }
    }
  }

  func checked() throws(DunlinError) { if let failure { throw failure } }

  /// The query for whole documents.
  ///
  /// - Throws: The error in the query; `unsupported` for a virtual collection, whose rows are not documents.
  func select() throws(DunlinError) -> Select {
    try checked()
    guard try isVirtual == false else {
      throw DunlinError(
        .unsupported, "the rows of '\(collection)' are no documents: query it with DQL")
    }
    return Select(
      collection: collection, predicate: predicate, order: order, limit: limit.map(Self.literal),
      offset: Self.literal(offset))
  }

  /// The same query, limited to its first document.
  var first: Finding { limited(min(limit ?? 1, 1)) }

  /// A query that counts the documents, without its limit and offset.
  func counting() throws(DunlinError) -> Select {
    guard (limit ?? 0) >= 0, offset >= 0 else {
      throw DunlinError(.argument, "a limit and an offset are not negative")
    }
    var all = self
    (all.order, all.limit, all.offset) = ([], nil, 0)
    var query = try all.select()
    query.projection = .countAll(alias: Self.countColumn)
    return query
  }

  /// The count of the counting query's row, after limit and offset are applied.
  func count(_ row: Row?) throws -> Int {
    guard case .int(let number)? = try row?.values()[Self.countColumn] else { return 0 }
    return min(max(Int(clamping: number) - offset, 0), limit ?? .max)
  }

  private static let countColumn: TextKey = "count"

  func removal() throws(DunlinError) -> Removal {
    try checked()
    return Removal(
      collection: collection, predicate: predicate, order: order, limit: limit.map(Self.literal),
      offset: Self.literal(offset))
  }

  private static func literal(_ number: Int) -> Expression { .literal(.int(Int64(number))) }
}

/// The direction of a sort.
public enum DunlinSortDirection: Hashable, Sendable { case ascending, descending }
