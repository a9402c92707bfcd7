public import CRDTCore

/// A query that another peer may be asked to serve: all documents of one collection that match a predicate.
///
/// It is validated when it is made, also when it comes from a peer: it is parsed, within the limits of
/// queries, deterministic, and has an argument for every parameter.
public struct SubscriptionQuery: Hashable, Sendable {
  /// The language of the text.
  public enum Language: UInt8, Sendable {
    case dql = 0
    case builder = 1
  }

  /// The most bytes of the arguments in their canonical encoding.
  static let argumentBytes = 64 << 10

  public let language: Language
  @TextKey public private(set) var collection: String
  @TextKey public private(set) var text: String
  /// The values of the parameters; those that the query does not use are left out.
  ///
  /// A decimal is its text here, of which the text of the query makes a decimal.
  public let arguments: [TextKey: Value]
  /// The predicate with its arguments.
  ///
  /// Equivalent queries have equal predicates, however they are written.
  public let compiled: CompiledPredicate
  /// The condition on documents, with its arguments; `nil` when all match.
  package var predicate: Expression? { compiled.expression }

  /// Makes a query from `SELECT * FROM c [WHERE …]`.
  ///
  /// - Parameters:
  ///   - text: The statement.
  ///   - arguments: The values of its parameters.
  ///   - isRestricted: Whether ORDER BY and LIMIT are refused. If they are allowed, they have no effect:
  ///     every document that matches is sent.
  /// - Throws: What parsing throws; `unsupported` for any other part of a statement; `argument`; `limit`.
  public init(
    dql text: String, arguments: [TextKey: Value] = [:], isRestricted: Bool = true
  ) throws(QueryError) {
    let select = try SubscriptionValidator.check(try DQL.parseSubscription(text), isRestricted: isRestricted)
    try SubscriptionValidator.checkFields(of: select)
    if arguments.values.contains(where: \.holdsDecimal) {
      let sent = try DecimalArguments(dql: text, arguments)
      try self.init(dql: sent.text, arguments: sent.arguments, isRestricted: isRestricted)
      return
    }
    try self.init(select, text, arguments)
  }

  /// Makes a query from a statement that a peer sent.
  ///
  /// Only the other peer decides what its user may subscribe to. The collection's name alone is the field of
  /// that name, as earlier versions read it. This version refuses it in its own subscriptions.
  private init(fromPeer text: String, arguments: [TextKey: Value]) throws(QueryError) {
    var select = try SubscriptionValidator.check(try DQL.parseSubscription(text), isRestricted: false)
    let field = Expression.path([.key(TextKey(select.source.name))])
    select.predicate = select.predicate?.rewritten { $0 == .path([]) ? field : $0 }
    try self.init(select, text, arguments)
  }

  private init(_ select: Select, _ text: String, _ arguments: [TextKey: Value]) throws(QueryError) {
    let others = (select.order.map(\.expression) + [select.limit].compactMap { $0 }).map(\.parameters)
    try self.init(
      .dql, select.collection, text, arguments, select.predicate, others.reduce([]) { $0.union($1) })
  }

  /// Makes a query from a predicate of the builder language on a collection.
  ///
  /// - Throws: What parsing throws; `argument`; `limit`.
  public init(collection: String, builder text: String, arguments: [TextKey: Value] = [:]) throws(QueryError)
  {
    let predicate = try Builder.parse(text)
    if arguments.values.contains(where: \.holdsDecimal) {
      let sent = try DecimalArguments(builder: text, arguments)
      try self.init(collection: collection, builder: sent.text, arguments: sent.arguments)
      return
    }
    try self.init(
      .builder, collection, text, arguments, predicate == .literal(.bool(true)) ? nil : predicate, [])
  }

  private init(
    _ language: Language, _ collection: String, _ text: String, _ arguments: [TextKey: Value],
    _ predicate: Expression?, _ otherParameters: Set<TextKey>
  ) throws(QueryError) {
    try SubscriptionValidator.check(collection, predicate)
    let used = (predicate?.parameters ?? []).union(otherParameters)
    for name in used { _ = try Expression.argument(name, in: arguments) }
    self.language = language
    self.collection = collection
    self.text = text
    self.arguments = arguments.filter { used.contains($0.key) }
    compiled = try CompiledPredicate(predicate, arguments: arguments)
    var writer = ByteWriter()
    encodeArguments(to: &writer)
    guard writer.count <= Self.argumentBytes else {
      throw QueryError(.limit, "the arguments take more than \(Self.argumentBytes) bytes")
    }
  }

  // The predicates follow from the text, so equality and hashing ignore them.
  public static func == (left: Self, right: Self) -> Bool {
    left.language == right.language && left.$collection == right.$collection && left.$text == right.$text
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
  /// Writes the language, the collection, the text, then the arguments in the order of their names' bytes.
  package func encode(to writer: inout ByteWriter) {
    writer.write(language.rawValue)
    writer.writeString(collection)
    writer.writeString(text)
    encodeArguments(to: &writer)
  }

  private func encodeArguments(to writer: inout ByteWriter) {
    writer.writeVarint(arguments.count)
    for (name, value) in SortOrder.sorted(arguments) {
      writer.writeString(name.text)
      ValueCodec.write(value, to: &writer)
    }
  }

  /// Reads a query that a peer sent.
  ///
  /// If the query itself is refused, the reader is still after the query, so that one bad query need not end
  /// the session.
  ///
  /// - Throws: `truncated`, `malformed` or `limit`; a query that is not acceptable is `malformed`, with the
  ///   reason as its message.
  package init(from reader: inout ByteReader) throws(CodecError) {
    let start = reader.offset
    guard let language = Language(rawValue: try reader.readByte()) else {
      throw CodecError(.malformed, "a query's language is unknown", at: start)
    }
    let collection = try reader.readString()
    let text = try reader.readString()
    var arguments: [TextKey: Value] = [:]
    var previous: String?
    for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
      let name = try reader.readString()
      if let previous, previous.utf8Compare(name) >= 0 {
        throw CodecError(.malformed, "the arguments of a query are not in ascending order", at: start)
      }
      previous = name
      arguments[name] = try ValueCodec.read(&reader, depth: -1)
    }
    do {
      switch language {
      case .dql: try self.init(fromPeer: text, arguments: arguments)
      case .builder: try self.init(collection: collection, builder: text, arguments: arguments)
      }
    } catch {
      throw CodecError(error.code == .limit ? .limit : .malformed, error.message, at: start)
    }
    guard self.collection.isSame(as: collection) else {
      throw CodecError(.malformed, "a query names two collections", at: start)
    }
  }
}
