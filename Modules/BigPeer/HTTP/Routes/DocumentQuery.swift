#if Server
  import CRDTCore
  import DocStore
  import QueryEngine

  /// The documents of a collection that a request selects, in the language of the query builder.
  struct DocumentQuery: Sendable {
    /// The maximum length of a query, in bytes.
    private static let textBytes = 16 << 10
    /// The maximum number of sort keys.
    private static let orderKeys = 16

    let collection: String
    let arguments: [TextKey: Value]
    private let predicate: Expression?
    /// Whether the request has a query, even one for all documents.
    let isGiven: Bool
    private var order: [SortKey] = []
    var limit: Int?
    var offset = 0

    /// Reads `collection`, `query` and `args`.
    ///
    /// - Throws: `request`; the codes of queries.
    init(_ fields: inout RequestFields) throws {
      try self.init(collection: try Self.collection(&fields), &fields)
    }

    /// Reads `query` and `args`.
    init(collection: String, _ fields: inout RequestFields) throws {
      self.collection = collection
      let text = try fields.text("query", bytes: Self.textBytes)
      arguments = try fields.map("args") ?? [:]
      isGiven = text != nil
      predicate = try text.map { try Builder.parse($0) }
    }

    /// Reads the name of a collection of documents.
    static func collection(_ fields: inout RequestFields) throws -> String {
      let name = try fields.requiredText("collection", bytes: 1_024)
      guard try SystemCollection.named(name) == nil else {
        throw QueryError(
          .unsupported, "the rows of '\(name)' are no documents: query it with a DQL statement")
      }
      try CollectionName.check(name, operation: "request")
      return name
    }

    /// Reads the id of a document, as `id` or `_id`; `nil` if there is none.
    static func id(_ fields: inout RequestFields) throws -> DocumentID? {
      let (id, other) = (fields.value("id"), fields.value("_id"))
      guard id == nil || other == nil else { throw Problem.request("id and _id are the same: give one") }
      return try (id ?? other).map { try DocumentID($0) }
    }

    /// Reads `sort`.
    mutating func readOrder(_ fields: inout RequestFields) throws {
      for (index, key) in (try fields.list("sort", count: 0...Self.orderKeys) ?? []).enumerated() {
        let place = "sort[\(index)]"
        var members = try RequestFields(key, at: place)
        let property = try members.requiredText("property", bytes: Self.textBytes)
        let direction = try members.text("direction") ?? "asc"
        try members.finish()
        guard let isDescending = ["asc": false, "desc": true][direction] else {
          throw Problem.request("\(place).direction must be asc or desc")
        }
        order.append(SortKey(expression: try Builder.parse(property), descending: isDescending))
      }
    }

    /// The query for whole documents.
    var select: Select {
      Select(
        collection: collection, predicate: predicate, order: order, limit: limit.map(Self.literal),
        offset: offset > 0 ? Self.literal(offset) : nil)
    }

    private static func literal(_ number: Int) -> Expression { .literal(.int(Int64(number))) }
  }
#endif
