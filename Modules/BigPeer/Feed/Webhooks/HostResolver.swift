#if Server
  import Dispatch
  import NIOCore
  import Synchronization

  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  /// Looks up all addresses of a host, off the caller's thread.
  enum HostResolver {
    /// So many lookups run at once, each of which may hold a thread for long.
    private static let queue: DispatchQueue = DispatchQueue(
      label: "dunlin.webhooks.names", attributes: .concurrent)

    /// - Returns: The addresses, in the system's order; none for a name that there is not.
    /// - Throws: `WebhookFailure` when it takes too long.
    static func addresses(
      of host: String, port: Int, within limit: Duration
    ) async throws(WebhookFailure) -> [SocketAddress] {
      if let literal = try? SocketAddress(ipAddress: host, port: port) { return [literal] }
      let found: [SocketAddress]? = await withCheckedContinuation { continuation in
        let answer = Once(continuation)
        queue.async { answer.give(lookUp(host, port)) }
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(limit / .milliseconds(1)))) { answer.give(nil) }
      }
      guard let found else { throw WebhookFailure("the host \(host) is not found in time") }
      return found
    }

    private static func lookUp(_ host: String, _ port: Int) -> [SocketAddress] {
      var hints = addrinfo()
      #if canImport(Darwin)
        hints.ai_socktype = SOCK_STREAM
      #else
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
      #endif
      var list: UnsafeMutablePointer<addrinfo>?
      guard getaddrinfo(host, String(port), &hints, &list) == 0 else { return [] }
      defer { freeaddrinfo(list) }
      var found: [SocketAddress] = []
      var next = list
      while let entry = next {
        next = entry.pointee.ai_next
        guard let address = entry.pointee.ai_addr else { continue }
        switch entry.pointee.ai_family {
        case AF_INET:
          address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
            found.append(SocketAddress($0.pointee, host: host))
          }
        case AF_INET6:
          address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
            found.append(SocketAddress($0.pointee, host: host))
          }
        default: break
        }
      }
      return found
    }

    /// Takes the first of two answers.
    private final class Once: Sendable {
      private let continuation: Mutex<CheckedContinuation<[SocketAddress]?, Never>?>

      init(_ continuation: CheckedContinuation<[SocketAddress]?, Never>) {
        self.continuation = Mutex(continuation)
      }

      func give(_ answer: [SocketAddress]?) {
        let continuation = continuation.withLock { continuation in
          defer { continuation = nil }
          return continuation
        }
        continuation?.resume(returning: answer)
      }
    }
  }
#endif
