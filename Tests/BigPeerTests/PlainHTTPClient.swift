#if Server
  import BigPeer
  import Foundation
  import Platform

  /// Sends requests to a listener on this machine over plain HTTP, each on its own connection.
  ///
  /// The calls block. It can also send what no real client sends.
  struct PlainHTTPClient: Sendable {
    /// What was answered.
    struct Answer: Sendable {
      let status: Int
      /// By their names in small letters.
      let headers: [String: String]
      let body: [UInt8]

      /// The body as text.
      var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// Bytes of an answer.
    private static let answerBytes = 256 << 20

    private let address: ListenAddress
    private let timeout: Int

    /// Names the listener.
    ///
    /// - Parameters:
    ///   - address: Where it listens.
    ///   - timeout: Seconds for which it may say nothing.
    init(_ address: ListenAddress, timeout: Int = 30) {
      self.address = address
      self.timeout = timeout
    }

    /// Sends a request, and waits for the answer.
    ///
    /// - Throws: `BigPeerError` when nobody listens, or what answers is not HTTP.
    func send(
      _ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8] = []
    ) throws -> Answer {
      var head = "\(method) \(path) HTTP/1.1\r\nHost: \(address)\r\nConnection: close\r\n"
      for (name, value) in headers.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
      if !body.isEmpty || method == "POST" { head += "Content-Length: \(body.count)\r\n" }
      let connection = try connect()
      connection.write(Array("\(head)\r\n".utf8) + body)
      guard let answer = Self.parse(try connection.readAll(atMost: Self.answerBytes)) else {
        throw BigPeerError("what listens at \(address) did not answer as a server of HTTP does")
      }
      return answer
    }

    /// Opens a connection, for a test that sends what no client does.
    ///
    /// - Throws: `BigPeerError` when nobody listens.
    func connect() throws -> PlainConnection {
      var hints = addrinfo()
      hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
      #if canImport(Darwin)
        hints.ai_socktype = SOCK_STREAM
      #else
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
      #endif
      var found: UnsafeMutablePointer<addrinfo>?
      guard getaddrinfo(address.host, "\(address.port)", &hints, &found) == 0, let found else {
        throw BigPeerError("\(address) is no address")
      }
      defer { freeaddrinfo(found) }
      let descriptor = socket(found.pointee.ai_family, found.pointee.ai_socktype, found.pointee.ai_protocol)
      guard descriptor >= 0 else {
        throw BigPeerError("there is no socket: \(String(cString: strerror(errno)))")
      }
      var time = timeval(tv_sec: timeout, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
      setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
      let result = Platform.connect(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen)
      guard result == 0 else {
        let reason = String(cString: strerror(errno))
        close(descriptor)
        throw BigPeerError("nobody answers at \(address): \(reason)")
      }
      return PlainConnection(descriptor)
    }

    /// Reads an answer from its bytes.
    ///
    /// - Returns: `nil` when it is none, or not whole.
    static func parse(_ bytes: [UInt8]) -> Answer? {
      let end = Array("\r\n\r\n".utf8)
      guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else { return nil }
      let lines = String(decoding: bytes[..<start], as: UTF8.self).split(separator: "\r\n")
      let words = lines.first?.split(separator: " ") ?? []
      guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else { return nil }
      let rest = Array(bytes[(start + 4)...])
      // What says that the client may go on is no answer yet.
      if status == 100 { return parse(rest) }
      var headers: [String: String] = [:]
      for line in lines.dropFirst() {
        guard let colon = line.firstIndex(of: ":") else { return nil }
        headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
          in: .whitespaces)
      }
      let isChunked = headers["transfer-encoding"]?.lowercased() == "chunked"
      guard let body = isChunked ? chunks(rest) : rest else { return nil }
      if let length = headers["content-length"].flatMap({ Int($0) }), length != body.count { return nil }
      return Answer(status: status, headers: headers, body: body)
    }

    private static func chunks(_ bytes: [UInt8]) -> [UInt8]? {
      var body: [UInt8] = []
      var place = 0
      while let end = bytes[place...].firstIndex(of: 0x0A) {
        let line = String(decoding: bytes[place..<end], as: UTF8.self).trimmingCharacters(
          in: .whitespaces.union(.newlines))
        guard let count = Int(line, radix: 16), count >= 0 else { return nil }
        if count == 0 { return body }
        guard bytes.count - end - 3 >= count else { return nil }
        body += bytes[(end + 1)..<(end + 1 + count)]
        place = end + 1 + count + 2
      }
      return nil
    }
  }

  /// A connection of a client that waits.
  final class PlainConnection: Sendable {
    private let descriptor: Int32

    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Sends bytes.
    ///
    /// - Returns: Whether all could be sent.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
      var place = 0
      while place < bytes.count {
        let count = bytes[place...].withUnsafeBytes { room in
          #if canImport(Darwin)
            Platform.send(descriptor, room.baseAddress, room.count, 0)
          #else
            Platform.send(descriptor, room.baseAddress, room.count, Int32(MSG_NOSIGNAL))
          #endif
        }
        guard count > 0 else { return false }
        place += count
      }
      return true
    }

    /// Receives what has come; empty at the end.
    ///
    /// - Throws: `BigPeerError` when nothing comes in time, or the connection is lost.
    func read(atMost limit: Int = 64 << 10) throws -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: limit)
      let count = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      guard count >= 0 else {
        throw BigPeerError("the connection was lost, or nothing came: \(String(cString: strerror(errno)))")
      }
      return Array(bytes[..<count])
    }

    /// Receives up to the end, or up to so many bytes.
    ///
    /// - Throws: `BigPeerError`.
    func readAll(atMost limit: Int) throws -> [UInt8] {
      var bytes: [UInt8] = []
      while bytes.count < limit {
        let more = try read()
        guard !more.isEmpty else { break }
        bytes += more
      }
      return bytes
    }
  }
#endif
