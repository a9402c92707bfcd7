#if Server
  import BenchmarkSupport
  import Foundation

  /// A connection to an HTTP/1.1 server on this machine, which stays open from request to request.
  ///
  /// It does as little as it can, so that what is measured is the server. One thread uses it.
  final class HTTPConnection {
    private let handle: Int32
    private let headers: String
    private var buffer: [UInt8] = []
    private var head = 0

    /// Connects.
    ///
    /// - Parameters:
    ///   - port: The port on 127.0.0.1.
    ///   - token: What stands behind `Bearer`.
    ///   - patience: Seconds after which a read fails.
    /// - Throws: `BenchmarkError` when nothing answers there.
    init(port: Int, token: String? = nil, patience: Int = 60) throws {
      #if os(Linux)
        let kind = Int32(SOCK_STREAM.rawValue)
      #else
        let kind = SOCK_STREAM
      #endif
      handle = socket(AF_INET, kind, 0)
      headers =
        "Host: 127.0.0.1:\(port)\r\n" + (token.map { "Authorization: Bearer \($0)\r\n" } ?? "")
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let failed = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Foundation.connect(handle, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) != 0
        }
      }
      guard !failed else { throw BenchmarkError("nothing answers on port \(port)") }
      var on: Int32 = 1
      setsockopt(handle, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
      var limit = timeval()
      limit.tv_sec = patience
      setsockopt(handle, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(handle) }

    /// Sends a request and reads the whole answer.
    ///
    /// - Throws: `BenchmarkError` when its status is none of success.
    @discardableResult
    func send(_ method: String, _ path: String, _ body: String = "") throws -> [UInt8] {
      try request(method, path, body)
      let (status, length) = try readHead()
      let answer = try length.map { try take($0) } ?? readChunks()
      guard 200..<300 ~= status else {
        throw BenchmarkError(
          "\(method) \(path): status \(status), \(String(decoding: answer, as: UTF8.self))")
      }
      return answer
    }

    /// Sends a request whose answer does not end, and reads its head.
    ///
    /// - Returns: `false` when the server does not know the path.
    func open(_ path: String) throws -> Bool {
      try request("GET", path, "")
      let (status, length) = try readHead()
      guard status != 404 else { return false }
      guard status == 200, length == nil else { throw BenchmarkError("GET \(path): status \(status)") }
      return true
    }

    /// The next piece of an answer that does not end.
    func nextChunk() throws -> [UInt8] { try readChunk() }

    private func request(_ method: String, _ path: String, _ body: String) throws {
      let text =
        "\(method) \(path) HTTP/1.1\r\n\(headers)"
        + (body.isEmpty ? "" : "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n")
        + "\r\n\(body)"
      let bytes = Array(text.utf8)
      var sent = 0
      while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes { Foundation.send(handle, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { throw BenchmarkError("the server hung up") }
        sent += count
      }
    }

    /// - Returns: The status, and the bytes of the body where that is told; chunks follow otherwise.
    private func readHead() throws -> (status: Int, length: Int?) {
      let status = try readLine().split(separator: " ")
      guard status.count > 1, let code = Int(status[1]) else { throw BenchmarkError("the answer is no HTTP") }
      var length: Int? = code == 204 ? 0 : nil
      while true {
        let line = try readLine()
        guard !line.isEmpty else { return (code, length) }
        let parts = line.split(separator: ":", maxSplits: 1)
        if parts[0].lowercased() == "content-length", parts.count == 2 {
          length = Int(parts[1].trimmingCharacters(in: .whitespaces))
        }
      }
    }

    private func readChunks() throws -> [UInt8] {
      var answer: [UInt8] = []
      while true {
        let chunk = try readChunk()
        guard !chunk.isEmpty else { return answer }
        answer += chunk
      }
    }

    private func readChunk() throws -> [UInt8] {
      guard let count = Int(try readLine().prefix { $0 != ";" }, radix: 16) else {
        throw BenchmarkError("a chunk of an answer has no length")
      }
      let chunk = try take(count)
      guard try readLine().isEmpty else { throw BenchmarkError("a chunk of an answer has no end") }
      return chunk
    }

    private func readLine() throws -> String {
      var end = head
      while true {
        if let found = buffer[end...].firstIndex(of: 10) {
          let line = buffer[head..<max(head, found - 1)]
          head = found + 1
          return String(decoding: line, as: UTF8.self)
        }
        end = buffer.count - head
        try fill()
        end += head
      }
    }

    private func take(_ count: Int) throws -> [UInt8] {
      while buffer.count - head < count { try fill() }
      defer { head += count }
      return Array(buffer[head..<head + count])
    }

    /// Reads what has come, behind what is left.
    private func fill() throws {
      buffer.removeFirst(head)
      head = 0
      let piece = [UInt8](unsafeUninitializedCapacity: 64 << 10) { room, count in
        count = max(0, recv(handle, room.baseAddress, room.count, 0))
      }
      guard !piece.isEmpty else { throw BenchmarkError("the server hung up, or answers nothing") }
      buffer += piece
    }
  }
#endif
