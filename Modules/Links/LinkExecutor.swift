public import NIOCore
import NIOPosix

/// Where a link and its user are called: one call after another, in the order of submission.
public protocol LinkExecutor: Sendable {
  /// Runs `body` soon; may be called from any thread.
  func execute(_ body: @escaping @Sendable () -> Void)

  /// Whether the caller runs on this executor.
  var isCurrent: Bool { get }
}

/// An event loop as a link's executor.
///
/// For a socket it is the socket's own loop. What it received is processed on the thread that read it. The
/// session's answers go into the socket without a change of thread.
public struct LoopExecutor: LinkExecutor {
  let loop: any EventLoop

  /// Takes the event loop.
  public init(_ loop: any EventLoop) { self.loop = loop }

  /// The next of the process's event loops, for a link that has none of its own.
  public static func next() -> LoopExecutor { LoopExecutor(TCP.group.next()) }

  public func execute(_ body: @escaping @Sendable () -> Void) { loop.execute(body) }

  public var isCurrent: Bool { loop.inEventLoop }
}

extension LinkExecutor {
  /// Runs `body` at once if the caller runs on this executor, otherwise soon.
  func run(_ body: @escaping @Sendable () -> Void) {
    if isCurrent { body() } else { execute(body) }
  }
}
