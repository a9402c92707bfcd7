import NIOCore
import NIOPosix

/// Threads for statements of other peers.
///
/// There are few, so that peers with many statements leave time for other work.
enum QueryPool {
  private static let threads: NIOThreadPool = {
    let threads = NIOThreadPool(numberOfThreads: max(1, System.coreCount / 2))
    threads.start()
    return threads
  }()

  /// Runs `body` after those that were submitted before.
  static func execute(_ body: @escaping @Sendable () -> Void) { threads.submit { _ in body() } }
}
