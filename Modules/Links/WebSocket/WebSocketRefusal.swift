import NIOHTTP1

/// Why a request does not begin a WebSocket (RFC 6455, section 4.2).
struct WebSocketRefusal: Hashable {
  let status: HTTPResponseStatus
  /// What is wrong, in one sentence.
  let reason: String
  /// The fields of this answer beside those of every answer.
  var fields: [HTTPField] = []

  /// A field of the answer.
  struct HTTPField: Hashable {
    let name: String
    let value: String
  }

  /// There are too many connections.
  static let full = WebSocketRefusal(
    status: .serviceUnavailable, reason: "There are too many connections; try again later.")

  /// The bytes are no request of HTTP, or its fields are too long.
  static let noRequest = bad("This is no request of HTTP/1.1, or its fields are too long.")

  private static func bad(_ reason: String) -> WebSocketRefusal {
    WebSocketRefusal(status: .badRequest, reason: reason)
  }

  private static func upgrade(_ reason: String) -> WebSocketRefusal {
    WebSocketRefusal(
      status: .upgradeRequired, reason: reason,
      fields: [
        HTTPField(name: "Upgrade", value: "websocket"),
        HTTPField(name: "Sec-WebSocket-Version", value: version),
      ])
  }

  private static let version = "13"
  /// A key is 16 bytes in base64: 22 digits, of which the last one stands for two bits, and padding.
  private static let keyDigits = 22

  /// Finds what is wrong with a request.
  ///
  /// - Parameter head: The request's line and fields.
  /// - Returns: `nil` when the request begins a WebSocket.
  static func of(_ head: HTTPRequestHead) -> WebSocketRefusal? {
    guard head.method == .GET else {
      return WebSocketRefusal(
        status: .methodNotAllowed, reason: "A WebSocket begins with GET.",
        fields: [HTTPField(name: "Allow", value: "GET")])
    }
    guard has("upgrade", head.headers, "Connection"), has("websocket", head.headers, "Upgrade") else {
      return upgrade("A peer listens here for WebSockets.")
    }
    guard head.version == .http1_1, head.headers["Host"].count == 1 else {
      return bad("A WebSocket begins with a request of HTTP/1.1 with one Host.")
    }
    guard !head.headers.contains(name: "Transfer-Encoding"),
      head.headers["Content-Length"].allSatisfy({ $0 == "0" })
    else { return bad("A request for a WebSocket has no body.") }
    guard head.headers["Sec-WebSocket-Version"] == [version] else {
      return upgrade("Only version \(version) of WebSocket is spoken here.")
    }
    let keys = head.headers["Sec-WebSocket-Key"]
    guard keys.count == 1, let key = keys.first, isKey(key) else {
      return bad("A request for a WebSocket has one Sec-WebSocket-Key, of 16 bytes in base64.")
    }
    return nil
  }

  /// Whether one of the elements of a field is this word.
  private static func has(_ word: String, _ headers: HTTPHeaders, _ field: String) -> Bool {
    headers[canonicalForm: field].contains { $0.lowercased() == word }
  }

  private static func isKey(_ key: String) -> Bool {
    let digits = key.utf8.prefix(keyDigits)
    guard key.utf8.count == keyDigits + 2, key.utf8.suffix(2).elementsEqual("==".utf8) else { return false }
    return digits.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
        true
      default: false
      }
    }
  }
}
