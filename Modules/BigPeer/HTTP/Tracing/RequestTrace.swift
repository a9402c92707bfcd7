#if Server
  import HTTPTypes
  package import Logging

  /// What names a request in the log, in its answer, and at services that it leads to.
  package struct RequestTrace: Sendable {
    /// The request that the current task carries out.
    @TaskLocal static var current: RequestTrace?

    /// The client's `X-Request-Id`, or one that was made.
    let id: String
    /// The client's `traceparent`; `nil` if there is none, or if it is not well formed.
    let context: TraceContext?

    /// The maximum length of a client's id, in bytes.
    private static let idBytes = 128

    init(_ headers: HTTPFields) {
      let ids = headers[values: .requestID]
      id = ids.count == 1 && Self.isID(ids[0]) ? ids[0] : Self.makeID()
      // Two of them are none, as nobody knows which one holds.
      let contexts = headers[values: .traceParent]
      context = contexts.count == 1 ? TraceContext(contexts[0], states: headers[values: .traceState]) : nil
    }

    /// Whether a text can stand in a log and in a header as it is: letters, digits and a few characters.
    private static func isID(_ text: String) -> Bool {
      1...idBytes ~= text.utf8.count
        && text.utf8.allSatisfy { byte in
          switch byte {
          case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
          default: "-._~:+/=@".utf8.contains(byte)
          }
        }
    }

    private static func makeID() -> String {
      var generator = SystemRandomNumberGenerator()
      return (0..<2).map { _ in
        let digits = String(generator.next() as UInt64, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
      }.joined()
    }

    /// The headers of the answer, and of what is asked on behalf of the request.
    var headers: [(name: HTTPField.Name, value: String)] {
      [(.requestID, id)] + (context?.headers ?? [])
    }

    /// The fields in the log.
    var metadata: Logger.Metadata {
      var metadata: Logger.Metadata = ["request": "\(id)"]
      if let context { (metadata["trace"], metadata["span"]) = ("\(context.trace)", "\(context.span)") }
      return metadata
    }

    /// Adds the fields to each line that is logged while a request is carried out.
    package static let metadataProvider = Logger.MetadataProvider { current?.metadata ?? [:] }
  }

  extension HTTPField.Name {
    /// Names a request.
    static let requestID = tracing("X-Request-Id")
    /// The place of a request in a distributed trace.
    static let traceParent = tracing("traceparent")
    /// What systems of tracing add to that place.
    static let traceState = tracing("tracestate")

    private static func tracing(_ text: String) -> HTTPField.Name {
      guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is no header's name") }
      return name
    }
  }
#endif
