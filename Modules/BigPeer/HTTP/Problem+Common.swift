#if Server
  import CRDTCore
  import Facade
  import HTTPTypes
  import Links

  extension Problem {
    private static func challenge(_ error: String?) -> HTTPFields {
      [.wwwAuthenticate: "Bearer realm=\"dunlin\"" + (error.map { ", error=\"\($0)\"" } ?? "")]
    }

    /// The request has no key.
    static let noKey = Problem(
      .unauthorized, "authentication", "an API key is needed: Authorization: Bearer dk1…",
      headers: challenge(nil))

    /// The key is invalid, was revoked, or has expired.
    static let wrongKey = Problem(
      .unauthorized, "authentication", "the API key is unknown, was revoked, or has expired",
      headers: challenge("invalid_token"))

    /// The key came with a restored copy of the store.
    static let restored = Problem(
      .serviceUnavailable, "restored",
      "this server runs on a copy of its data that was restored: ask those who run it")

    /// The key's application cannot be served, or may be one that cannot be.
    static let missingApplication = Problem(
      .serviceUnavailable, "unavailable",
      "an application of this server cannot be served now, and the API key is unknown to the others: try again later",
      headers: [.retryAfter: "\(MissingApplication.patience.components.seconds)"])

    /// The key lacks the right.
    static let permission = Problem(
      .forbidden, "permission", "the API key may only read", headers: challenge("insufficient_scope"))

    /// The key lacks the right in a collection.
    static func permission(in collection: String) -> Problem {
      Problem(
        .forbidden, "permission", "the API key may not do that in the collection '\(collection)'",
        headers: challenge("insufficient_scope"))
    }

    /// The request concerns all collections, and the key is for some.
    static let onlyForAllCollections = Problem(
      .forbidden, "permission", "the API key is for some collections alone, and that concerns all of them",
      headers: challenge("insufficient_scope"))

    /// The proxy says that the request, with its key, came to it in the clear.
    static let insecure = Problem(
      .forbidden, "insecure", "the request came to the web proxy without TLS: use https there")

    /// The request exceeds the rate limit.
    static func rateLimit(_ whose: String, _ wait: Duration) -> Problem {
      Problem(
        .tooManyRequests, "rateLimit", "\(whose) sends more requests than it may",
        headers: [.retryAfter: "\(max(1, wait.components.seconds + 1))"])
    }

    /// There is no room now.
    static func busy(_ detail: String) -> Problem {
      Problem(.serviceUnavailable, "busy", detail, headers: [.retryAfter: "1"])
    }

    /// The request does not follow the API description.
    static func request(_ detail: String) -> Problem { Problem(.badRequest, "request", detail) }

    /// Checks a name or a label: what it shows must be what it is.
    ///
    /// - Throws: `request` for a text with control, format or line-ending characters, some of which change
    ///   the direction of writing.
    static func checkIsVisible(_ text: String, _ name: String) throws(Problem) {
      guard PlainText.isVisible(text) else {
        throw request("\(name) must have no control characters and no invisible ones")
      }
    }

    /// A value does not fit where it is used.
    static func argument(_ detail: String) -> Problem { Problem(.unprocessableContent, "argument", detail) }

    /// The same problem, with its place in the request.
    func within(_ place: String) -> Problem {
      var copy = self
      copy.members["place"] = .string(place)
      return copy
    }

    /// The problem for clients when a call of the database has failed.
    init(any error: any Error) {
      if let problem = error as? Problem {
        self = problem
        return
      }
      let translated = DunlinError.translating(error)
      guard let error = translated as? DunlinError else {
        self =
          translated is CancellationError
          ? .busy("the server stops")
          : Problem(.internalServerError, "internal", "the server failed; its log says how")
        if status.code == 500 { underlying = translated }
        return
      }
      var members: [TextKey: Value] = [:]
      for name in ["line", "column"] {
        members[TextKey(name)] = error.context[name].flatMap { Int64($0) }.map { .int($0) }
      }
      for name in ["path", "collection", "expected"] {
        members[TextKey(name)] = error.context[name].map { .string($0) }
      }
      let status = Self.status(of: error.code)
      // Messages of the disk or the system are only for the log.
      let detail = status.code == 500 ? "the server failed; its log says how" : error.message
      self.init(
        status, Code(rawValue: error.code.rawValue), detail, members: members,
        headers: status == .serviceUnavailable ? [.retryAfter: "1"] : [:])
      if status.code == 500 { underlying = error }
    }

    private static func status(of code: DunlinError.Code) -> HTTPResponse.Status {
      switch code {
      case .notFound, .indexNotFound, .unreachable: .notFound
      case .conflict, .indexExists, .exists, .removedInTransaction: .conflict
      case .denied, .permission: .forbidden
      case .full: HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
      case .io, .readOnlyStore, .corrupt, .poisoned, .other, .nestedWriteTransaction, .wouldBlock,
        .unsupportedVersion,
        .forked:
        .internalServerError
      case .closed, .cancelled, .timeout, .deadline, .noMemory, .tooManyFiles, .tooManyReaders,
        .indexNotReady,
        .unavailable:
        .serviceUnavailable
      default: .unprocessableContent
      }
    }
  }
#endif
