import CRDTCore
import Platform

/// A UNIX domain socket in a directory, over which processes of one user on one machine communicate.
///
/// An address has few bytes. On Linux a directory with a longer path is reached through a descriptor.
package struct LocalSocket: Hashable, Sendable {
  /// The maximum size of a path in an address, in bytes.
  package static let pathBytes = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  package let name: String
  /// The directory's path, in readable form.
  private let shown: String
  /// The directory's path, for system calls.
  private let directory: String

  /// Names a socket.
  ///
  /// - Parameters:
  ///   - directory: The directory's path.
  ///   - reached: Another path of it for system calls, if it is held by a descriptor.
  ///   - name: The socket's name in it.
  package init(directory: String, reachedBy reached: String? = nil, name: String) {
    (shown, self.directory, self.name) = (directory, reached ?? directory, name)
  }

  /// The socket's path, in readable form.
  package var path: String { shown + "/" + name }

  /// The socket to use if this one cannot be made in its directory.
  ///
  /// It is in the user's own run directory, under a hash of the path. It is `nil` if the system has no such
  /// directory, or if the directory is not the user's alone.
  package var substitute: LocalSocket? {
    guard let folder = RunDirectory.path, let real = Self.real(directory) else { return nil }
    let hash = HashLanes("\(real)/\(name)")
    let digits = [hash.first, hash.second].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    return LocalSocket(directory: folder, name: digits.joined() + ".sock")
  }

  /// The path without symbolic links of an existing directory.
  private static func real(_ path: String) -> String? {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(cString: found)
  }

  /// The socket's path, for system calls.
  var place: String { directory + "/" + name }

  /// What exists at the path.
  enum Occupant: Equatable {
    case nothing
    /// A socket, by its file's numbers.
    case socket(FileNumber)
    case symbolicLink
    case other
  }

  /// Identifies one file among all that exist at the time.
  struct FileNumber: Equatable, Sendable {
    let device: UInt64
    let file: UInt64
  }

  /// Examines the path without following a symbolic link there.
  func occupant() throws(LinkError) -> Occupant {
    var status = stat()
    guard lstat(place, &status) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return .nothing }
      throw failure("cannot be looked at", errno)
    }
    switch status.st_mode & S_IFMT {
    case S_IFSOCK:
      return .socket(
        FileNumber(
          device: UInt64(truncatingIfNeeded: status.st_dev), file: UInt64(truncatingIfNeeded: status.st_ino)))
    case S_IFLNK: return .symbolicLink
    default: return .other
    }
  }

  /// Why the socket is unusable, with the system's error number.
  func failure(_ what: String, _ number: Int32) -> LinkError {
    let code: LinkError.Code =
      switch number {
      case EACCES, EPERM: .permissionDenied
      case ECONNREFUSED, ENOENT: .refused
      default: .system
      }
    return LinkError(
      code, "The socket \(path) \(what): \(String(cString: strerror(number)))", underlying: number)
  }

  /// The error of a directory whose file system has no sockets.
  package var unsupported: LinkError { failure("cannot be made", EPERM) }

  // MARK: - Descriptors

  /// Makes a socket that is not bound to a path yet.
  func makeDescriptor() throws(LinkError) -> Int32 {
    #if canImport(Glibc)
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    #elseif canImport(Darwin)
      let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
      if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    #else
      let descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)
    #endif
    guard descriptor >= 0 else { throw failure("cannot be made", errno) }
    return descriptor
  }

  /// Connects to the process that listens there.
  ///
  /// - Returns: A descriptor in blocking mode that the caller must close; `nil` when no process listens.
  /// - Throws: `permissionDenied` for a symbolic link, and for another user's socket; `unreachable` for a
  ///   path that is too long; `system`.
  package func connect() throws(LinkError) -> Int32? {
    switch try occupant() {
    case .nothing, .other: return nil
    case .symbolicLink: throw symbolicLink
    case .socket: break
    }
    let descriptor = try makeDescriptor()
    do throws(LinkError) {
      let number = try withAddress { address, length -> Int32 in
        while systemConnect(descriptor, address, length) != 0 {
          if errno != EINTR { return errno }
        }
        return 0
      }
      guard number == 0 else {
        guard number == ECONNREFUSED || number == ENOENT else {
          throw failure("cannot be connected to", number)
        }
        close(descriptor)
        return nil
      }
      try checkOwner(of: descriptor)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// The error for a symbolic link at the path.
  var symbolicLink: LinkError {
    LinkError(.permissionDenied, "\(path) is a symbolic link, which is not followed: remove it")
  }

  private func checkOwner(of descriptor: Int32) throws(LinkError) {
    guard let user = PeerUser.of(descriptor) else { throw failure("does not tell whose it is", errno) }
    guard user.isTrusted() else {
      throw LinkError(
        .permissionDenied, "\(path) is the socket of a process of the user \(user.id), who is another one")
    }
  }

  /// Calls `body` with the socket's address.
  ///
  /// - Throws: `unreachable` when the path is too long for an address.
  func withAddress<R>(
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
  ) throws(LinkError) -> R {
    if place.utf8.count <= Self.pathBytes { return Self.withAddress(of: place, body) }
    #if os(Linux)
      let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard folder >= 0 else { throw failure("cannot be reached", errno) }
      defer { close(folder) }
      let short = "/proc/self/fd/\(folder)/\(name)"
      if short.utf8.count <= Self.pathBytes { return Self.withAddress(of: short, body) }
    #endif
    throw LinkError(
      .unreachable,
      "The path \(path) has \(path.utf8.count) bytes, and that of a socket at most \(Self.pathBytes): use a shorter one"
    )
  }

  private static func withAddress<R>(
    of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
  ) -> R {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { room in
      for (index, byte) in path.utf8.prefix(pathBytes).enumerated() { room[index] = byte }
    }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}

private func systemConnect(
  _ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t
) -> Int32 {
  Platform.connect(descriptor, address, length)
}

extension LinkError {
  /// Whether a local socket cannot be at its place.
  ///
  /// Then the file system has no sockets, or the path is too long for one.
  package var isOfPlace: Bool {
    code == .unreachable || [EPERM, EINVAL, EOPNOTSUPP, ENOTSUP, ENOSYS].contains(underlying)
  }
}
