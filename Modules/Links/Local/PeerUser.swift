import Platform

/// The user of the process at the other end of a UNIX domain socket, as the system reports it.
package struct PeerUser: Hashable, Sendable {
  /// The user's number.
  package let id: UInt32

  package init(id: UInt32) { self.id = id }

  /// Whether it is the user of this process, or root, from whom nothing can be protected.
  ///
  /// - Parameter own: The user of this process; `nil` asks the system.
  /// - Returns: Whether the other process is trusted.
  package func isTrusted(by own: UInt32? = nil) -> Bool { id == own ?? geteuid() || id == 0 }

  #if canImport(Darwin)
    /// Asks the system about a connected socket; `nil` when it does not report the user.
    package static func of(_ descriptor: Int32) -> PeerUser? {
      var (user, group) = (uid_t(0), gid_t(0))
      guard getpeereid(descriptor, &user, &group) == 0 else { return nil }
      return PeerUser(id: user)
    }
  #else
    /// The system's record of a process: `ucred` of unix(7).
    struct Credentials: Sendable {
      var process: Int32 = 0
      var user: UInt32 = 0
      var group: UInt32 = 0
    }

    /// Asks the system about a connected socket; `nil` when it does not report the user.
    package static func of(_ descriptor: Int32) -> PeerUser? {
      var credentials = Credentials()
      var length = socklen_t(MemoryLayout<Credentials>.size)
      guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0,
        length == MemoryLayout<Credentials>.size
      else { return nil }
      return PeerUser(id: credentials.user)
    }
  #endif
}
