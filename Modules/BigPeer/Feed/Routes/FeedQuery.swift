#if Server
  import CRDTCore
  import DocStore
  import DunlinFeed
  import HTTPTypes
  import Hummingbird

  /// Which changes a stream sends, and from which position on.
  struct FeedQuery {
    let filter: FeedFilter
    /// `nil` means now.
    let start: Start?

    enum Start: Hashable {
      case beginning
      case position(FeedPosition)

      /// Reads a token, or the word `beginning`.
      ///
      /// - Throws: `request`.
      init(_ text: String) throws(Problem) {
        guard text != "beginning" else {
          self = .beginning
          return
        }
        do {
          self = .position(try FeedPosition(token: text))
        } catch {
          throw Problem.request("after is no position of a change feed")
        }
      }

      /// The position in the log of a store.
      func position(in store: Store) -> FeedPosition {
        switch self {
        case .beginning: .beginning(of: store)
        case .position(let position): position
        }
      }
    }

    /// Reads the query of an address: `query` once or several times, `args` and `after`.
    ///
    /// - Throws: `request`; the codes of queries.
    init(_ request: Request) throws {
      let parameters = try QueryParameters(request)
      try parameters.check(only: ["query", "args", "after"])
      let statements = parameters[values: "query"]
      guard !statements.isEmpty else {
        throw Problem.request("the parameter query is missing: SELECT * FROM collection WHERE …")
      }
      var arguments: [TextKey: Value] = [:]
      if let text = parameters["args"] {
        let options = JSON.ReadOptions(interpretsTags: true)
        guard case .map(let members)? = try? JSON.parse(text, options: options) else {
          throw Problem.request("the parameter args must be a JSON object")
        }
        arguments = members
      }
      filter = try FeedFilter(dql: statements, arguments: arguments)
      start = try Self.start(request, parameters["after"])
    }

    /// The query of a ticket, which a reconnecting client continues from its own position.
    ///
    /// - Throws: `request` if the address has other parameters than `ticket`.
    init(_ ticket: StreamTickets.Ticket, _ request: Request) throws(Problem) {
      try QueryParameters(request).check(only: ["ticket"])
      filter = ticket.filter
      start = try Self.start(request, nil) ?? .position(ticket.start)
    }

    /// Reads the body of a request: `statement` or `statements`, `args` and `after`.
    ///
    /// - Throws: `request`; the codes of queries.
    init(_ fields: inout RequestFields, _ request: Request) throws {
      let statements = try fields.statements()
      let arguments = try fields.map("args") ?? [:]
      let after = try fields.text("after")
      try fields.finish()
      filter = try FeedFilter(dql: statements, arguments: arguments)
      start = try Self.start(request, after)
    }

    /// The start of the stream.
    ///
    /// A reconnecting client sends its position in a header, which overrides `after`. A browser repeats the
    /// header whatever the response is: a position that cannot be read starts with `requeryRequired`.
    private static func start(_ request: Request, _ after: String?) throws(Problem) -> Start? {
      if let last = request.headers[.lastEventID], !last.isEmpty {
        return (try? Start(last)) ?? .position(.unknown)
      }
      return try after.map { text throws(Problem) in try Start(text) }
    }
  }

  extension HTTPField.Name {
    /// The position of the last event that a client of server-sent events has received.
    fileprivate static var lastEventID: HTTPField.Name {
      guard let name = HTTPField.Name("Last-Event-ID") else { preconditionFailure("a header has no name") }
      return name
    }
  }
#endif
