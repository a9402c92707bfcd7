import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Platform

/// Accepts connections of the same user's processes at a socket in a directory.
///
/// The listener has the directory for itself. So an existing socket is that of a process that died, and is
/// replaced.
package final class LocalListener: Sendable {
  package let socket: LocalSocket
  /// The accepted connections, until the listener is closed; for one consumer.
  package let connections: AsyncStream<LocalConnection>

  private let channel: any Channel
  private let arrivals: AsyncStream<LocalConnection>.Continuation
  private let file: LocalSocket.FileNumber?

  /// Starts to listen; blocks the calling thread until then.
  ///
  /// - Parameters:
  ///   - socket: The socket; only its owner can use its file.
  ///   - lineBytes: The maximum size in bytes of a received line.
  ///   - refused: Called with the reason when a connection is closed at once.
  /// - Returns: The listener.
  /// - Throws: `permissionDenied` for a symbolic link at the path, and if the directory cannot be written to;
  ///   `portInUse` if something else is at the path; `unreachable` for a path that is too long; `system`.
  package static func bind(
    _ socket: LocalSocket, lineBytes: Int, refused: @escaping @Sendable (String) -> Void
  ) throws(LinkError) -> LocalListener {
    switch try socket.occupant() {
    case .nothing: break
    case .socket:
      guard unlink(socket.place) == 0 || errno == ENOENT else {
        throw socket.failure("of a process that has ended cannot be removed", errno)
      }
    case .symbolicLink: throw socket.symbolicLink
    case .other:
      throw LinkError(.portInUse, "\(socket.path) is no socket: remove it, so that one can be made there")
    }
    try TCP.checkDescriptors("Cannot listen on \(socket.path)")
    let descriptor = try bound(socket)
    let (connections, arrivals) = AsyncStream.makeStream(of: LocalConnection.self)
    let channel: any Channel
    do {
      channel = try begin(descriptor, lineBytes, refused, arrivals).wait()
    } catch {
      unlink(socket.place)
      throw LinkError(tcp: error, "Cannot listen on \(socket.path)")
    }
    return LocalListener(socket, channel, connections, arrivals)
  }

  /// A descriptor that is bound to the path.
  ///
  /// From the start only its owner may use the file.
  private static func bound(_ socket: LocalSocket) throws(LinkError) -> Int32 {
    let descriptor = try socket.makeDescriptor()
    do throws(LinkError) {
      // On Linux the file gets the mode of its descriptor.
      _ = fchmod(descriptor, 0o600)
      let number = try socket.withAddress { address, length -> Int32 in
        systemBind(descriptor, address, length) == 0 ? 0 : errno
      }
      guard number == 0 else { throw socket.failure("cannot be made", number) }
      #if canImport(Darwin)
        guard chmod(socket.place, 0o600) == 0 else {
          throw socket.failure("cannot be closed to others", errno)
        }
      #endif
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  private static func begin(
    _ descriptor: Int32, _ lineBytes: Int, _ refused: @escaping @Sendable (String) -> Void,
    _ arrivals: AsyncStream<LocalConnection>.Continuation
  ) -> EventLoopFuture<any Channel> {
    ServerBootstrap(group: TCP.group)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            AcceptPause { refused("Cannot accept a connection: \($0)") })
        }
      }
      .childChannelOption(.recvAllocator, value: TCP.receiveAllocator)
      .childChannelInitializer { channel in
        LocalConnection.user(of: channel).flatMapThrowing { user in
          guard user.isTrusted() else {
            refused("A process of the user \(user.id) may not connect")
            throw LinkError(.permissionDenied, "The user \(user.id) may not connect")
          }
          arrivals.yield(try LocalConnection(channel, lineBytes: lineBytes))
        }
      }
      .withBoundSocket(descriptor)
  }

  private init(
    _ socket: LocalSocket, _ channel: any Channel, _ connections: AsyncStream<LocalConnection>,
    _ arrivals: AsyncStream<LocalConnection>.Continuation
  ) {
    self.socket = socket
    self.channel = channel
    self.connections = connections
    self.arrivals = arrivals
    if case .socket(let number)? = try? socket.occupant() { file = number } else { file = nil }
    channel.closeFuture.whenComplete { _ in arrivals.finish() }
  }

  deinit { channel.close(promise: nil) }

  /// Stops listening and removes the socket; connections that were accepted before stay open.
  package func closeBlocking() {
    arrivals.finish()
    channel.close(promise: nil)
    _ = try? channel.closeFuture.wait()
    // Another file may have replaced it.
    guard let file, case .socket(file)? = try? socket.occupant() else { return }
    unlink(socket.place)
  }
}

private func systemBind(
  _ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t
) -> Int32 {
  Platform.bind(descriptor, address, length)
}
