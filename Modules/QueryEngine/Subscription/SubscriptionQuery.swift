public import CRDTCore

/// A query that another peer may be asked to serve: all documents of one collection that match a predicate.
///
/// It is validated when it is made, also when it comes from a peer: parsed, within the limits of queries,
/// deterministic, and with an argument for every parameter.
public struct SubscriptionQuery: Hashable, Sendable {
  /// The language of the text.
  public enum Language: UInt8, Sendable {
    case dql = 0
    case builder = 1
  }

  /// Bytes that the arguments may take in their canonical encoding.
  static let argumentBytes = 64 << 10

  public let language: Language
  public let collection: String
  public let text: String
  /// The values of the parameters; those that the query does not use are left out.
  public let arguments: [String: Value]
  /// What documents must fulfil, its parameters not yet bound; `nil` when all match.
  package let predicate: Expression?

  /// Takes `SELECT * FROM c [WHERE …]`.
  ///
  /// - Throws: What parsing throws; `unsupported` for any other part of a statement; `argument`; `limit`.
  public init(dql text: String, arguments: [String: Value] = [:]) throws(QueryError) {
    let select = try subscriptionSubset(of: try DQL.parse(text))
    try self.init(.dql, select.collection, text, arguments, select.predicate)
  }

  /// Takes a predicate of the builder language on a collection.
  ///
  /// - Throws: What parsing throws; `argument`; `limit`.
  public init(collection: String, builder text: String, arguments: [String: Value] = [:]) throws(QueryError) {
    let predicate = try Builder.parse(text)
    try self.init(.builder, collection, text, arguments, predicate == .literal(.bool(true)) ? nil : predicate)
  }

  private init(
    _ language: Language, _ collection: String, _ text: String, _ arguments: [String: Value],
    _ predicate: Expression?
  ) throws(QueryError) {
    guard (1...Limits.collectionNameBytes).contains(collection.utf8.count), !collection.utf8.contains(0)
    else {
      throw QueryError(
        .argument, "a collection's name has 1 to \(Limits.collectionNameBytes) bytes, none zero")
    }
    guard !collection.hasPrefix("system:") else {
      throw QueryError(.unsupported, "Unsupported feature: a virtual collection")
    }
    guard predicate?.isDeterministic ?? true else {
      throw QueryError(
        .unsupported, "Unsupported feature: a function that depends on more than its arguments")
    }
    if let feature = predicate?.firstUnsupportedFeature {
      throw QueryError(.unsupported, "Unsupported feature: \(feature)")
    }
    let used = predicate?.parameters ?? []
    self.language = language
    self.collection = collection
    self.text = text
    self.arguments = arguments.filter { used.contains($0.key) }
    self.predicate = predicate
    for name in used { _ = try Expression.argument(name, in: arguments) }
    var writer = ByteWriter()
    encodeArguments(to: &writer)
    guard writer.count <= Self.argumentBytes else {
      throw QueryError(.limit, "the arguments take more than \(Self.argumentBytes) bytes")
    }
  }

  // The predicate follows from the text, so neither equality nor hashing looks at it.
  public static func == (left: Self, right: Self) -> Bool {
    left.language == right.language && left.collection == right.collection && left.text == right.text
      && left.arguments == right.arguments
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(language)
    hasher.combine(collection)
    hasher.combine(text)
    hasher.combine(arguments)
  }
}

extension SubscriptionQuery {
  /// Language, collection, text, then the arguments in the order of their names' bytes.
  package func encode(to writer: inout ByteWriter) {
    writer.write(language.rawValue)
    writer.writeString(collection)
    writer.writeString(text)
    encodeArguments(to: &writer)
  }

  private func encodeArguments(to writer: inout ByteWriter) {
    writer.writeVarint(arguments.count)
    for (name, value) in SortOrder.sorted(arguments) {
      writer.writeString(name)
      ValueCodec.write(value, to: &writer)
    }
  }

  /// Reads a query that a peer sent.
  ///
  /// The reader stands after the query also when the query itself is refused, so that one bad query need not
  /// end a conversation.
  ///
  /// - Throws: `truncated`, `malformed` or `limit`; a query that is not acceptable is `malformed`, with what
  ///   is wrong as its message.
  package init(from reader: inout ByteReader) throws(CodecError) {
    let start = reader.offset
    guard let language = Language(rawValue: try reader.readByte()) else {
      throw CodecError(.malformed, "a query's language is unknown", at: start)
    }
    let collection = try reader.readString()
    let text = try reader.readString()
    var arguments: [String: Value] = [:]
    var previous: String?
    for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
      let name = try reader.readString()
      if let previous, previous.utf8Compare(name) >= 0 {
        throw CodecError(.malformed, "the arguments of a query are not in ascending order", at: start)
      }
      previous = name
      arguments[name] = try ValueCodec.read(&reader)
    }
    do {
      switch language {
      case .dql: try self.init(dql: text, arguments: arguments)
      case .builder: try self.init(collection: collection, builder: text, arguments: arguments)
      }
    } catch {
      throw CodecError(error.code == .limit ? .limit : .malformed, error.message, at: start)
    }
    guard self.collection == collection else {
      throw CodecError(.malformed, "a query names two collections", at: start)
    }
  }
}

/// The part of the language that peers answer for each other: `SELECT * FROM c [WHERE …]`.
///
/// - Returns: The statement, which has nothing but a collection and a predicate.
/// - Throws: `unsupported` that names the first feature beyond it.
package func subscriptionSubset(of statement: Statement) throws(QueryError) -> Select {
  guard case .select(let select) = statement else {
    throw QueryError(.unsupported, "Unsupported feature: only SELECT can be subscribed to")
  }
  let features: [(isUsed: Bool, name: String)] = [
    (select.distinct, "DISTINCT"),
    (!select.joins.isEmpty, "JOIN"),
    (!select.groups.isEmpty, "GROUP BY"),
    (select.having != nil, "HAVING"),
    (!select.source.types.isEmpty, "a type definition"),
    (!select.source.hints.isEmpty, "USE INDEX or USE DIRECTIVES"),
    (select.projection != .all, "A projection other than wildcard (*)"),
    (!select.order.isEmpty, "ORDER BY"),
    (select.limit != nil, "LIMIT"),
    (select.offset != nil, "OFFSET"),
    (select.collection.hasPrefix("system:"), "a virtual collection"),
  ]
  if let feature = features.first(where: \.isUsed) {
    throw QueryError(.unsupported, "Unsupported feature: \(feature.name)")
  }
  return select
}
