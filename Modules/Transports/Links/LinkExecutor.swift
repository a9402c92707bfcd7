public import NIOCore
import NIOPosix

/// Where a link calls its user, and is called: one call after another, in the order in which they were handed over.
public protocol LinkExecutor: Sendable {
  /// Runs `body` soon; callable from any thread.
  func execute(_ body: @escaping @Sendable () -> Void)

  /// Whether the caller runs there.
  var isCurrent: Bool { get }
}

/// An event loop as a link's executor.
///
/// For a socket it is the socket's own: what it received is looked at where it was read, and what the session answers goes
/// into the socket with no other thread between.
public struct LoopExecutor: LinkExecutor {
  let loop: any EventLoop

  /// Names the loop.
  public init(_ loop: any EventLoop) { self.loop = loop }

  /// The next of the process's event loops, for a link that has none of its own.
  public static func next() -> LoopExecutor { LoopExecutor(TCP.group.next()) }

  public func execute(_ body: @escaping @Sendable () -> Void) { loop.execute(body) }

  public var isCurrent: Bool { loop.inEventLoop }
}

extension LinkExecutor {
  /// Runs `body` at once where the caller is there, else soon.
  func run(_ body: @escaping @Sendable () -> Void) {
    if isCurrent { body() } else { execute(body) }
  }
}
