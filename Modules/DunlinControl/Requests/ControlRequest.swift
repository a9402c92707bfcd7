import CRDTCore

/// A request of a client, whose fields have all been checked.
struct ControlRequest: Sendable {
  enum Action: Sendable {
    case query(String, arguments: [TextKey: Value])
    case ask(String, arguments: [TextKey: Value], peer: String)
    case watch(String, arguments: [TextKey: Value], limit: Int)
    case insert(collection: String, strategy: WriteStrategy)
    case evict(collection: String, document: String)
    case erase(collection: String, documents: [String])
    case statistics
    case collections
    case schema(collection: String?, documents: Int?)
    case inspect(collection: String?, document: String?)
    case verify
    case backup(target: String)
    case addBackup(series: String, asBase: Bool)
    case status
    case clock(isTrusted: Bool)
    case why(collection: String, document: String, peer: String, isIncoming: Bool)
  }

  /// The number of rows of a watched query to send if the client gives none.
  static let watchedRows = 1_000

  /// The number that identifies the request in its answers.
  let id: Int
  /// The application of a server that it is for; `nil` where the peer has one.
  var application: String?
  let action: Action
}

/// A line from a client.
enum ControlLine {
  /// A request, with the documents that came with it.
  case request(ControlRequest, [Value], isLast: Bool)
  /// More documents of a request whose documents come in several lines.
  case documents(id: Int, [Value], isLast: Bool)
  case cancel(id: Int)

  /// Reads a line.
  ///
  /// - Throws: `argument` for a field that is missing or has another type, and for an unknown action.
  init(_ message: [TextKey: Value]) throws(ControlError) {
    var line = ControlFields(message, of: "a request")
    if let id = try line.integer("cancel") {
      self = .cancel(id: id)
      return
    }
    guard let id = try line.integer("id") else {
      throw ControlError(
        .argument, "a request needs an integer \"id\", or \"cancel\" with that of another one")
    }
    guard let name = try line.text("do") else {
      guard let documents = try line.list("documents") else {
        throw ControlError(.argument, "a request needs a text \"do\"")
      }
      self = .documents(id: id, documents, isLast: try line.flag("more") != true)
      return
    }
    var fields = ControlFields(message, of: name)
    let request = ControlRequest(
      id: id, application: try fields.text("application"), action: try ControlRequest.Action(name, &fields))
    guard case .insert = request.action else {
      self = .request(request, [], isLast: true)
      return
    }
    self = .request(request, try fields.list("documents") ?? [], isLast: try fields.flag("more") != true)
  }
}

extension ControlRequest.Action {
  fileprivate init(_ name: String, _ fields: inout ControlFields) throws(ControlError) {
    switch name {
    case "query":
      self = .query(try fields.requiredText("query"), arguments: try fields.map("arguments") ?? [:])
    case "ask":
      self = .ask(
        try fields.requiredText("query"), arguments: try fields.map("arguments") ?? [:],
        peer: try fields.requiredText("peer"))
    case "watch":
      self = .watch(
        try fields.requiredText("query"), arguments: try fields.map("arguments") ?? [:],
        limit: try fields.integer("limit", in: 0...Int.max) ?? ControlRequest.watchedRows)
    case "insert":
      self = .insert(
        collection: try fields.requiredText("collection"),
        strategy: try WriteStrategy(named: fields.text("strategy") ?? "merge"))
    case "evict":
      self = .evict(
        collection: try fields.requiredText("collection"), document: try fields.requiredText("document"))
    case "erase":
      self = .erase(
        collection: try fields.requiredText("collection"), documents: try Self.ids(fields.list("ids")))
    case "statistics": self = .statistics
    case "collections": self = .collections
    case "schema":
      self = .schema(
        collection: try fields.text("collection"),
        documents: try fields.integer("documents", in: 0...Int.max))
    case "inspect":
      self = .inspect(
        collection: try fields.text("collection"), document: try fields.text("document"))
    case "verify": self = .verify
    case "backup": self = .backup(target: try fields.requiredText("target"))
    case "addBackup":
      self = .addBackup(
        series: try fields.requiredText("series"), asBase: try fields.flag("asBase") ?? false)
    case "status": self = .status
    case "clock": self = .clock(isTrusted: try fields.flag("trust") ?? false)
    case "why":
      self = .why(
        collection: try fields.requiredText("collection"), document: try fields.requiredText("document"),
        peer: try fields.requiredText("peer"), isIncoming: try fields.flag("isIncoming") ?? false)
    default: throw ControlError(.argument, "there is no action \"\(name)\"")
    }
  }
}

extension ControlRequest.Action {
  /// Reads the ids of documents as users write them.
  ///
  /// - Throws: `argument` if there are none, or if one is no text.
  private static func ids(_ list: [Value]?) throws(ControlError) -> [String] {
    var ids: [String] = []
    for case .string(let text) in list ?? [] { ids.append(text) }
    guard !ids.isEmpty, ids.count == list?.count else {
      throw ControlError(.argument, "erase needs \"ids\", a JSON array of texts")
    }
    return ids
  }
}

extension WriteStrategy {
  /// Reads the name of a strategy in a request.
  ///
  /// - Throws: `argument` for an unknown name.
  fileprivate init(named name: String) throws(ControlError) {
    switch name {
    case "merge": self = .merge
    case "insertIfAbsent": self = .insertIfAbsent
    case "insertDefaultIfAbsent": self = .insertDefaultIfAbsent
    case "updateDifferentValues": self = .updateDifferentValues
    default: throw ControlError(.argument, "there is no strategy \"\(name)\"")
    }
  }
}
