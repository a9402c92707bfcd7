#if TLS
  import Dispatch
  import NIOCore
  import NIOPosix
  import Platform

  /// Looks names up in parallel.
  ///
  /// The network library's own resolver would let a slow lookup delay all others of its event loop.
  struct NameResolver: Resolver, Sendable {
    /// A concurrent queue, because a lookup may block a thread for long.
    private static let queue = DispatchQueue(label: "dunlin.names", attributes: .concurrent)

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
      lookUp(host, port, AF_INET)
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
      lookUp(host, port, AF_INET6)
    }

    func cancelQueries() {}

    private func lookUp(_ host: String, _ port: Int, _ family: Int32) -> EventLoopFuture<[SocketAddress]> {
      Self.queue.asyncWithFuture(eventLoop: TCP.group.next()) { Self.addresses(host, port, family) }
    }

    /// The addresses of a family, in the system's order; empty when the name does not exist.
    private static func addresses(_ host: String, _ port: Int, _ family: Int32) -> [SocketAddress] {
      var hints = addrinfo()
      hints.ai_family = family
      #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
      #else
        hints.ai_socktype = SOCK_STREAM
      #endif
      var list: UnsafeMutablePointer<addrinfo>?
      guard getaddrinfo(host, "\(port)", &hints, &list) == 0 else { return [] }
      defer { freeaddrinfo(list) }
      var found: [SocketAddress] = []
      var next = list
      while let entry = next {
        next = entry.pointee.ai_next
        guard let address = entry.pointee.ai_addr else { continue }
        found.append(
          family == AF_INET
            ? address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
              SocketAddress($0.pointee, host: host)
            }
            : address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
              SocketAddress($0.pointee, host: host)
            })
      }
      return found
    }
  }
#endif
