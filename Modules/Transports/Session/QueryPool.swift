import NIOCore
import NIOPosix

/// Threads for statements of other peers: so few that peers which ask much leave time for everything else.
enum QueryPool {
  private static let threads: NIOThreadPool = {
    let threads = NIOThreadPool(numberOfThreads: max(1, System.coreCount / 2))
    threads.start()
    return threads
  }()

  /// Runs `body` when those before it are over.
  static func execute(_ body: @escaping @Sendable () -> Void) { threads.submit { _ in body() } }
}
