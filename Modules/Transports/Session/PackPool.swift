import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import SyncProtocol

/// Compresses chunks of large transactions for all sessions of the process.
///
/// It runs on the thread pool for long work, which has as many threads as there are cores.
enum PackPool {
  /// The compressor of a thread, while the thread uses it.
  private final class Bench: @unchecked Sendable {
    // SAFETY: a bench is in the list of idle ones, or is used by the one thread that took it out.
    let bench = PackBench()
  }

  /// Idle benches; at most one for each thread.
  private static let benches = NIOLockedValueBox<[Bench]>([])

  /// Compresses a chunk, and reports the result on any thread.
  static func run(_ job: PackJob, _ report: @escaping @Sendable (PackedPiece) -> Void) {
    NIOSingletons.posixBlockingThreadPool.submit { _ in
      let bench = benches.withLockedValue { $0.popLast() } ?? Bench()
      let piece = job.run(with: bench.bench)
      benches.withLockedValue { $0.append(bench) }
      report(piece)
    }
  }
}
